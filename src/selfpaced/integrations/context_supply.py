"""Contexts of a curriculum for several environments, each with a queue of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from selfpaced.integrations.curriculum import AnyCurriculum
from selfpaced.records import Array

BATCH_SIZE = 32  # contexts that an environment gets at a time
RESERVE = 4  # contexts that an environment always has; it can start two before more arrive


@final
class ContextSupply:
    """Decides which contexts every environment gets, and when.

    An environment uses at most one context per step and is looked after at every step, so a small
    reserve is enough for its queue never to run out.

    Args:
        curriculum: where contexts come from.
        num_envs: number of environments.
    """

    def __init__(self, curriculum: AnyCurriculum, num_envs: int) -> None:
        self.curriculum = curriculum
        self._remaining = np.zeros(num_envs, np.int64)
        self._num_updates = -1  # of the curriculum when contexts were drawn

    @property
    def is_outdated(self) -> bool:
        """Whether unused contexts are of an earlier distribution and have to be replaced."""
        return self._num_updates != self.curriculum.num_updates

    def renewed(self) -> list[Array]:
        """Return new contexts [N, C] for every environment, in place of unused ones."""
        num_envs = len(self._remaining)
        drawn = self.curriculum.sample(num_envs * BATCH_SIZE)
        self._remaining[:] = BATCH_SIZE
        self._num_updates = self.curriculum.num_updates
        return list(drawn.reshape(num_envs, BATCH_SIZE, -1))

    def after(self, starting: Iterable[int]) -> dict[int, Array]:
        """Return further contexts, given the environments that start an episode."""
        further = {}
        for index in starting:
            self._remaining[index] -= 1
            if self._remaining[index] < RESERVE:
                self._remaining[index] += BATCH_SIZE
                further[index] = self.curriculum.sample(BATCH_SIZE)
        return further
