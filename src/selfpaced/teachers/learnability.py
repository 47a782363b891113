"""Learnability: contexts in which success is neither certain nor impossible.

Sampling for learnability (Rutherford et al., NeurIPS 2024) ranks contexts by p (1 - p), where p is
the share of successes.

Deviations:
D1  p is estimated from the latest training episodes nearby, without extra episodes,
D2  with `target_weight`, contexts far from the target count less, so that there is a direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.spatial import KDTree

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.diagnosis import without_failure, without_success
from selfpaced.validation import require_not_negative, require_positive

REACH = 0.05  # of the diagonal of the box: distance to the target that matters
LEAST_NEIGHBOURS = 5
NUM_TARGETS = 200  # draws that the distance to the target is measured to


class LearnabilityState(NamedTuple):
    """The latest episodes, and the contexts to choose from."""

    context: Array  # [<= window, C]
    success: Array  # [<= window]
    pool: Array  # [P, C]
    best: Array  # [<= num_best, C]
    num_episodes: Array  # []
    num_successes: Array  # []


@final
@dataclass(frozen=True)
class Learnability:
    """Train on contexts of intermediate difficulty, preferably near the target.

    Requires `info["success"]`.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ContextSpace, Gaussian, Learnability
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = Learnability(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.sample(rng, contexts, state, num=8).shape
        (8, 1)
    """

    pool_size: int = 2000
    """candidates of each update: half uniform, half from the target"""
    num_best: int = 100
    """contexts of highest learnability that are trained on"""
    p_best: float = 0.5
    """share of contexts from these; the others are from the pool"""
    window: int = 1000
    """latest episodes from which success is estimated"""
    target_weight: float = 1.0
    """how much nearness to the target counts; 0 ignores the target"""

    def __post_init__(self) -> None:
        require_positive(self, "pool_size", "num_best", "window")
        require_not_negative(self, "target_weight")
        require(0 <= self.p_best <= 1, f"p_best must lie in [0, 1], got {self.p_best}")
        require(
            self.num_best <= self.pool_size,
            f"num_best must be at most pool_size ({self.pool_size}), got {self.num_best}",
        )

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> LearnabilityState:
        """Return a pool without any estimate."""
        return LearnabilityState(
            context=np.zeros((0, contexts.size)),
            success=np.zeros(0),
            pool=self._draw_pool(rng, contexts),
            best=np.zeros((0, contexts.size)),
            num_episodes=np.zeros((), np.int64),
            num_successes=np.zeros((), np.int64),
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: LearnabilityState, num: int
    ) -> Array:
        """Draw from the best contexts and from the pool."""
        drawn: Array = state.pool[rng.integers(len(state.pool), size=num)]
        if len(state.best):
            chosen = np.flatnonzero(rng.random(num) < self.p_best)
            drawn[chosen] = state.best[rng.integers(len(state.best), size=len(chosen))]
        return drawn

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: LearnabilityState,
        episodes: Episodes,
    ) -> tuple[LearnabilityState, Metrics]:
        """Draw a new pool, and rank it."""
        episodes = contexts.check_episodes(episodes)
        success = np.asarray(episodes.success, np.float64)
        state = state._replace(
            context=np.concatenate([state.context, episodes.context])[-self.window :],
            success=np.concatenate([state.success, success])[-self.window :],
            pool=self._draw_pool(rng, contexts),
            num_episodes=state.num_episodes + episodes.num,
            num_successes=state.num_successes + int(success.sum()),
        )
        if not len(state.success):
            return state, {}
        score = learnability(contexts, state.context, state.success, state.pool)
        if self.target_weight:  # D2
            score = score * self._nearness(rng, contexts, state.pool)
        best = np.argsort(-score, kind="stable")[: self.num_best]
        state = state._replace(best=state.pool[best])
        return state, {"teacher/learnability": float(score[best].mean())}

    def advice(
        self, contexts: ContextSpace, state: LearnabilityState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn if successes are never or always reported."""
        num_episodes, num_successes = int(state.num_episodes), int(state.num_successes)
        consequence = "all contexts are equally learnable"
        texts = (
            without_success(num_episodes, num_successes, consequence, "report it, or use currot"),
            without_failure(num_episodes, num_successes, consequence),
        )
        return tuple(text for text in texts if text)

    def _draw_pool(self, rng: np.random.Generator, contexts: ContextSpace) -> Array:
        half = self.pool_size // 2
        parts = (
            contexts.sample_uniform(rng, self.pool_size - half),
            contexts.sample_target(rng, half),
        )
        return np.concatenate(parts)

    def _nearness(self, rng: np.random.Generator, contexts: ContextSpace, pool: Array) -> Array:
        """Return 1 at the target, falling with the distance to its nearest draw."""
        targets = contexts.to_unit(contexts.sample_target(rng, NUM_TARGETS))
        distance, _ = KDTree(targets).query(contexts.to_unit(pool))
        reach = REACH * np.sqrt(contexts.size)
        nearness: Array = np.exp(-self.target_weight * np.asarray(distance) / reach)
        return nearness


def learnability(contexts: ContextSpace, played: Array, success: Array, pool: Array) -> Array:
    """Return p (1 - p) for every context of the pool, from the episodes played nearby (D1)."""
    num = min(max(LEAST_NEIGHBOURS, int(np.ceil(np.sqrt(len(played))))), len(played))
    _, nearest = KDTree(contexts.to_unit(played)).query(contexts.to_unit(pool), k=num)
    p = success[np.asarray(nearest).reshape(len(pool), num)].mean(axis=1)
    score: Array = p * (1.0 - p)
    return score
