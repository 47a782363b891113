"""Independent groups of context components, each with a distribution of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.distributions.base import Distribution, HasLogDensity
from selfpaced.errors import require
from selfpaced.records import Array


@final
@dataclass(frozen=True)
class Product:
    """Independent distributions side by side: the first components, the next ones, and so on.

    Args:
        parts: at least one distribution.

    Raises:
        SelfpacedError: there is no part.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import Gaussian, Product, Uniform
        >>> mass, wind = Gaussian.diagonal((1.0,), (0.1,)), Uniform((0.0, 0.0), (20.0, 2.0))
        >>> Product((mass, wind)).sample(np.random.default_rng(0), 4).shape
        (4, 3)
    """

    parts: tuple[Distribution, ...]

    def __post_init__(self) -> None:
        require(len(self.parts) > 0, "parts must be at least one distribution, got none")

    @property
    def size(self) -> int:
        """Number of components."""
        return sum(part.size for part in self.parts)

    def sample(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C]."""
        return np.concatenate([part.sample(rng, num) for part in self.parts], axis=1)

    def log_density(self, contexts: ArrayLike) -> Array:
        """Return the log-densities [N] of contexts [N, C].

        Raises:
            SelfpacedError: a part has no density.
        """
        columns = np.atleast_2d(np.asarray(contexts, np.float64))
        edges = np.cumsum([part.size for part in self.parts])[:-1]
        total = np.zeros(len(columns))
        for part, own in zip(self.parts, np.split(columns, edges, axis=1), strict=True):
            require(
                isinstance(part, HasLogDensity),
                f"parts must have log_density to have one together, got {part!r}",
            )
            assert isinstance(part, HasLogDensity)
            total += part.log_density(own)
        return total
