"""SPDL, self-paced deep reinforcement learning (Klink et al., NeurIPS 2020, Algorithm 1).

Deviations from the paper's text; D1 to D4 are those of the experiments its numbers come from:
D1  the trust region bounds KL(old ‖ new), not KL(new ‖ old); `constraint` chooses,
D2  alpha is zero for the first N_alpha - 1 updates, not N_alpha,
D3  the lower bound on the standard deviation acts on the Cholesky diagonal inside the optimisation,
    instead of clipping afterwards,
D4  alpha is never larger than 1e5,
D5  the first update uses the episodes of its own iteration only, not those of the offset as well,
D6  with fewer episodes than parameters, the value is a regression, see `regularised`.

By default the same Gaussian is moved by another rule, `pacing="mastery"`, whose settings do not
depend on the problem; see `mastery.py`. The presets of the paper set `pacing="tradeoff"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final, get_args

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian, Role
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.diagnosis import Progress
from selfpaced.teachers.episode_window import EpisodeWindow
from selfpaced.teachers.gaussian_step import (
    Covariance,
    GaussianStep,
    Update,
    gaussian_step,
    gaussian_steps,
    prepare,
    regularised,
    restrict,
)
from selfpaced.teachers.interior_point import Direction
from selfpaced.teachers.mastery import (
    RETREAT,
    STD_SHARE,
    MasteryMemory,
    MasteryPacing,
    is_ready,
)
from selfpaced.teachers.spdl_advice import advise
from selfpaced.validation import (
    require_choice,
    require_not_negative,
    require_positive,
    require_std_bound,
)

MAX_ALPHA = 1e5  # D4
ARRIVED = 0.1  # KL to the target that counts as having arrived


class SPDLState(NamedTuple):
    """The current context distribution, counts, and the latest episodes if there is a window."""

    mean: Array  # [C]
    cholesky: Array  # [C, C]
    num_iterations: Array  # []
    num_updates: Array  # []  of the distribution
    mean_return: Array  # []  of the latest iteration with episodes
    window: EpisodeWindow
    memory: MasteryMemory  # of pacing by mastery, otherwise empty
    progress: Progress  # for advice only


@final
@dataclass(frozen=True)
class SPDL:
    """Move a Gaussian over contexts from the initial to the target distribution.

    With `pacing="tradeoff"`, as in the paper, every update trades off the learner's values against
    the KL to the target, within a trust region. `value` of the episodes must be the learner's
    estimates, and returns must be positive on average: otherwise alpha is zero, and the target is
    ignored. With `pacing="mastery"`, the target is approached while enough episodes are mastered;
    zeta, alpha_offset, kl_threshold, constraint and window have no effect.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import SPDL, ContextSpace, Gaussian
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = SPDL(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> bool((teacher.sample(rng, contexts, state, num=8) < 0.5).all())
        True
        >>> teacher.least_updates(contexts, state)
        31
    """

    zeta: float = 1.4
    """weight of the target, relative to the mean return"""
    alpha_offset: int = 10
    """N_alpha: the target has no weight before this many updates"""
    update_offset: int = 5
    """n_offset: iterations before the first update"""
    max_kl: float = 0.05
    """epsilon: largest KL between successive distributions"""
    std_lower_bound: tuple[float, ...] | None = None
    """smallest standard deviation of each component while the target is far"""
    kl_threshold: float = 8000.0
    """the target is far while the KL to it is above this"""
    constraint: Direction = "old_new"
    """whether max_kl bounds KL(old, new) or KL(new, old)"""
    window: int | None = None
    """number of latest episodes in an update; None uses the episodes of the iteration"""
    start: Literal["initial", "target"] = "initial"
    """the distribution to start from"""
    pacing: Literal["mastery", "tradeoff"] = "mastery"
    """"mastery" approaches the target while enough episodes are mastered, "tradeoff" weighs value
    against the KL to the target (Eq. 5, the paper's)"""
    mastery_level: float = 0.7
    """share of mastered episodes from which "mastery" approaches the target"""
    covariance: Covariance = "full"
    """"full", or "diagonal" to leave out correlations, also those of the given distributions"""

    def __post_init__(self) -> None:
        require_positive(self, "max_kl")
        require_not_negative(self, "zeta", "alpha_offset", "update_offset", "kl_threshold")
        require_std_bound(self.std_lower_bound)
        require_choice("constraint", self.constraint, get_args(Direction))
        require_positive(self, "window", none_allowed=True)
        require_choice("start", self.start, ("initial", "target"))
        require_choice("pacing", self.pacing, ("tradeoff", "mastery"))
        require_choice("covariance", self.covariance, get_args(Covariance))
        require(
            RETREAT <= self.mastery_level <= 1.0,
            f"mastery_level must lie in [{RETREAT}, 1], got {self.mastery_level} (default: 0.7)",
        )

    @property
    def required_gaussians(self) -> tuple[Role, ...]:
        """The target, and the initial distribution if it is the start."""
        return ("initial", "target") if self.start == "initial" else ("target",)

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> SPDLState:
        """Start from the initial distribution, or from the target."""
        require_std_bound(self.std_lower_bound, contexts.names)
        self.target_of(contexts)  # refuse another one now, not at the first update
        start = self.starting_point(contexts)
        return SPDLState(
            mean=start.mean,
            cholesky=start.cholesky,
            num_iterations=np.zeros((), np.int64),
            num_updates=np.zeros((), np.int64),
            mean_return=np.full((), np.nan),
            window=EpisodeWindow.empty(contexts.size),
            memory=MasteryMemory.empty(contexts.size),
            progress=Progress.empty(),
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: SPDLState, num: int
    ) -> Array:
        """Draw from the current distribution, inside the box."""
        return contexts.draw(rng, self.gaussian(contexts, state), num)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: SPDLState,
        episodes: Episodes,
    ) -> tuple[SPDLState, Metrics]:
        """Move the distribution by solving Eq. (5)."""
        return self.update_block([rng], contexts, [state], [episodes])[0]

    def update_block(
        self,
        rngs: Sequence[np.random.Generator],
        contexts: ContextSpace,
        states: Sequence[SPDLState],
        episodes: Sequence[Episodes],
    ) -> list[tuple[SPDLState, Metrics]]:
        """Update the distributions of several seeds at once, in half the time."""
        episodes = [contexts.check_episodes(ended) for ended in episodes]
        updated = self._update_block(contexts, states, episodes)
        return [
            (state._replace(progress=state.progress.after(ended, metrics)), metrics)
            for (state, metrics), ended in zip(updated, episodes, strict=True)
        ]

    def remembered(self, state: SPDLState) -> Array:
        """Return the first observations of the episodes in the window."""
        return state.window.observation

    def revalued(self, state: SPDLState, values: Array) -> SPDLState:
        """Return the state with the learner's current values of the episodes in the window."""
        return state._replace(window=state.window._replace(value=values))

    @property
    def uses_values(self) -> bool:
        """Whether the learner's values have an effect."""
        return self.pacing == "tradeoff"

    def gaussian(self, contexts: ContextSpace, state: SPDLState) -> Gaussian:
        """Return the distribution from which contexts are drawn."""
        return Gaussian(state.mean, state.cholesky)

    def advice(
        self, contexts: ContextSpace, state: SPDLState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn of what keeps contexts from the target, with the likely cause and a remedy.

        Without another cause, warn if there are too few iterations to reach the target.
        """
        return advise(self, contexts, state, num_remaining)

    def least_updates(
        self, contexts: ContextSpace, state: SPDLState, give_up_after: int = 1000
    ) -> int:
        """Return the number of updates to the target if nothing but the target mattered.

        Counts up to one more than `give_up_after`.
        """
        current, target = self.gaussian(contexts, state), self.target_of(contexts)
        no_contexts, no_values = current.mean[None], np.zeros(1)
        for num_updates in range(give_up_after + 1):
            kl_to_target = current.kl(target)
            if kl_to_target < ARRIVED:
                return num_updates
            if self.pacing == "mastery":
                current = self._mastery_pacing(contexts).approached(current)
                continue
            bound = self._std_lower_bound(kl_to_target)
            problem = (current, target, no_contexts, no_values, 1.0, self.max_kl, bound)
            current = gaussian_step(*problem, self.constraint, self.covariance).distribution
        return give_up_after + 1

    def starting_point(self, contexts: ContextSpace) -> Gaussian:
        """Return the distribution before the first update."""
        return restrict(contexts.require_gaussian(self.start, "SPDL"), self.covariance)

    def target_of(self, contexts: ContextSpace) -> Gaussian:
        """Return the target, which must be a Gaussian."""
        return restrict(contexts.require_gaussian("target", "SPDL"), self.covariance)

    def _update_block(
        self, contexts: ContextSpace, states: Sequence[SPDLState], episodes: Sequence[Episodes]
    ) -> list[tuple[SPDLState, Metrics]]:
        states = [self._count(state, ended) for state, ended in zip(states, episodes, strict=True)]
        if self.pacing == "mastery":
            pairs = zip(states, episodes, strict=True)
            return [self._pace(contexts, state, ended) for state, ended in pairs]
        if all(state.num_updates == 0 for state in states):
            return [(state, self._metrics(contexts, state)) for state in states]
        updates = [
            self._prepare(contexts, state, ended)
            for state, ended in zip(states, episodes, strict=True)
        ]
        steps = gaussian_steps(updates)
        return [
            self._move(contexts, state, update, step)
            for state, update, step in zip(states, updates, steps, strict=True)
        ]

    def _pace(
        self, contexts: ContextSpace, state: SPDLState, episodes: Episodes
    ) -> tuple[SPDLState, Metrics]:
        """Move the distribution by mastery; `_count` has counted the iteration."""
        iteration, is_untrained = int(state.num_iterations), state.num_updates == 0
        memory = state.memory.remember(iteration, episodes, bool(is_untrained))
        state, metrics = state._replace(memory=memory), Metrics()
        if not is_untrained and episodes.num and is_ready(memory):
            new, metrics = self._mastery_pacing(contexts).step(
                contexts, self.gaussian(contexts, state), memory
            )
            state = state._replace(
                mean=new.mean, cholesky=new.cholesky, memory=memory.after(metrics)
            )
        return state, self._metrics(contexts, state) | metrics

    def _mastery_pacing(self, contexts: ContextSpace) -> MasteryPacing:
        least_std = STD_SHARE * self.starting_point(contexts).std
        if self.std_lower_bound is not None:
            least_std = np.array(self.std_lower_bound)
        target = self.target_of(contexts)
        return MasteryPacing(self.mastery_level, self.max_kl, least_std, target, self.covariance)

    def _count(self, state: SPDLState, episodes: Episodes) -> SPDLState:
        """Count an iteration, and an update if it is due and there are episodes."""
        num_iterations = state.num_iterations + 1
        if not episodes.num:
            return state._replace(num_iterations=num_iterations)
        is_due = num_iterations > self.update_offset
        window = state.window
        if self.window is not None:
            window = window.after(episodes, episodes.value, self.window)
        return state._replace(
            num_iterations=num_iterations,
            num_updates=state.num_updates + int(is_due),
            mean_return=episodes.discounted_return.mean(),
            window=window,
        )

    def _prepare(self, contexts: ContextSpace, state: SPDLState, episodes: Episodes) -> Update:
        current, target = self.gaussian(contexts, state), self.target_of(contexts)
        kl_to_target = current.kl(target)
        samples, values = episodes.context, episodes.value  # D5
        if self.window is not None and episodes.num:
            samples, values = state.window.context, state.window.value
        update = prepare(
            current,
            target,
            samples,
            values,
            self._alpha(state, kl_to_target),
            self.max_kl,
            self._std_lower_bound(kl_to_target),  # D3
            self.constraint,  # D1
        )
        return regularised(update._replace(covariance=self.covariance))  # D6

    def _alpha(self, state: SPDLState, kl_to_target: float) -> float:
        if state.num_updates < self.alpha_offset:  # D2
            return 0.0
        pull = self.zeta * max(float(state.mean_return), 0.0) / max(kl_to_target, 1e-10)  # Eq. (6)
        return min(pull, MAX_ALPHA)  # D4

    def _std_lower_bound(self, kl_to_target: float) -> Array | None:
        if self.std_lower_bound is None or kl_to_target <= self.kl_threshold:
            return None
        return np.array(self.std_lower_bound)

    def _move(
        self, contexts: ContextSpace, state: SPDLState, update: Update, step: GaussianStep
    ) -> tuple[SPDLState, Metrics]:
        """Take the step; return the new state, and metrics that show whether to trust it."""
        if not len(update.values):
            return state, self._metrics(contexts, state)
        old, new, samples = update.current, step.distribution, update.contexts
        state = state._replace(mean=new.mean, cholesky=new.cholesky)
        ratio = np.exp(new.log_density(samples) - old.log_density(samples))
        lower, upper = contexts.box
        at_bound = (samples <= lower) | (samples >= upper)
        return state, self._metrics(contexts, state) | {
            "teacher/alpha": update.alpha,
            "teacher/kl_moved": step.kl_moved,
            "teacher/gain": step.gain,
            "teacher/accepted": float(step.accepted),
            "teacher/trust_region_active": float(step.kl_active),
            "teacher/bounds_active": float(step.bound_active.sum()),
            "teacher/effective_samples": float(ratio.sum() ** 2 / (ratio**2).sum()),
            "teacher/clipped_share": float(at_bound.any(axis=1).mean()),
        }

    def _metrics(self, contexts: ContextSpace, state: SPDLState) -> Metrics:
        return {"teacher/kl_to_target": self.gaussian(contexts, state).kl(self.target_of(contexts))}
