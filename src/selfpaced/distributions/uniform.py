"""Uniform distributions over a box of contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from selfpaced.errors import require
from selfpaced.records import Array


@final
@dataclass(frozen=True)
class Uniform:
    """Uniform between bounds; a component with equal bounds is constant.

    Args:
        lower: lower bound of every component.
        upper: upper bound of every component.

    Raises:
        SelfpacedError: bounds are not finite, not in order, or equal in every component.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import Uniform
        >>> goals = Uniform(lower=(-9.0, -9.0, 0.05), upper=(9.0, 9.0, 0.05))
        >>> goals.sample(np.random.default_rng(0), 2)[:, 2].tolist()
        [0.05, 0.05]
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        lower, upper = np.array(self.lower, float), np.array(self.upper, float)
        require(
            lower.shape == upper.shape and lower.ndim == 1 and lower.size > 0,
            f"lower and upper must be of one length, at least 1, got {lower.size} and {upper.size}",
        )
        require(
            bool(np.isfinite(upper - lower).all() and (lower <= upper).all()),
            f"bounds must be finite with lower <= upper, got {self.lower} and {self.upper}",
        )
        require(
            bool((lower < upper).any()),
            f"a box must have a width in at least one component, got {self.lower}; give a single "
            "context as Samples",
        )

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.lower)

    def sample(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C]."""
        return rng.uniform(self.lower, self.upper, (num, self.size))
