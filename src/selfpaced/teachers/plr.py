"""PLR: prioritised level replay (Jiang et al., ICML 2021), for continuous contexts.

Contexts with a large gap between the best return and the critic's value are played again.

Deviations, D1 as in the experiments of CURROT (Klink et al., TPAMI 2024):
D1  new contexts are uniform over the box,
D2  the score of an episode is max(0, best return - value) at its first observation, because a
    teacher does not see the values of later ones,
D3  a replayed context is recognised by its value, up to single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.spatial.distance import cdist

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.validation import require_positive

SAME = 1e-6  # of the box, by which a replayed context may differ (D3)


class PLRState(NamedTuple):
    """The buffer of contexts."""

    context: Array  # [B, C]
    score: Array  # [B]
    best_return: Array  # [B]
    staleness: Array  # [B] episodes since it was played


@final
@dataclass(frozen=True)
class PLR:
    """Replay contexts in which returns exceed the critic's expectation; ignore the target.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import PLR, ContextSpace, Gaussian
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = PLR(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.sample(rng, contexts, state, num=8).shape
        (8, 1)
    """

    p_replay: float = 0.85
    """share of contexts that are played again"""
    temperature: float = 0.45
    """beta: replay probabilities fall as rank to the power of -1/beta"""
    staleness: float = 0.15
    """rho: weight of the time since a context was played, against its score"""
    buffer_size: int = 100
    """contexts to choose from"""

    def __post_init__(self) -> None:
        for name in ("p_replay", "staleness"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} must lie in [0, 1], got {value}")
        require_positive(self, "temperature", "buffer_size")

    @property
    def uses_values(self) -> bool:
        """Always: the score of a context is a gap between return and value."""
        return True

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> PLRState:
        """Return an empty buffer."""
        return PLRState(np.zeros((0, contexts.size)), np.zeros(0), np.zeros(0), np.zeros(0))

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: PLRState, num: int
    ) -> Array:
        """Draw new contexts uniformly (D1), and others from the buffer."""
        drawn = contexts.sample_uniform(rng, num)
        if not len(state.score):
            return drawn
        replayed = np.flatnonzero(rng.random(num) < self.p_replay)
        chosen = rng.choice(len(state.score), size=len(replayed), p=self.probabilities(state))
        drawn[replayed] = state.context[chosen]
        return drawn

    def probabilities(self, state: PLRState) -> Array:
        """Return the probability [B] with which each context is the next to be replayed."""
        num = len(state.score)
        rank = np.empty(num)
        rank[np.argsort(-state.score, kind="stable")] = np.arange(1, num + 1)
        by_score = rank ** (-1.0 / self.temperature)
        by_staleness = state.staleness if state.staleness.any() else np.ones(num)
        probabilities: Array = (
            1.0 - self.staleness
        ) * by_score / by_score.sum() + self.staleness * by_staleness / by_staleness.sum()
        return probabilities

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: PLRState,
        episodes: Episodes,
    ) -> tuple[PLRState, Metrics]:
        """Score every episode (D2), and keep the contexts with the highest scores."""
        episodes = contexts.check_episodes(episodes)
        columns = zip(episodes.context, episodes.discounted_return, episodes.value, strict=True)
        for context, discounted_return, value in columns:
            state = self._record(contexts, state, context, float(discounted_return), float(value))
        metrics: Metrics = {"teacher/buffer": len(state.score)}
        if len(state.score):
            metrics["teacher/score"] = float(state.score.mean())
        return state, metrics

    def _record(
        self, contexts: ContextSpace, state: PLRState, context: Array, reached: float, value: float
    ) -> PLRState:
        state = state._replace(staleness=state.staleness + 1)
        place = _find(contexts, state.context, context)
        if place is not None:
            best = max(reached, float(state.best_return[place]))
            return _with_row(state, place, state.context[place], max(0.0, best - value), best)
        score = max(0.0, reached - value)
        if len(state.score) < self.buffer_size:
            return PLRState(
                np.concatenate([state.context, context[None]]),
                np.append(state.score, score),
                np.append(state.best_return, reached),
                np.append(state.staleness, 0.0),
            )
        lowest = int(np.argmin(state.score))
        if score <= state.score[lowest]:
            return state
        return _with_row(state, lowest, context, score, reached)


def _find(contexts: ContextSpace, known: Array, context: Array) -> int | None:
    """Return the row of a context, None if it is new (D3)."""
    if not len(known):
        return None
    distance = cdist(contexts.to_unit(context)[None], contexts.to_unit(known), "chebyshev")[0]
    nearest = int(distance.argmin())
    return nearest if distance[nearest] <= SAME else None


def _with_row(
    state: PLRState, row: int, context: Array, score: float, best_return: float
) -> PLRState:
    """Return the buffer with one row replaced, just played."""
    columns = PLRState(*(column.copy() for column in state))
    for column, value in zip(columns, (context, score, best_return, 0.0), strict=True):
        column[row] = value
    return columns
