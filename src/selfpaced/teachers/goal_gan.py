"""GoalGAN: contexts come from a network that imitates those of intermediate difficulty.

Florensa et al., Automatic Goal Generation for Reinforcement Learning Agents (ICML 2018), as used
for comparison by the SPDL paper. Every new context is tried twice; it is of intermediate difficulty
if exactly one of the two episodes succeeds. A generative adversarial network is trained to generate
such contexts; those that succeed twice are kept, and come back now and then.

Deviations from Florensa et al.; D1 to D3 are those of the experiments of the SPDL paper:
D1  two tries per context instead of several, and labels from training episodes,
D2  before training the generator imitates the initial distribution; `pretrain` turns this off, and
    with `clip_pretraining` it imitates what is clipped to the box, as everything in training is,
D3  contexts that come back get noise, like new ones,
D4  those are clipped to the box as well, unlike in the published code; `clip_replay` chooses,
D5  contexts are drawn before an iteration, so a training within one has its effect from the next
    on; and a context whose first try is the last to begin in an iteration gets no second,
D6  far more contexts are asked for than are used: beyond four times as many as episodes ever ended
    in an iteration, the generator's draws serve once more, with other noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics, Scalar
from selfpaced.teachers.gan import GAN, GANState
from selfpaced.validation import require_layers, require_not_negative, require_positive

LOWEST, HIGHEST = 0.25, 0.75  # mean successes that count as intermediate difficulty
MAX_OPEN = 256  # contexts tried once whose second episode may still be under way
NUM_EPISODES_TO_ADVISE = 100  # without a single context tried twice


class GoalGANState(NamedTuple):
    """The networks, what they will be trained on, and contexts that succeeded."""

    lower: Array
    upper: Array
    gan: GANState
    open_context: Array  # [O, C] tried once so far; float32, as contexts come back
    open_success: Array  # [O]
    labelled_context: Array  # [< num_rollouts, C] since the last training
    label: Array  # [< num_rollouts] 1 for intermediate difficulty
    success_context: Array  # [B, C] succeeded twice, at a distance from each other
    most_episodes: Scalar  # that ended in one iteration
    num_episodes: Scalar
    num_labelled: Scalar
    num_trainings: Scalar
    num_skipped: Scalar  # trainings without a context of intermediate difficulty


@dataclass(frozen=True)
class GoalGAN:
    """Generates contexts of intermediate difficulty, and replays some that succeed."""

    noise_level: float = 0.025
    """delta_NOISE: standard deviation of the noise on every context, as a share of the box"""
    num_rollouts: int = 200
    """n_ROLLOUT: labelled contexts from one training of the networks to the next"""
    p_success: float = 0.1
    """share of draws that replay a context from the success buffer"""
    min_distance: float = 0.01
    """between contexts in the success buffer, as a share of the diagonal of the box"""
    num_iterations: int = 250
    """of the optimiser, per training of the networks"""
    pretrain: bool = True
    """whether the generator first imitates the initial distribution (D2)"""
    num_pretraining_iterations: int = 500
    """of the optimiser, for that"""
    num_pretraining_contexts: int = 1000
    """drawn from the initial distribution, for that"""
    clip_pretraining: bool = True
    """whether these are clipped to the box (D2)"""
    clip_replay: bool = True
    """whether contexts that come back with noise are clipped to the box (D4)"""
    generator_sizes: tuple[int, ...] = (256, 256)
    """units of each hidden layer of the generator"""
    discriminator_sizes: tuple[int, ...] = (128, 128)
    """units of each hidden layer of the discriminator"""
    learning_rate: float = 1e-3
    """of both networks"""
    batch_size: int = 64
    """contexts per step of the optimiser"""

    def __post_init__(self) -> None:
        require_positive(self, "noise_level", "num_rollouts", "num_iterations")
        require_positive(self, "num_pretraining_iterations", "num_pretraining_contexts")
        require_positive(self, "learning_rate", "batch_size")
        require_not_negative(self, "min_distance")
        require(
            0 <= self.p_success < 1,
            f"p_success is a probability below 1, got {self.p_success} (the paper uses 0.1 to 0.3)",
        )
        require_layers(self, "generator_sizes", "discriminator_sizes", at_least=1)

    @property
    def gan(self) -> GAN:
        """The networks' part of the settings."""
        return GAN(
            self.generator_sizes, self.discriminator_sizes, self.learning_rate, self.batch_size
        )

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> GoalGANState:
        """Let the generator imitate the initial distribution."""
        size, zero = contexts.size, np.int64(0)
        state = GoalGANState(
            lower=np.array(contexts.lower),
            upper=np.array(contexts.upper),
            gan=self.gan.init(rng, size),
            open_context=np.zeros((0, size), np.float32),
            open_success=np.zeros(0),
            labelled_context=np.zeros((0, size)),
            label=np.zeros(0),
            success_context=np.zeros((0, size)),
            most_episodes=zero,
            num_episodes=zero,
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
        return self._train(rng, state, drawn, labels, self.num_pretraining_iterations)

    def sample(self, rng: np.random.Generator, state: GoalGANState, num: int) -> Array:
        """Draw new contexts, each for two episodes in a row, and now and then a replay for one."""
        replayed = rng.random(num) < (self.p_success if len(state.success_context) else 0.0)
        filled = np.cumsum(np.where(replayed, 1, 2))
        replayed = replayed[: np.searchsorted(filled, num) + 1]  # those that `num` rows need
        drawn = np.empty((len(replayed), len(state.lower)))
        drawn[replayed] = self._replay(rng, state, int(replayed.sum()))
        drawn[~replayed] = self._generate(rng, state, int((~replayed).sum()))
        return np.repeat(drawn, np.where(replayed, 1, 2), axis=0)[:num]

    def update(
        self, rng: np.random.Generator, state: GoalGANState, episodes: Episodes
    ) -> tuple[GoalGANState, Metrics]:
        """Label contexts that were tried twice; train whenever there are `num_rollouts` of them."""
        state, contexts, success = _pair_up(state, episodes)
        label = (success >= LOWEST) & (success <= HIGHEST)
        state = state._replace(
            labelled_context=np.concatenate([state.labelled_context, contexts]),
            label=np.concatenate([state.label, label]),
            success_context=self._remember(state, contexts[success > HIGHEST]),
            most_episodes=np.maximum(state.most_episodes, episodes.num),
            num_episodes=state.num_episodes + episodes.num,
            num_labelled=state.num_labelled + len(label),
        )
        while len(state.label) >= self.num_rollouts:
            state = self._train_when_due(rng, state)
        metrics = {
            "teacher/success_buffer": len(state.success_context),
            "teacher/trainings": int(state.num_trainings),
        }
        return state, metrics | ({"teacher/intermediate": label.mean()} if len(label) else {})

    def distribution(self, state: GoalGANState) -> None:
        """Not a Gaussian."""

    def advice(self, state: GoalGANState, num_remaining: int) -> tuple[str, ...]:
        """Warn when the generator never gets anything to learn from."""
        if state.num_episodes >= NUM_EPISODES_TO_ADVISE and not state.num_labelled:
            return (
                f"none of {state.num_episodes} episodes repeats the context of another, so no "
                "context can be labelled; use the contexts in the order in which they are sampled",
            )
        if state.num_skipped and not state.num_trainings:
            return (
                f"none of {state.num_labelled} contexts succeeded in exactly one of its two "
                "episodes, so the generator has never been trained and contexts stay as they "
                "were in the beginning; begin with easier ones, or check the success flag",
            )
        return ()

    def _replay(self, rng: np.random.Generator, state: GoalGANState, num: int) -> Array:
        if not num:
            return np.zeros((0, len(state.lower)))
        known = state.success_context
        contexts = known[rng.integers(len(known), size=num)] + self._noise(rng, state, num)  # D3
        return np.clip(contexts, state.lower, state.upper) if self.clip_replay else contexts  # D4

    def _generate(self, rng: np.random.Generator, state: GoalGANState, num: int) -> Array:
        # each serves two rows, so that rows up to four times most_episodes have their own
        enough = 2 * int(state.most_episodes) or num
        points = self.gan.generate(rng, state.gan, min(num, enough))
        points = np.resize(points, (num, points.shape[1]))  # D6: repeats from the beginning
        centre = (state.lower + state.upper) / 2
        contexts = centre + points * (state.upper - state.lower) + self._noise(rng, state, num)
        return np.clip(contexts, state.lower, state.upper)

    def _noise(self, rng: np.random.Generator, state: GoalGANState, num: int) -> Array:
        width = state.upper - state.lower
        return self.noise_level * width * rng.standard_normal((num, len(width)))

    def _remember(self, state: GoalGANState, contexts: Array) -> Array:
        """The success buffer with those contexts added that are far from all others in it."""
        min_distance = self.min_distance * np.linalg.norm(state.upper - state.lower)

        def is_far(known: Array, contexts: Array) -> Array:
            return cdist(contexts, known).min(axis=1, initial=np.inf) > min_distance

        new = contexts[:0]
        for context in contexts[is_far(state.success_context, contexts)]:
            if is_far(new, context[None]).all():
                new = np.concatenate([new, context[None]])
        return np.concatenate([state.success_context, new])

    def _train_when_due(self, rng: np.random.Generator, state: GoalGANState) -> GoalGANState:
        """Use up the oldest `num_rollouts` labelled contexts."""
        due, later = slice(None, self.num_rollouts), slice(self.num_rollouts, None)
        contexts, label = state.labelled_context[due], state.label[due]
        state = state._replace(
            labelled_context=state.labelled_context[later], label=state.label[later]
        )
        if not label.any():
            return state._replace(num_skipped=state.num_skipped + 1)
        state = self._train(rng, state, contexts, label, self.num_iterations)
        return state._replace(num_trainings=state.num_trainings + 1)

    def _train(
        self,
        rng: np.random.Generator,
        state: GoalGANState,
        contexts: Array,
        label: Array,
        num_iterations: int,
    ) -> GoalGANState:
        centre = (state.lower + state.upper) / 2
        points = (contexts - centre) / (state.upper - state.lower)
        room = (
            max(self.num_rollouts, self.num_pretraining_contexts),
            max(self.num_iterations, self.num_pretraining_iterations),
        )
        trained = self.gan.train(rng, state.gan, points, label, num_iterations, room)
        return state._replace(gan=trained)


def _pair_up(state: GoalGANState, episodes: Episodes) -> tuple[GoalGANState, Array, Array]:
    """Contexts that have now been tried twice [P, C], and their mean successes [P].

    The two episodes need not be neighbours: with several environments others end in between, and
    the second may end in the next iteration. Without a partner stay replays, and what D5 cut off.
    """
    contexts = np.concatenate([state.open_context, episodes.context.astype(np.float32)])
    success = np.concatenate([state.open_success, episodes.success])
    row = np.dtype((np.void, contexts.itemsize * contexts.shape[1]))  # bytes are compared fastest
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
