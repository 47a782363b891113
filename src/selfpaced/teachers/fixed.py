"""The two teachers that never learn: Default (the target) and Random (the whole box)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.records import Array, Episodes, Metrics


class FixedState(NamedTuple):
    """What the contexts are drawn from."""

    mean: Array
    cholesky: Array
    lower: Array
    upper: Array


@dataclass(frozen=True)
class Fixed:
    """A teacher whose distribution stays as it was in the beginning."""

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> FixedState:
        """Remember target and box."""
        target = contexts.target
        box = (np.array(contexts.lower), np.array(contexts.upper))
        return FixedState(target.mean, target.cholesky, *box)

    def update(
        self, rng: np.random.Generator, state: FixedState, episodes: Episodes
    ) -> tuple[FixedState, Metrics]:
        """Episodes change nothing."""
        return state, {}

    def advice(self, state: FixedState, num_remaining: int) -> tuple[str, ...]:
        """Nothing can go wrong."""
        return ()


@dataclass(frozen=True)
class Default(Fixed):
    """No curriculum: contexts come from the target distribution."""

    def sample(self, rng: np.random.Generator, state: FixedState, num: int) -> Array:
        """Draw from the target, clipped to the box."""
        return np.clip(self.distribution(state).sample(rng, num), state.lower, state.upper)

    def distribution(self, state: FixedState) -> Gaussian:
        """The target."""
        return Gaussian(state.mean, state.cholesky)


@dataclass(frozen=True)
class Random(Fixed):
    """Contexts come uniformly from the box."""

    def sample(self, rng: np.random.Generator, state: FixedState, num: int) -> Array:
        """Draw uniformly."""
        return rng.uniform(state.lower, state.upper, (num, len(state.lower)))

    def distribution(self, state: FixedState) -> None:
        """Not a Gaussian."""
