"""The latest episodes of a teacher that uses episodes again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from selfpaced.records import Array, Episodes


class EpisodeWindow(NamedTuple):
    """Contexts, first observations and values of the latest episodes, oldest first."""

    context: Array  # [N, C]
    observation: Array  # [N, O]
    value: Array  # [N]

    @classmethod
    def empty(cls, size: int) -> EpisodeWindow:
        """Return a window without episodes, for contexts of this many components."""
        observation = np.zeros((0, 0), np.float32)  # their size is not known yet
        return cls(np.zeros((0, size)), observation, np.zeros(0))

    def after(self, episodes: Episodes, values: Array, length: int | None) -> EpisodeWindow:
        """Return the window with new episodes, and the latest `length` in all; None keeps all."""
        if not episodes.num:
            return self
        observation = np.asarray(episodes.first_observation, np.float32)
        if len(self.value):
            observation = np.concatenate([self.observation, observation])
        last = slice(None if length is None else -length, None)
        return EpisodeWindow(
            np.concatenate([self.context, episodes.context])[last],
            observation[last],
            np.concatenate([self.value, values])[last],
        )

    def cleared(self) -> EpisodeWindow:
        """Return the window without its episodes."""
        return EpisodeWindow(*(column[:0] for column in self))
