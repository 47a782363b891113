"""ALP-GMM: sample contexts in which returns change most (Portelas et al., CoRL 2019).

The absolute learning progress (ALP) of an episode is the absolute difference between its return and
the return in the nearest past context. A Gaussian mixture over contexts and ALP shows where it is
high.

Deviations from Portelas et al.; D1 to D3 are those of the experiments of the SPDL paper:
D1  returns and contexts are not rescaled,
D2  the history of past contexts is bounded: the newest `buffer_size`, and up to 500 more,
D3  the first mixture is fitted after `num_rollouts` episodes (100 or 200), not 250,
D4  contexts are drawn before an iteration, so a mixture that falls due within one is used from the
    next on; if several fall due, only the last is fitted, on the same episodes as if it had been
    fitted at once,
D5  the k-means from which the mixtures start share their seeds (see `mixture.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.spatial.distance import cdist

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.mixture import Mixture, best_mixture
from selfpaced.validation import require_positive

MIN_HISTORY = 5  # ALP is zero while the history has no more than this
NUM_FRESH = 500  # episodes that are added to the history before old ones are dropped


class ALPGMMState(NamedTuple):
    """Past contexts and their returns, the rows of the next fit, and the latest mixture."""

    history_context: Array  # [H, C] in order of arrival
    history_return: Array  # [H]
    recent: Array  # [< num_rollouts, C + 1] contexts and ALP since the last fit
    mixture: Mixture  # over contexts and ALP; no components before the first fit
    num_episodes: Array  # []
    num_iterations: Array  # []


@final
@dataclass(frozen=True)
class ALPGMM:
    """Sample contexts in proportion to the absolute learning progress there.

    The target distribution is ignored.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ALPGMM, ContextSpace, Gaussian
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = ALPGMM(p_random=0.2), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.sample(rng, contexts, state, num=8).shape
        (8, 1)
    """

    p_random: float = 0.1
    """share of contexts that are drawn uniformly"""
    num_rollouts: int = 100
    """n_ROLLOUT: episodes from one fit to the next"""
    buffer_size: int = 500
    """s_BUFFER: past contexts against which learning progress is measured"""
    max_components: int = 10
    """mixtures of 2 up to this many components are compared"""

    def __post_init__(self) -> None:
        require(
            0 <= self.p_random <= 1,
            f"p_random must be between 0 and 1, got {self.p_random}; the paper uses 0.1 to 0.3",
        )
        require_positive(self, "num_rollouts", "buffer_size")
        require(
            2 <= self.max_components <= self.num_rollouts,
            f"max_components must be between 2 and num_rollouts ({self.num_rollouts}), "
            f"got {self.max_components}; the default is 10",
        )

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> ALPGMMState:
        """Return an empty history and a mixture without components."""
        num_columns = contexts.size + 1
        return ALPGMMState(
            history_context=np.zeros((0, contexts.size)),
            history_return=np.zeros(0),
            recent=np.zeros((0, num_columns)),
            mixture=Mixture(
                weights=np.zeros(0),
                means=np.zeros((0, num_columns)),
                covariances=np.zeros((0, num_columns, num_columns)),
            ),
            num_episodes=np.zeros((), np.int64),
            num_iterations=np.zeros((), np.int64),
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: ALPGMMState, num: int
    ) -> Array:
        """Draw components in proportion to their mean ALP, then a context from each.

        The share `p_random`, and all contexts before the first fit, are uniform.
        """
        uniform = contexts.sample_uniform(rng, num)
        if not len(state.mixture.weights):
            return uniform
        chosen = _draw_components(rng, state.mixture, num)
        # dropping the last coordinate of a Gaussian leaves the Gaussian of the others
        means, covariances = state.mixture.means[:, :-1], state.mixture.covariances[:, :-1, :-1]
        noise = rng.standard_normal(uniform.shape)
        spread = np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[chosen], noise)
        drawn = contexts.clip(means[chosen] + spread)
        return np.where(rng.random((num, 1)) < self.p_random, uniform, drawn)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: ALPGMMState,
        episodes: Episodes,
    ) -> tuple[ALPGMMState, Metrics]:
        """Measure the learning progress of every episode; fit a mixture when one is due."""
        episodes = contexts.check_episodes(episodes)
        state, progress = self._measure(state, episodes)
        rows = np.concatenate([state.recent, np.column_stack([episodes.context, progress])])  # D1
        num_due = len(rows) // self.num_rollouts  # D3
        if num_due:
            due = rows[(num_due - 1) * self.num_rollouts : num_due * self.num_rollouts]  # D4
            sizes = np.arange(2, self.max_components + 1)
            state = state._replace(mixture=best_mixture(rng, due, sizes))
        state = state._replace(
            recent=rows[num_due * self.num_rollouts :],
            num_iterations=state.num_iterations + 1,
        )
        return state, _metrics(state, progress)

    def advice(
        self, contexts: ContextSpace, state: ALPGMMState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn if the first mixture will not be fitted in time, or if no return ever changes."""
        num_episodes = int(state.num_episodes)
        pace = num_episodes / max(int(state.num_iterations), 1)
        if num_episodes and num_episodes + pace * num_remaining < self.num_rollouts:
            return (
                f"contexts will stay uniform to the end: at {pace:.1f} episodes per iteration "
                f"there will be fewer than the {self.num_rollouts} episodes of the first mixture; "
                "lower num_rollouts, or train longer",
            )
        if len(state.mixture.weights) and not state.mixture.means[:, -1].any():
            return (
                "every return equals that of the nearest context, so there is no learning "
                "progress to follow; check that rewards depend on the actions",
            )
        return ()

    def _measure(self, state: ALPGMMState, episodes: Episodes) -> tuple[ALPGMMState, Array]:
        """Return the history with these episodes, and the ALP of each against those before it."""
        contexts = np.concatenate([state.history_context, episodes.context])
        returns = np.concatenate([state.history_return, episodes.discounted_return])
        num_before = int(state.num_episodes)
        oldest = num_before - len(state.history_return)  # number of the first, counted from zero
        numbers = num_before + np.arange(episodes.num)
        first = self._first_remembered(numbers)
        progress = learning_progress(contexts, returns, first - oldest, numbers - oldest)
        num_episodes = num_before + episodes.num
        keep = int(self._first_remembered(np.array(num_episodes))) - oldest
        state = state._replace(
            history_context=contexts[keep:],
            history_return=returns[keep:],
            num_episodes=np.array(num_episodes, np.int64),
        )
        return state, progress

    def _first_remembered(self, numbers: Array) -> Array:
        """Return the oldest episode to which the episodes with these numbers are compared."""
        num_when_dropped = np.maximum(numbers - 1, 0) // NUM_FRESH * NUM_FRESH  # D2
        first: Array = np.maximum(num_when_dropped - self.buffer_size, 0)
        return first


def learning_progress(contexts: Array, returns: Array, first: Array, last: Array) -> Array:
    """Return the ALP of the episodes at `last`, each against those from `first` to before it."""
    if not len(last):
        return np.zeros(0)
    distance = cdist(contexts[last], contexts, "sqeuclidean")
    others = np.arange(len(contexts))
    distance[(others < first[:, None]) | (others >= last[:, None])] = np.inf
    progress = np.abs(returns[last] - returns[distance.argmin(axis=1)])
    return np.where(last - first > MIN_HISTORY, progress, 0.0)


def _draw_components(rng: np.random.Generator, mixture: Mixture, num: int) -> Array:
    """Draw components in proportion to their mean ALP, independently of their weights."""
    mean_progress = np.maximum(mixture.means[:, -1], 0.0)
    if not mean_progress.any():
        return rng.integers(len(mean_progress), size=num)
    return rng.choice(len(mean_progress), size=num, p=mean_progress / mean_progress.sum())


def _metrics(state: ALPGMMState, progress: Array) -> Metrics:
    metrics: Metrics = {
        "teacher/components": len(state.mixture.weights),
        "teacher/history": len(state.history_return),
    }
    if len(progress):
        metrics["teacher/learning_progress"] = float(progress.mean())
    return metrics
