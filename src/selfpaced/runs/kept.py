"""The best policy of every seed so far, chosen by its evaluations (`keep="best"`).

The highest of many noisy evaluations is too high on average. It only chooses here: results are
those of the chosen policies in fresh episodes after the last iteration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from selfpaced.records import Array

PREFIX = "kept_"  # of the columns about these policies, beside those of the same names


class Kept(NamedTuple):
    """The best policies of the seeds of a block, and the evaluations that chose them."""

    learner: Any  # arrays [S, ...], without past steps
    score: Array  # [S], mean return on the target
    iteration: Array  # [S]


def keep_better(kept: Kept | None, learner: Any, score: Array, iteration: int) -> Kept:
    """Return the better policy of each seed; the later one of two with equal evaluations.

    Args:
        kept: the best before; None if there is none.
        learner: the learners of now, arrays [S, ...].
        score: their mean returns on the target [S].
        iteration: the iterations that they have trained.
    """
    import jax

    learner = jax.tree.map(np.asarray, learner)
    score = np.asarray(score, float)
    now = Kept(learner, score, np.full(len(score), iteration, np.int64))
    if kept is None:
        return now
    is_better = score >= kept.score

    def choose(new: Array, old: Array) -> Array:
        return np.where(is_better.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    chosen: Kept = jax.tree.map(choose, now, kept)
    return chosen


def final_values(evaluations: dict[str, Array], column: str) -> Array:
    """Return a column [S] of the last evaluation: of the kept policies, if there are some."""
    last: Array = evaluations[column][-1]
    kept = evaluations.get(PREFIX + column)
    return last if kept is None else np.where(np.isfinite(kept[-1]), kept[-1], last)
