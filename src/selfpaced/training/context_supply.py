"""Contexts for the episodes of an iteration, in order: drawn beforehand, and more should they end.

How many episodes there will be is only known afterwards. The problem says how short they can be,
but a simulation that breaks down ends earlier than any episode should.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from selfpaced.records import Array


class Batch(NamedTuple):
    """Contexts [K, C] of one seed, and the seeds [K] with which their episodes begin."""

    contexts: Array
    reset_seeds: Array


class ContextSupply:
    """Hands out contexts seed by seed; none of them twice."""

    def __init__(self, batches: list[Batch], draw_more: Callable[[int], Batch]) -> None:
        self._batches = batches
        self._draw_more = draw_more  # for the seed with this index
        self._num_taken = np.zeros(len(batches), int)

    def take(self, index: int) -> tuple[Array, int]:
        """The context of the next episode of a seed, and the seed of its own."""
        if self._num_taken[index] == len(self._batches[index].contexts):
            self._batches[index], self._num_taken[index] = self._draw_more(index), 0
        batch, place = self._batches[index], self._num_taken[index]
        self._num_taken[index] += 1
        return batch.contexts[place], int(batch.reset_seeds[place])
