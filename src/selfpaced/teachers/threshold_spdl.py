"""SPDL with a performance threshold (Klink et al., JMLR 2021): no schedule of alpha.

With J(q), the importance-weighted mean value under q,

A  J(current) >= threshold: minimise KL(q ‖ target) such that J(q) >= threshold,
B  J(current) < threshold, which was never reached: maximise J(q),
C  J(current) < threshold, which was reached before: stay, and let the learner recover,

all within the trust region; see `threshold_step.py`.

Deviations:
D1  the published solver is SciPy's trust-constr; a search over alpha finds the same optimum,
D2  with fewer episodes than parameters, J is a regression, see `regularised`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final, get_args

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian, Role
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.diagnosis import FAR, few_episodes
from selfpaced.teachers.episode_window import EpisodeWindow
from selfpaced.teachers.gaussian_step import (
    Covariance,
    Update,
    prepare,
    regularised,
    restrict,
)
from selfpaced.teachers.threshold_step import Case, threshold_steps
from selfpaced.validation import (
    require_choice,
    require_not_negative,
    require_positive,
    require_std_bound,
)

LONG_WAIT = 50  # updates below the threshold before a warning


class ThresholdSPDLState(NamedTuple):
    """The current Gaussian, whether the threshold was reached, and the window of episodes."""

    mean: Array  # [C]
    cholesky: Array  # [C, C]
    is_reached: Array  # []
    num_iterations: Array  # []
    window: EpisodeWindow
    num_episodes: Array  # []  in the latest update
    num_stays: Array  # []  updates of case C


@final
@dataclass(frozen=True)
class ThresholdSPDL:
    """Move a Gaussian over contexts to the target while the expected value is above a threshold.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ContextSpace, Gaussian, ThresholdSPDL
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = ThresholdSPDL(threshold=3.5), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.sample(rng, contexts, state, num=8).shape
        (8, 1)
    """

    threshold: float = 0.0
    """V_LB: expected value that contexts must keep"""
    update_offset: int = 5
    """n_offset: iterations before the first update"""
    max_kl: float = 0.05
    """epsilon: largest KL between successive distributions"""
    std_lower_bound: tuple[float, ...] | None = None
    """smallest standard deviation of each component while the target is far"""
    kl_threshold: float = 8000.0
    """the target is far while the KL to it is above this"""
    window: int | None = None
    """number of latest episodes in an update; None uses the episodes of the iteration"""
    signal: Literal["value", "return"] = "value"
    """what J is the mean of: the critic's "value", or the discounted "return" (SAC)"""
    covariance: Covariance = "full"
    """"full", or "diagonal" to leave out correlations, also those of the given distributions"""

    def __post_init__(self) -> None:
        require_positive(self, "max_kl")
        require_not_negative(self, "update_offset", "kl_threshold")
        require_std_bound(self.std_lower_bound)
        require_positive(self, "window", none_allowed=True)
        require_choice("signal", self.signal, ("value", "return"))
        require_choice("covariance", self.covariance, get_args(Covariance))

    @property
    def required_gaussians(self) -> tuple[Role, ...]:
        """Both distributions."""
        return ("initial", "target")

    @property
    def uses_values(self) -> bool:
        """Unless the signal is the return."""
        return self.signal == "value"

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> ThresholdSPDLState:
        """Start from the initial distribution."""
        require_std_bound(self.std_lower_bound, contexts.names)
        self._target(contexts)
        start = restrict(contexts.require_gaussian("initial", "threshold SPDL"), self.covariance)
        zero = np.zeros((), np.int64)
        return ThresholdSPDLState(
            mean=start.mean,
            cholesky=start.cholesky,
            is_reached=np.zeros((), bool),
            num_iterations=zero,
            window=EpisodeWindow.empty(contexts.size),
            num_episodes=zero,
            num_stays=zero,
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: ThresholdSPDLState, num: int
    ) -> Array:
        """Draw from the current distribution, inside the box."""
        return contexts.draw(rng, self.gaussian(contexts, state), num)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: ThresholdSPDLState,
        episodes: Episodes,
    ) -> tuple[ThresholdSPDLState, Metrics]:
        """Move the distribution by case A, B or C."""
        return self.update_block([rng], contexts, [state], [episodes])[0]

    def update_block(
        self,
        rngs: Sequence[np.random.Generator],
        contexts: ContextSpace,
        states: Sequence[ThresholdSPDLState],
        episodes: Sequence[Episodes],
    ) -> list[tuple[ThresholdSPDLState, Metrics]]:
        """Update the distributions of several seeds at once."""
        episodes = [contexts.check_episodes(ended) for ended in episodes]
        states = [
            self._remember(state, ended) for state, ended in zip(states, episodes, strict=True)
        ]
        due = [
            index
            for index, (state, ended) in enumerate(zip(states, episodes, strict=True))
            if ended.num and state.num_iterations > self.update_offset
        ]
        results = [(state, self._metrics(contexts, state)) for state in states]
        moved = self._move(contexts, [states[index] for index in due], len(states))
        for index, result in zip(due, moved, strict=True):
            results[index] = result
        if self.window is None:
            results = [
                (state._replace(window=state.window.cleared()), metrics)
                for state, metrics in results
            ]
        return results

    def gaussian(self, contexts: ContextSpace, state: ThresholdSPDLState) -> Gaussian:
        """Return the distribution from which contexts are drawn."""
        return Gaussian(state.mean, state.cholesky)

    def remembered(self, state: ThresholdSPDLState) -> Array:
        """Return the first observations of the episodes in the window."""
        return state.window.observation

    def revalued(self, state: ThresholdSPDLState, values: Array) -> ThresholdSPDLState:
        """Return the state with the learner's current values; returns stay what they are."""
        if self.signal == "return":
            return state
        return state._replace(window=state.window._replace(value=values))

    def advice(
        self, contexts: ContextSpace, state: ThresholdSPDLState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn if the threshold has not been reached, or if contexts stay put after a collapse."""
        num_updates = int(state.num_iterations) - self.update_offset
        if num_updates >= LONG_WAIT and not state.is_reached:
            return (
                f"the expected value has not reached the threshold {self.threshold:g} in "
                f"{num_updates} updates: contexts move to higher values, not to the target; lower "
                "threshold, or train longer",
            )
        if state.num_stays >= LONG_WAIT and state.num_stays > num_updates // 2:
            return (
                f"contexts have stayed in {state.num_stays} of {num_updates} updates, because the "
                f"expected value is below the threshold {self.threshold:g} again; lower threshold "
                "or max_kl, or train the learner more per iteration",
            )
        if num_updates > 0 and self.gaussian(contexts, state).kl(self._target(contexts)) > FAR:
            few = few_episodes(float(state.num_episodes), contexts.size, self.covariance)
            return (few,) if few else ()
        return ()

    def _target(self, contexts: ContextSpace) -> Gaussian:
        return restrict(contexts.require_gaussian("target", "threshold SPDL"), self.covariance)

    def _remember(self, state: ThresholdSPDLState, episodes: Episodes) -> ThresholdSPDLState:
        """Count the iteration, and append its episodes to the window."""
        state = state._replace(num_iterations=state.num_iterations + 1)
        if not episodes.num:
            return state
        values = episodes.value if self.signal == "value" else episodes.discounted_return
        window = state.window.after(episodes, values, self.window)
        return state._replace(window=window, num_episodes=np.array(len(window.value)))

    def _move(
        self, contexts: ContextSpace, states: Sequence[ThresholdSPDLState], num_seeds: int
    ) -> list[tuple[ThresholdSPDLState, Metrics]]:
        """Solve the updates of several seeds together, each by its case."""
        updates = [self._prepare(contexts, state) for state in states]
        reached = [update.expected_value(update.start) for update in updates]
        cases = [self._case(state, value) for state, value in zip(states, reached, strict=True)]
        moving = [index for index, case in enumerate(cases) if case != "stay"]
        steps = threshold_steps(
            [updates[index] for index in moving],
            [cases[index] for index in moving],
            self.threshold,
            num_seeds,
        )
        results = []
        for index, (state, update, case) in enumerate(zip(states, updates, cases, strict=True)):
            new = update.current
            if case == "stay":
                state = state._replace(num_stays=state.num_stays + 1)
            else:
                new = steps[moving.index(index)].distribution
            is_reached = bool(state.is_reached) or case == "approach"
            state = state._replace(
                mean=new.mean, cholesky=new.cholesky, is_reached=np.array(is_reached)
            )
            metrics = self._metrics(contexts, state) | {
                "teacher/expected_value": reached[index],
                "teacher/stays": float(case == "stay"),
                "teacher/kl_moved": update.current.kl(new),
            }
            results.append((state, metrics))
        return results

    def _case(self, state: ThresholdSPDLState, expected: float) -> Case:
        if expected >= self.threshold:
            return "approach"
        return "stay" if state.is_reached else "improve"

    def _prepare(self, contexts: ContextSpace, state: ThresholdSPDLState) -> Update:
        current, target = self.gaussian(contexts, state), self._target(contexts)
        is_far = current.kl(target) > self.kl_threshold
        bound = np.array(self.std_lower_bound) if self.std_lower_bound and is_far else None
        samples, values, max_kl = state.window.context, state.window.value, self.max_kl
        update = prepare(current, target, samples, values, 0.0, max_kl, bound)
        return regularised(update._replace(covariance=self.covariance))  # D2

    def _metrics(self, contexts: ContextSpace, state: ThresholdSPDLState) -> Metrics:
        return {
            "teacher/kl_to_target": self.gaussian(contexts, state).kl(self._target(contexts)),
            "teacher/reached": float(state.is_reached),
        }
