"""DORAEMON: widen the contexts as far as successes allow (Tiboni et al., ICLR 2024).

Contexts are drawn from a product of Beta distributions over the box. Its entropy is maximised in a
trust region, such that the estimated share of successes stays above a level.

Deviations:
D1  the Betas start at the mean of the initial distribution, not in the middle of the box,
D2  an update uses at least `num_rollouts` episodes instead of a fixed number of steps,
D3  a step that does not succeed enough is followed by a step of entropy within what is left of the
    trust region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.beta_step import (
    HIGHEST,
    LOWEST,
    estimate,
    kl,
    kl_to_uniform,
    succeed,
    widen,
)
from selfpaced.teachers.diagnosis import without_failure, without_success
from selfpaced.validation import require_positive

EDGE = 1e-6  # contexts are kept this far from the ends of [0, 1], where densities can be infinite
ARRIVED = 1e-4  # KL to the uniform distribution, per component
NUM_FOR_MEAN = 1000  # draws from the initial distribution


class DORAEMONState(NamedTuple):
    """Parameters of the Betas, and episodes since the last update."""

    parameters: Array  # [2, C]
    unit: Array  # [E, C] contexts in (0, 1)
    success: Array  # [E]
    is_reached: Array  # []  whether the level was reached once
    num_episodes: Array  # []
    num_successes: Array  # []
    num_iterations: Array  # []


@final
@dataclass(frozen=True)
class DORAEMON:
    """Widen Beta distributions towards the whole box while enough episodes succeed.

    The target is the uniform distribution over the box. Requires `info["success"]`.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import DORAEMON, ContextSpace, Uniform
        >>> everywhere = Uniform((0.0,), (1.0,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), everywhere, everywhere)
        >>> teacher, rng = DORAEMON(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> bool(np.ptp(teacher.sample(rng, contexts, state, num=100)) < 0.3)
        True
    """

    max_kl: float = 0.05
    """epsilon: largest KL between successive distributions"""
    level: float = 0.5
    """share of successes that has to be kept"""
    concentration: float = 100.0
    """a = b of a Beta that starts in the middle of the box: the larger, the narrower the start"""
    num_rollouts: int = 100
    """episodes from one update to the next, at least"""

    def __post_init__(self) -> None:
        require_positive(self, "max_kl", "num_rollouts")
        require(0 < self.level <= 1, f"level must lie in (0, 1], got {self.level}; 0.5 is usual")
        require(
            LOWEST < self.concentration < HIGHEST,
            f"concentration must lie between {LOWEST:g} and {HIGHEST:g}, got {self.concentration}",
        )

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> DORAEMONState:
        """Start with narrow Betas around the mean of the initial distribution (D1)."""
        mean = contexts.to_unit(contexts.sample_initial(rng, NUM_FOR_MEAN)).mean(axis=0)
        mean = np.clip(mean, 0.01, 0.99)
        shares = np.array([mean, 1.0 - mean])
        most = np.minimum(2.0 * self.concentration, (HIGHEST - 1.0) / shares.max(axis=0))
        zero = np.zeros((), np.int64)
        return DORAEMONState(
            parameters=np.maximum(most * shares, LOWEST + 1e-3),
            unit=np.zeros((0, contexts.size)),
            success=np.zeros(0),
            is_reached=np.zeros((), bool),
            num_episodes=zero,
            num_successes=zero,
            num_iterations=zero,
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: DORAEMONState, num: int
    ) -> Array:
        """Draw from the Betas."""
        a, b = state.parameters
        return contexts.from_unit(rng.beta(a, b, (num, contexts.size)))

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: DORAEMONState,
        episodes: Episodes,
    ) -> tuple[DORAEMONState, Metrics]:
        """Widen the Betas once enough episodes have ended (D2)."""
        episodes = contexts.check_episodes(episodes)
        unit = np.clip(contexts.to_unit(episodes.context), EDGE, 1.0 - EDGE)
        success = np.asarray(episodes.success, np.float64)
        state = state._replace(
            unit=np.concatenate([state.unit, unit]),
            success=np.concatenate([state.success, success]),
            num_episodes=state.num_episodes + episodes.num,
            num_successes=state.num_successes + int(success.sum()),
            num_iterations=state.num_iterations + 1,
        )
        metrics: Metrics = {}
        if len(state.success) >= self.num_rollouts:
            state, metrics = self._move(state)
        return state, metrics | {"teacher/kl_to_uniform": kl_to_uniform(state.parameters)}

    def least_updates(self, state: DORAEMONState, give_up_after: int = 1000) -> int:
        """Return the number of updates to the uniform distribution if every episode succeeds."""
        current, none = state.parameters, np.zeros((0, state.parameters.shape[1]))
        for num_updates in range(give_up_after):
            if kl_to_uniform(current) < ARRIVED * current.shape[1]:
                return num_updates
            current = widen(current, current, none, np.zeros(0), 0.0, self.max_kl)
        return give_up_after

    def advice(
        self, contexts: ContextSpace, state: DORAEMONState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn of success that is never or always true, and of too few iterations for the box."""
        num_episodes, num_successes = int(state.num_episodes), int(state.num_successes)
        text = without_success(
            num_episodes,
            num_successes,
            "the contexts do not widen",
            "report success, or start from easier contexts",
        ) or without_failure(
            num_episodes, num_successes, "the contexts widen as fast as max_kl allows"
        )
        if text or not num_episodes:
            return (text,) if text else ()
        pace = num_episodes / int(state.num_iterations)
        possible = int(num_remaining * min(1.0, pace / self.num_rollouts))
        needed = self.least_updates(state, give_up_after=possible + 1)
        if needed <= possible:
            return ()
        return (
            f"{num_remaining} remaining iterations cannot reach the whole box: there will be about "
            f"{possible} updates, too few with max_kl {self.max_kl:g}; train longer, raise max_kl, "
            "or lower num_rollouts",
        )

    def _move(self, state: DORAEMONState) -> tuple[DORAEMONState, Metrics]:
        current, unit, success = state.parameters, state.unit, state.success
        share = float(success.mean())
        new = current
        if share >= self.level:
            new = widen(current, current, unit, success, self.level, self.max_kl)
        elif state.is_reached:
            new = succeed(current, unit, success, self.max_kl)
            if estimate(current, new, unit, success) >= self.level:
                new = widen(current, new, unit, success, self.level, self.max_kl)  # D3
        state = state._replace(
            parameters=new,
            unit=unit[:0],
            success=success[:0],
            is_reached=np.array(bool(state.is_reached) or share >= self.level),
        )
        return state, {"teacher/success": share, "teacher/kl_moved": kl(current, new)}
