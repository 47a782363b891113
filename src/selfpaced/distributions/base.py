"""The protocol of distributions over contexts: anything that can be sampled.

`Distribution` is required. `HasLogDensity` is an optional ability, tested for with `isinstance`;
teachers that need a Gaussian ask the context space for one (`ContextSpace.require_gaussian`).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.records import Array


@runtime_checkable
class Distribution(Protocol):
    """Draws contexts."""

    @property
    def size(self) -> int:
        """Number of components."""

    def sample(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C]; they may lie outside the box."""


@runtime_checkable
class HasLogDensity(Distribution, Protocol):
    """A distribution with a density."""

    def log_density(self, contexts: ArrayLike) -> Array:
        """Return the log-densities [N] of contexts [N, C]."""
