"""SPDL with a performance threshold (Klink et al., JMLR 2021): no schedule of alpha.

With J(q), the importance-weighted mean value under q,

A  J(current) >= threshold: minimise KL(q ‖ target) such that J(q) >= threshold,
B  J(current) < threshold, which was never reached: maximise J(q),
C  J(current) < threshold, which was reached before: stay, and let the learner recover,

all within the trust region. The Lagrangian of A is Eq. (5) of SPDL: the largest alpha with
J(q) >= threshold is searched for, with SPDL's solver.

Deviations:
D1  the published solver is SciPy's trust-constr; a search over alpha finds the same optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian, Role
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.gaussian_step import GaussianStep, Update, gaussian_steps, prepare
from selfpaced.validation import (
    require_choice,
    require_not_negative,
    require_positive,
    require_std_bound,
)

LOG_ALPHAS = (-12.0, 12.0)  # natural logarithms, relative to the alpha of equal weights
NUM_HALVINGS, NUM_SECANTS = 5, 7  # steps of the search
LONG_WAIT = 50  # updates below the threshold before a warning

Case = Literal["approach", "improve", "stay"]


class ThresholdSPDLState(NamedTuple):
    """The current Gaussian, whether the threshold was reached, and the window of episodes."""

    mean: Array  # [C]
    cholesky: Array  # [C, C]
    is_reached: Array  # []
    num_iterations: Array  # []
    window_context: Array  # [<= window, C]
    window_observation: Array  # [<= window, O]
    window_value: Array  # [<= window]
    num_stays: Array  # []  updates of case C


@final
@dataclass(frozen=True)
class ThresholdSPDL:
    """Move a Gaussian over contexts to the target while the expected value is above a threshold.

    Example:
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

    def __post_init__(self) -> None:
        require_positive(self, "max_kl")
        require_not_negative(self, "update_offset", "kl_threshold")
        require_std_bound(self.std_lower_bound)
        require_positive(self, "window", none_allowed=True)
        require_choice("signal", self.signal, ("value", "return"))

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
        start = contexts.require_gaussian("initial", "threshold SPDL")
        zero = np.zeros((), np.int64)
        return ThresholdSPDLState(
            mean=start.mean,
            cholesky=start.cholesky,
            is_reached=np.zeros((), bool),
            num_iterations=zero,
            window_context=np.zeros((0, contexts.size)),
            window_observation=np.zeros((0, 0), np.float32),  # their size is not known yet
            window_value=np.zeros(0),
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
        moved = self._move(contexts, [states[index] for index in due])
        for index, result in zip(due, moved, strict=True):
            results[index] = result
        if self.window is None:
            results = [(_without_window(state), metrics) for state, metrics in results]
        return results

    def gaussian(self, contexts: ContextSpace, state: ThresholdSPDLState) -> Gaussian:
        """Return the distribution from which contexts are drawn."""
        return Gaussian(state.mean, state.cholesky)

    def remembered(self, state: ThresholdSPDLState) -> Array:
        """Return the first observations of the episodes in the window."""
        return state.window_observation

    def revalued(self, state: ThresholdSPDLState, values: Array) -> ThresholdSPDLState:
        """Return the state with the learner's current values; returns stay what they are."""
        return state._replace(window_value=values) if self.signal == "value" else state

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
        return ()

    def _target(self, contexts: ContextSpace) -> Gaussian:
        return contexts.require_gaussian("target", "threshold SPDL")

    def _remember(self, state: ThresholdSPDLState, episodes: Episodes) -> ThresholdSPDLState:
        """Count the iteration, and append its episodes to the window."""
        state = state._replace(num_iterations=state.num_iterations + 1)
        if not episodes.num:
            return state
        values = episodes.value if self.signal == "value" else episodes.discounted_return
        observation = np.asarray(episodes.first_observation, np.float32)
        if len(state.window_value):
            observation = np.concatenate([state.window_observation, observation])
        last = slice(None if self.window is None else -self.window, None)
        return state._replace(
            window_context=np.concatenate([state.window_context, episodes.context])[last],
            window_observation=observation[last],
            window_value=np.concatenate([state.window_value, values])[last],
        )

    def _move(
        self, contexts: ContextSpace, states: Sequence[ThresholdSPDLState]
    ) -> list[tuple[ThresholdSPDLState, Metrics]]:
        """Solve the updates of several seeds together, each by its case."""
        updates = [self._prepare(contexts, state) for state in states]
        reached = [_expected(update, update.start) for update in updates]
        cases = [self._case(state, value) for state, value in zip(states, reached, strict=True)]
        moving = [index for index, case in enumerate(cases) if case != "stay"]
        steps = self._solve(
            [updates[index] for index in moving], [cases[index] for index in moving]
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

    def _solve(self, updates: Sequence[Update], cases: Sequence[Case]) -> list[GaussianStep]:
        """Return the steps of cases A and B; A is searched for where the target alone fails."""
        if not updates:
            return []
        first = [
            _with_alpha(update, 0.0) if case == "improve" else _towards_target(update)
            for update, case in zip(updates, cases, strict=True)
        ]
        steps = gaussian_steps(first)
        failing = [
            index
            for index, (update, case) in enumerate(zip(updates, cases, strict=True))
            if case == "approach" and _expected(update, steps[index].distribution) < self.threshold
        ]
        found = self._search([updates[index] for index in failing])
        for index, step in zip(failing, found, strict=True):
            steps[index] = step
        return steps

    def _search(self, updates: Sequence[Update]) -> list[GaussianStep]:
        """Find alpha with J = threshold for several updates together; keep the best that reach it.

        J falls with alpha. The bracket of log alpha is halved, then shrunk by the Illinois rule.
        """
        if not updates:
            return []
        bracket = np.tile(LOG_ALPHAS, (len(updates), 1))
        excess = np.zeros_like(bracket)  # J - threshold at its ends; zero: not known
        last_end = np.full(len(updates), -1)
        scales = np.array([_scale(update) for update in updates])
        best = gaussian_steps([_with_alpha(update, 0.0) for update in updates])
        for number in range(NUM_HALVINGS + NUM_SECANTS):
            share = np.full(len(updates), 0.5)
            known = np.flatnonzero((excess != 0.0).all(axis=1) & (number >= NUM_HALVINGS))
            share[known] = excess[known, 0] / (excess[known, 0] - excess[known, 1])
            tried = bracket[:, 0] + share * (bracket[:, 1] - bracket[:, 0])
            pairs = zip(updates, scales * np.exp(tried), strict=True)
            steps = gaussian_steps([_with_alpha(update, alpha) for update, alpha in pairs])
            for index, (update, step) in enumerate(zip(updates, steps, strict=True)):
                above = _expected(update, step.distribution) - self.threshold
                end = 0 if above >= 0 else 1
                bracket[index, end], excess[index, end] = tried[index], above
                if last_end[index] == end:
                    excess[index, 1 - end] *= 0.5  # Illinois
                last_end[index] = end
                if above >= 0 and _nearer(update, step, best[index]):
                    best[index] = step
        return best

    def _prepare(self, contexts: ContextSpace, state: ThresholdSPDLState) -> Update:
        current, target = self.gaussian(contexts, state), self._target(contexts)
        is_far = current.kl(target) > self.kl_threshold
        bound = np.array(self.std_lower_bound) if self.std_lower_bound and is_far else None
        return prepare(
            current, target, state.window_context, state.window_value, 0.0, self.max_kl, bound
        )

    def _metrics(self, contexts: ContextSpace, state: ThresholdSPDLState) -> Metrics:
        return {
            "teacher/kl_to_target": self.gaussian(contexts, state).kl(self._target(contexts)),
            "teacher/reached": float(state.is_reached),
        }


def _without_window(state: ThresholdSPDLState) -> ThresholdSPDLState:
    return state._replace(
        window_context=state.window_context[:0],
        window_observation=state.window_observation[:0],
        window_value=state.window_value[:0],
    )


def _expected(update: Update, new: Gaussian) -> float:
    """Return J(new): the mean of the values, weighted by new(c) / current(c)."""
    samples = update.contexts
    ratio = np.exp(new.log_density(samples) - update.current.log_density(samples))
    return float(ratio @ update.values / len(update.values))


def _with_alpha(update: Update, alpha: float) -> Update:
    return update._replace(alpha=float(alpha))


def _towards_target(update: Update) -> Update:
    """Return the update with the KL to the target alone."""
    return update._replace(values=np.zeros_like(update.values), alpha=1.0)


def _scale(update: Update) -> float:
    """Return an alpha with which value and KL to the target weigh alike."""
    spread = float(update.values.std()) + 1e-12
    return spread / max(update.start.kl(update.target), 1e-12)


def _nearer(update: Update, step: GaussianStep, other: GaussianStep) -> bool:
    return step.distribution.kl(update.target) < other.distribution.kl(update.target)
