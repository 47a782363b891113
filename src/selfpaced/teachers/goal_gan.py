"""GoalGAN: generate contexts of intermediate difficulty (Florensa et al., ICML 2018).

This is the version to which the SPDL paper compares. Every new context is used in two episodes; it
is of intermediate difficulty if exactly one of them succeeds. A generative adversarial network is
trained to generate such contexts; contexts that succeed twice are kept and replayed occasionally.

Deviations from Florensa et al.; D1 to D3 are those of the experiments of the SPDL paper:
D1  two episodes per context instead of several, and labels from training episodes,
D2  before training the generator imitates the initial distribution; `pretrain` turns this off, and
    `clip_pretraining` clips the imitated contexts to the box, like all contexts in training,
D3  replayed contexts get noise, like new ones,
D4  they are clipped to the box as well, unlike in the published code; `clip_replay` chooses,
D5  contexts are drawn before an iteration, so a training within one takes effect from the next on;
    and a context whose first episode is the last to start in an iteration gets no second one,
D6  far more contexts are requested than are used: beyond four times the largest number of episodes
    that ended in one iteration, draws of the generator are reused with new noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.spatial.distance import cdist

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers import diagnosis
from selfpaced.teachers.gan import GAN, GANState
from selfpaced.validation import require_layers, require_not_negative, require_positive

LOWEST, HIGHEST = 0.25, 0.75  # mean successes that count as intermediate difficulty
MAX_OPEN = 256  # contexts with one episode whose second may still be running
NUM_EPISODES_TO_ADVISE = 100  # without a single context that had two


class GoalGANState(NamedTuple):
    """The networks, the contexts for their next training, and contexts that succeeded."""

    gan: GANState[Array]
    open_context: Array  # [O, C] one episode so far; float32, the precision of training
    open_success: Array  # [O]
    labelled_context: Array  # [< num_rollouts, C] since the last training
    label: Array  # [< num_rollouts] 1 for intermediate difficulty
    success_context: Array  # [B, C] succeeded twice, at a distance from each other
    most_episodes: Array  # []  largest number that ended in one iteration
    num_iterations: Array  # []
    num_episodes: Array  # []
    num_successes: Array  # []
    num_labelled: Array  # []
    num_trainings: Array  # []
    num_skipped: Array  # []  trainings without a context of intermediate difficulty


@final
@dataclass(frozen=True)
class GoalGAN:
    """Generate contexts of intermediate difficulty, and replay some that succeed.

    The target distribution is ignored, and `info["success"]` is required. Every new context is
    meant for two successive episodes: use contexts in the order in which they are sampled.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ContextSpace, Gaussian, GoalGAN
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = GoalGAN(pretrain=False), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> first, second = teacher.sample(rng, contexts, state, num=2)
        >>> first == second
        array([ True])
    """

    noise_level: float = 0.025
    """delta_NOISE: standard deviation of the noise on every context, relative to the box"""
    num_rollouts: int = 200
    """n_ROLLOUT: labelled contexts from one training of the networks to the next"""
    p_success: float = 0.1
    """share of draws that replay a context from the success buffer"""
    min_distance: float = 0.01
    """between contexts in the success buffer, relative to the diagonal of the box"""
    num_iterations: int = 250
    """steps of the optimiser per training of the networks"""
    pretrain: bool = True
    """whether the generator first imitates the initial distribution (D2)"""
    num_pretraining_iterations: int = 500
    """steps of the optimiser in pretraining"""
    num_pretraining_contexts: int = 1000
    """contexts drawn from the initial distribution for pretraining"""
    clip_pretraining: bool = True
    """whether contexts of the pretraining are clipped to the box (D2)"""
    clip_replay: bool = True
    """whether replayed contexts are clipped to the box (D4)"""
    generator_sizes: tuple[int, ...] = (256, 256)
    """units of each hidden layer of the generator"""
    discriminator_sizes: tuple[int, ...] = (128, 128)
    """units of each hidden layer of the discriminator"""
    learning_rate: float = 1e-3
    """learning rate of both networks"""
    batch_size: int = 64
    """contexts per step of the optimiser"""

    def __post_init__(self) -> None:
        require_positive(self, "noise_level", "num_rollouts", "num_iterations")
        require_positive(self, "num_pretraining_iterations", "num_pretraining_contexts")
        require_positive(self, "learning_rate", "batch_size")
        require_not_negative(self, "min_distance")
        require(
            0 <= self.p_success < 1,
            f"p_success must be at least 0 and below 1, got {self.p_success}; "
            "the paper uses 0.1 to 0.3",
        )
        require_layers(self, "generator_sizes", "discriminator_sizes", at_least=1)

    @property
    def gan(self) -> GAN:
        """The settings of the networks."""
        return GAN(
            self.generator_sizes, self.discriminator_sizes, self.learning_rate, self.batch_size
        )

    @property
    def stays_in_box(self) -> bool:
        """Whether all sampled contexts lie in the box (D4)."""
        return self.clip_replay

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> GoalGANState:
        """Return new networks, pretrained to imitate the initial distribution (D2)."""
        size, zero = contexts.size, np.zeros((), np.int64)
        state = GoalGANState(
            gan=self.gan.init(rng, size),
            open_context=np.zeros((0, size), np.float32),
            open_success=np.zeros(0),
            labelled_context=np.zeros((0, size)),
            label=np.zeros(0),
            success_context=np.zeros((0, size)),
            most_episodes=zero,
            num_iterations=zero,
            num_episodes=zero,
            num_successes=zero,
            num_labelled=zero,
            num_trainings=zero,
            num_skipped=zero,
        )
        if not self.pretrain:
            return state
        drawn = contexts.initial.sample(rng, self.num_pretraining_contexts)
        if self.clip_pretraining:
            drawn = contexts.clip(drawn)
        labels = np.ones(len(drawn))
        return self._train(rng, contexts, state, drawn, labels, self.num_pretraining_iterations)

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: GoalGANState, num: int
    ) -> Array:
        """Draw new contexts, each for two successive episodes, and replays for one episode."""
        replayed = rng.random(num) < (self.p_success if len(state.success_context) else 0.0)
        filled = np.cumsum(np.where(replayed, 1, 2))
        replayed = replayed[: np.searchsorted(filled, num) + 1]  # those that `num` rows need
        drawn = np.empty((len(replayed), contexts.size))
        drawn[replayed] = self._replay(rng, contexts, state, int(replayed.sum()))
        drawn[~replayed] = self._generate(rng, contexts, state, int((~replayed).sum()))
        return np.repeat(drawn, np.where(replayed, 1, 2), axis=0)[:num]

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: GoalGANState,
        episodes: Episodes,
    ) -> tuple[GoalGANState, Metrics]:
        """Label contexts that had two episodes; train for every `num_rollouts` of them."""
        episodes = contexts.check_episodes(episodes, self.stays_in_box)
        state, paired, success = _pair_up(state, episodes)
        label = (success >= LOWEST) & (success <= HIGHEST)  # D1
        state = state._replace(
            labelled_context=np.concatenate([state.labelled_context, paired]),
            label=np.concatenate([state.label, label]),
            success_context=self._remember(contexts, state, paired[success > HIGHEST]),
            most_episodes=np.maximum(state.most_episodes, episodes.num),
            num_iterations=state.num_iterations + 1,
            num_episodes=state.num_episodes + episodes.num,
            num_successes=state.num_successes + int(np.count_nonzero(episodes.success)),
            num_labelled=state.num_labelled + len(label),
        )
        while len(state.label) >= self.num_rollouts:
            state = self._train_when_due(rng, contexts, state)
        metrics: Metrics = {
            "teacher/success_buffer": len(state.success_context),
            "teacher/trainings": int(state.num_trainings),
        }
        if len(label):
            metrics["teacher/intermediate"] = float(label.mean())
        return state, metrics

    def advice(
        self, contexts: ContextSpace, state: GoalGANState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn if there has been nothing to train the generator on, or will not be in time."""
        num_episodes, num_labelled = int(state.num_episodes), int(state.num_labelled)
        if num_episodes >= NUM_EPISODES_TO_ADVISE and not num_labelled:
            return (
                f"none of {num_episodes} episodes repeats the context of another, so no "
                "context can be labelled; use contexts in the order in which they are sampled",
            )
        never = diagnosis.without_success(
            num_episodes,
            int(state.num_successes),
            "there is no context of intermediate difficulty to imitate",
            "report success, or start from easier contexts",
        )
        if never:
            return (never,)
        if state.num_skipped and not state.num_trainings:
            share = 100 * int(state.num_successes) / num_episodes
            return (
                f"none of {num_labelled} contexts succeeded in exactly one of its two "
                "episodes, so the generator has never been trained and contexts are still drawn as "
                f"at the start; {share:.0f} % of the episodes succeed: start from harder contexts "
                "if that is most, from easier ones otherwise",
            )
        pace = num_labelled / max(int(state.num_iterations), 1)
        if num_labelled and num_labelled + pace * num_remaining < self.num_rollouts:
            return (
                f"the generator will not be trained before the end: at {pace:.1f} labelled "
                f"contexts per iteration there will be fewer than num_rollouts "
                f"{self.num_rollouts}; lower num_rollouts, or train longer",
            )
        return ()

    def _replay(
        self, rng: np.random.Generator, contexts: ContextSpace, state: GoalGANState, num: int
    ) -> Array:
        if not num:
            return np.zeros((0, contexts.size))
        known = state.success_context
        replays = known[rng.integers(len(known), size=num)] + self._noise(rng, contexts, num)  # D3
        return contexts.clip(replays) if self.clip_replay else replays  # D4

    def _generate(
        self, rng: np.random.Generator, contexts: ContextSpace, state: GoalGANState, num: int
    ) -> Array:
        # each is used in two rows, so that rows up to four times most_episodes have their own
        enough = 2 * int(state.most_episodes) or num
        points = self.gan.generate(rng, state.gan, min(num, enough))
        points = np.resize(points, (num, points.shape[1]))  # D6: repeats from the start
        lower, upper = contexts.box
        centre = (lower + upper) / 2
        return contexts.clip(centre + points * (upper - lower) + self._noise(rng, contexts, num))

    def _noise(self, rng: np.random.Generator, contexts: ContextSpace, num: int) -> Array:
        lower, upper = contexts.box
        noise: Array = (
            self.noise_level * (upper - lower) * rng.standard_normal((num, contexts.size))
        )
        return noise

    def _remember(self, contexts: ContextSpace, state: GoalGANState, succeeded: Array) -> Array:
        """Return the success buffer, extended by contexts that are far from all others in it."""
        lower, upper = contexts.box
        min_distance = self.min_distance * np.linalg.norm(upper - lower)

        def is_far(known: Array, candidates: Array) -> Array:
            far: Array = cdist(candidates, known).min(axis=1, initial=np.inf) > min_distance
            return far

        new = succeeded[:0]
        for context in succeeded[is_far(state.success_context, succeeded)]:
            if is_far(new, context[None]).all():
                new = np.concatenate([new, context[None]])
        return np.concatenate([state.success_context, new])

    def _train_when_due(
        self, rng: np.random.Generator, contexts: ContextSpace, state: GoalGANState
    ) -> GoalGANState:
        """Train on the oldest `num_rollouts` labelled contexts and drop them."""
        due, later = slice(None, self.num_rollouts), slice(self.num_rollouts, None)
        labelled, label = state.labelled_context[due], state.label[due]
        state = state._replace(
            labelled_context=state.labelled_context[later], label=state.label[later]
        )
        if not label.any():
            return state._replace(num_skipped=state.num_skipped + 1)
        state = self._train(rng, contexts, state, labelled, label, self.num_iterations)
        return state._replace(num_trainings=state.num_trainings + 1)

    def _train(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: GoalGANState,
        labelled: Array,
        label: Array,
        num_iterations: int,
    ) -> GoalGANState:
        lower, upper = contexts.box
        points = (labelled - (lower + upper) / 2) / (upper - lower)
        room = (
            max(self.num_rollouts, self.num_pretraining_contexts),
            max(self.num_iterations, self.num_pretraining_iterations),
        )
        trained = self.gan.train(rng, state.gan, points, label, num_iterations, room)
        return state._replace(gan=trained)


def _pair_up(state: GoalGANState, episodes: Episodes) -> tuple[GoalGANState, Array, Array]:
    """Return contexts [P, C] that have now had two episodes, and their mean successes [P].

    The two episodes need not be neighbours: with several environments others end in between, and
    the second may end in the next iteration. Replays, and contexts cut off by D5, stay unpaired.
    """
    contexts = np.concatenate([state.open_context, episodes.context.astype(np.float32)])
    success = np.concatenate([state.open_success, episodes.success])
    row = np.dtype((np.void, contexts.itemsize * contexts.shape[1]))  # comparing bytes is fast
    waiting: dict[bytes, int] = {}
    pairs = []
    for index, context in enumerate(contexts.view(row)[:, 0].tolist()):
        if context in waiting:
            pairs.append((waiting.pop(context), index))
        else:
            waiting[context] = index
    still_open = np.array(list(waiting.values())[-MAX_OPEN:], np.int64)
    state = state._replace(open_context=contexts[still_open], open_success=success[still_open])
    indices = np.array(pairs, np.int64).reshape(-1, 2)
    return state, contexts[indices[:, 0]].astype(np.float64), success[indices].mean(axis=1)
