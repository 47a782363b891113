"""What a teacher takes as the outcome of an episode, the threshold that counts as good, and chunks.

Without a given threshold, outcomes of "success" must reach a half, and returns the threshold of
pacing by mastery: the middle between the returns of poor and of good episodes so far.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from selfpaced.records import Array, Episodes
from selfpaced.teachers.mastery import MasteryMemory

Signal = Literal["return", "success"]
HALF = 0.5  # of the episodes have to succeed


def outcome_of(episodes: Episodes, signal: Signal) -> Array:
    """Return the outcomes [E]: discounted returns, or 1 for success and 0 for failure."""
    column = episodes.discounted_return if signal == "return" else episodes.success
    return np.asarray(column, np.float64)


def threshold_of(given: float | None, signal: Signal, memory: MasteryMemory) -> float:
    """Return the outcome that counts as good."""
    if given is not None:
        return given
    return memory.threshold if signal == "return" else HALF


class Outcomes(NamedTuple):
    """Episodes as pairs of context and outcome, in order of arrival."""

    context: Array  # [N, C]
    outcome: Array  # [N]

    @classmethod
    def empty(cls, size: int) -> Outcomes:
        """Return no episodes, of contexts with this many components."""
        return cls(np.zeros((0, size)), np.zeros(0))

    @property
    def num(self) -> int:
        """Number of episodes."""
        return len(self.outcome)

    def followed_by(self, later: Outcomes) -> Outcomes:
        """Return these episodes and later ones."""
        return Outcomes(
            np.concatenate([self.context, later.context]),
            np.concatenate([self.outcome, later.outcome]),
        )

    def at(self, which: Array | slice) -> Outcomes:
        """Return some of the episodes."""
        return Outcomes(self.context[which], self.outcome[which])

    def chunks(self, size: int) -> tuple[list[Outcomes], Outcomes]:
        """Return complete chunks of `size` episodes, and the rest."""
        complete = self.num // size * size
        starts = range(0, complete, size)
        return [self.at(slice(start, start + size)) for start in starts], self.at(
            slice(complete, None)
        )
