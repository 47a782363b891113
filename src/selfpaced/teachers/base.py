"""What a teacher is: it samples contexts, and learns from the episodes that ended in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.overriding import defined_last
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


@runtime_checkable
class Remembers(Protocol):
    """A teacher that uses episodes again after later updates of the learner."""

    def remembered(self, state: State) -> Array:
        """First observations [M, O] of these episodes."""

    def revalued(self, state: State, values: Array) -> State:
        """The same with the values [M] that the learner finds for them now."""


def update_block(
    teacher: Teacher,
    rngs: Sequence[np.random.Generator],
    states: Sequence[State],
    episodes: Sequence[Episodes],
) -> list[tuple[State, Metrics]]:
    """Update the states of several seeds: all at once where the teacher can, else one by one."""
    if defined_last(type(teacher), "update_block", "update") == "update_block":
        return teacher.update_block(rngs, states, episodes)  # type: ignore[attr-defined]
    return [teacher.update(*each) for each in zip(rngs, states, episodes, strict=True)]
