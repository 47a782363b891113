"""What a teacher is: it samples contexts, and learns from the episodes that ended in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.records import Array, Episodes, Metrics

State = Any


class Teacher(Protocol):
    """A frozen dataclass of hyper-parameters; its state is a NamedTuple of NumPy arrays."""

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> State:
        """Begin, before anything has been learned."""

    def sample(self, rng: np.random.Generator, state: State, num: int) -> Array:
        """Draw the contexts [num, C] of the next episodes, in order; changes nothing."""

    def update(
        self, rng: np.random.Generator, state: State, episodes: Episodes
    ) -> tuple[State, Metrics]:
        """Take notice of the episodes that ended since the last call; once per iteration."""

    # A teacher may also have `update_block(rngs, states, episodes)` for several seeds at once.

    def distribution(self, state: State) -> Gaussian | None:
        """What contexts are drawn from at present, where that is a Gaussian."""

    def advice(self, state: State, num_remaining: int) -> tuple[str, ...]:
        """What the user should know now, given how many updates are still to come."""


def update_block(
    teacher: Teacher,
    rngs: Sequence[np.random.Generator],
    states: Sequence[State],
    episodes: Sequence[Episodes],
) -> list[tuple[State, Metrics]]:
    """Update the states of several seeds: all at once where the teacher can, else one by one."""
    if hasattr(teacher, "update_block"):
        return teacher.update_block(rngs, states, episodes)
    return [teacher.update(*each) for each in zip(rngs, states, episodes, strict=True)]
