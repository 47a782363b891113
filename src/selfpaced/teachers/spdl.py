"""SPDL, self-paced deep reinforcement learning (paper, Section 4, Algorithm 1).

Deviations from the paper's text; D1 to D4 are those of the experiments its numbers come from:
D1  the trust region bounds KL(old ‖ new), not KL(new ‖ old); `constraint` chooses,
D2  alpha is zero for the first N_alpha - 1 updates, not N_alpha,
D3  the lower bound on the standard deviation acts on the Cholesky diagonal inside the optimisation,
    instead of clipping afterwards,
D4  alpha is never larger than 1e5,
D5  the first update uses the episodes of its own iteration only, not those of the offset as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.records import Array, Episodes, Metrics, Scalar
from selfpaced.teachers.gaussian_step import (
    GaussianStep,
    Update,
    gaussian_step,
    gaussian_steps,
    prepare,
)
from selfpaced.teachers.interior_point import Direction
from selfpaced.validation import (
    require_choice,
    require_not_negative,
    require_positive,
    require_std_bound,
)

MAX_ALPHA = 1e5  # D4
ARRIVED = 0.1  # KL to the target that counts as having arrived


class SPDLState(NamedTuple):
    """The current context distribution, where it has to go, and how far training has come."""

    mean: Array
    cholesky: Array
    target_mean: Array
    target_cholesky: Array
    lower: Array
    upper: Array
    num_iterations: Scalar  # seen so far
    num_updates: Scalar  # of the distribution
    mean_return: Scalar  # of the latest iteration
    window_context: Array  # [<= window, C] of the latest episodes
    window_observation: Array  # [<= window, O], the first of each
    window_value: Array  # [<= window]


@dataclass(frozen=True)
class SPDL:
    """Trades off value against KL to the target, in steps that stay within a trust region."""

    zeta: float = 1.4
    """how strongly the target pulls, relative to the mean return"""
    alpha_offset: int = 10
    """N_alpha: the target does not pull before this many updates"""
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
    """an update goes by this many latest episodes; None: by those of its iteration"""
    start: Literal["initial", "target"] = "initial"
    """the distribution to begin with"""

    def __post_init__(self) -> None:
        require_positive(self, "max_kl")
        require_not_negative(self, "zeta", "alpha_offset", "update_offset", "kl_threshold")
        require_std_bound(self.std_lower_bound)
        require_choice("constraint", self.constraint, get_args(Direction))
        require_positive(self, "window", none_allowed=True)
        require_choice("start", self.start, ("initial", "target"))

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> SPDLState:
        """Start from the initial distribution, or from the target."""
        start = getattr(contexts, self.start)
        require_std_bound(self.std_lower_bound, contexts.names)
        return SPDLState(
            mean=start.mean,
            cholesky=start.cholesky,
            target_mean=contexts.target.mean,
            target_cholesky=contexts.target.cholesky,
            lower=np.array(contexts.lower),
            upper=np.array(contexts.upper),
            num_iterations=np.int64(0),
            num_updates=np.int64(0),
            mean_return=np.float64(np.nan),
            window_context=np.zeros((0, contexts.size)),
            window_observation=np.zeros((0, 0), np.float32),  # how long they are is not known yet
            window_value=np.zeros(0),
        )

    def distribution(self, state: SPDLState) -> Gaussian:
        """The distribution that contexts are drawn from."""
        return Gaussian(state.mean, state.cholesky)

    def sample(self, rng: np.random.Generator, state: SPDLState, num: int) -> Array:
        """Draw from the current distribution, clipped to the box."""
        return np.clip(self.distribution(state).sample(rng, num), state.lower, state.upper)

    def update(
        self, rng: np.random.Generator, state: SPDLState, episodes: Episodes
    ) -> tuple[SPDLState, Metrics]:
        """Move the distribution by solving Eq. (5)."""
        return self.update_block([rng], [state], [episodes])[0]

    def update_block(
        self,
        rngs: Sequence[np.random.Generator],
        states: Sequence[SPDLState],
        episodes: Sequence[Episodes],
    ) -> list[tuple[SPDLState, Metrics]]:
        """Update the distributions of several seeds at once: together they cost half as much."""
        states = [self._count(state, ended) for state, ended in zip(states, episodes, strict=True)]
        if all(state.num_updates == 0 for state in states):
            return [(state, self._metrics(state)) for state in states]
        updates = [
            self._prepare(state, ended) for state, ended in zip(states, episodes, strict=True)
        ]
        steps = gaussian_steps(updates)
        return [
            self._move(state, update, step)
            for state, update, step in zip(states, updates, steps, strict=True)
        ]

    def _count(self, state: SPDLState, episodes: Episodes) -> SPDLState:
        """One more iteration, and one more update if it is time and there is something to go by."""
        num_iterations = state.num_iterations + 1
        if not episodes.num:
            return state._replace(num_iterations=num_iterations)
        is_time = num_iterations > self.update_offset
        return state._replace(
            num_iterations=num_iterations,
            num_updates=state.num_updates + int(is_time),
            mean_return=np.mean(episodes.discounted_return),
            **self._remember(state, episodes),
        )

    def _remember(self, state: SPDLState, episodes: Episodes) -> dict[str, Array]:
        """The latest episodes, as far as a window reaches."""
        if self.window is None:
            return {}
        latest = {
            "window_context": episodes.context,
            "window_observation": np.asarray(episodes.first_observation, np.float32),
            "window_value": episodes.value,
        }
        if not len(state.window_value):
            return {name: column[-self.window :] for name, column in latest.items()}
        return {
            name: np.concatenate([getattr(state, name), column])[-self.window :]
            for name, column in latest.items()
        }

    def remembered(self, state: SPDLState) -> Array:
        """First observations of the episodes in the window."""
        return state.window_observation

    def revalued(self, state: SPDLState, values: Array) -> SPDLState:
        """The critic has learned since then; all of the window goes by what it thinks now."""
        return state._replace(window_value=values)

    def _prepare(self, state: SPDLState, episodes: Episodes) -> Update:
        current, target = self.distribution(state), _target(state)
        kl_to_target = current.kl(target)
        contexts, values = episodes.context, episodes.value
        if self.window is not None and episodes.num:
            contexts, values = state.window_context, state.window_value
        return prepare(
            current,
            target,
            contexts,
            values,
            self._alpha(state, kl_to_target),
            self.max_kl,
            self._std_lower_bound(kl_to_target),
            self.constraint,
        )

    def _move(
        self, state: SPDLState, update: Update, step: GaussianStep
    ) -> tuple[SPDLState, Metrics]:
        """Take the step, and say what a user needs to trust it."""
        if not len(update.values):
            return state, self._metrics(state)
        old, new, contexts = update.current, step.distribution, update.contexts
        state = state._replace(mean=new.mean, cholesky=new.cholesky)
        ratio = np.exp(new.log_density(contexts) - old.log_density(contexts))
        at_bound = (contexts <= state.lower) | (contexts >= state.upper)
        return state, self._metrics(state) | {
            "teacher/alpha": update.alpha,
            "teacher/kl_moved": step.kl_moved,
            "teacher/gain": step.gain,
            "teacher/accepted": float(step.accepted),
            "teacher/trust_region_active": float(step.kl_active),
            "teacher/bounds_active": float(step.bound_active.sum()),
            "teacher/effective_samples": float(ratio.sum() ** 2 / (ratio**2).sum()),
            "teacher/clipped_share": float(at_bound.any(axis=1).mean()),
        }

    def advice(self, state: SPDLState, num_remaining: int) -> tuple[str, ...]:
        """Warn when the target cannot pull, or cannot be reached any more."""
        pulls = state.num_updates + 1 >= self.alpha_offset
        advice = []
        if pulls and state.mean_return < 0:
            advice.append(
                "the mean return is negative, so alpha stays zero and nothing pulls the contexts "
                "to the target; add a constant to the reward"
            )
        waiting = max(self.alpha_offset - 1 - int(state.num_updates), 0)
        waiting += max(self.update_offset - int(state.num_iterations), 0)
        num_pulled = max(num_remaining - waiting, 0)
        needed = self.least_updates(self.distribution(state), _target(state), num_pulled)
        if needed > num_pulled:
            advice.append(
                f"the {num_remaining} remaining iterations cannot reach the target: {waiting} pass "
                f"before it pulls, and the {num_pulled} updates that are left then are too "
                f"few with max_kl {self.max_kl:g}; train longer, raise max_kl, or lower the offsets"
            )
        return tuple(advice)

    def least_updates(self, current: Gaussian, target: Gaussian, give_up_after: int = 1000) -> int:
        """How many updates the way to the target takes if nothing but the target mattered.

        Counts to one more than `give_up_after`.
        """
        nowhere, nothing = current.mean[None], np.zeros(1)
        for num_updates in range(give_up_after + 1):
            kl_to_target = current.kl(target)
            if kl_to_target < ARRIVED:
                return num_updates
            bound = self._std_lower_bound(kl_to_target)
            current = gaussian_step(
                current, target, nowhere, nothing, 1.0, self.max_kl, bound, self.constraint
            ).distribution
        return num_updates + 1

    def _alpha(self, state: SPDLState, kl_to_target: float) -> float:
        if state.num_updates < self.alpha_offset:  # D2
            return 0.0
        pull = self.zeta * max(float(state.mean_return), 0.0) / max(kl_to_target, 1e-10)  # Eq. (6)
        return min(pull, MAX_ALPHA)

    def _std_lower_bound(self, kl_to_target: float) -> Array | None:
        if self.std_lower_bound is None or kl_to_target <= self.kl_threshold:
            return None
        return np.array(self.std_lower_bound)

    def _metrics(self, state: SPDLState) -> Metrics:
        return {"teacher/kl_to_target": self.distribution(state).kl(_target(state))}


def _target(state: SPDLState) -> Gaussian:
    return Gaussian(state.target_mean, state.target_cholesky)
