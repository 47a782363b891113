"""Recorded contexts as a distribution: what a robot has met in the field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from selfpaced.errors import require
from selfpaced.records import Array


@final
@dataclass(frozen=True, eq=False)
class Samples:
    """Recorded contexts, each drawn equally often.

    Args:
        contexts: an array [N, C] of at least one context.

    Raises:
        SelfpacedError: the array has another shape, or an entry is not finite.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import Samples
        >>> met = Samples(np.array([[0.2, 1.0], [0.4, 1.5], [0.3, 0.9]]))
        >>> sorted(met.sample(np.random.default_rng(0), 3)[:, 0].tolist())
        [0.2, 0.3, 0.4]
    """

    contexts: Array  # [N, C]

    def __post_init__(self) -> None:
        contexts = np.array(self.contexts, np.float64)
        require(
            contexts.ndim == 2 and contexts.size > 0,
            f"contexts must be an array [N, C] with at least one row, got shape {contexts.shape}",
        )
        bad = np.flatnonzero(~np.isfinite(contexts).all(axis=1))
        require(
            not len(bad),
            f"contexts must be finite, got {len(bad)} of {len(contexts)} that are not, first in "
            f"row {bad[0] if len(bad) else 0}; drop these rows",
        )
        object.__setattr__(self, "contexts", contexts)

    @property
    def size(self) -> int:
        """Number of components."""
        return self.contexts.shape[1]

    def sample(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] in random order, no context twice before all were drawn."""
        total = len(self.contexts)
        rounds = [rng.permutation(total) for _ in range(-(-num // total))]
        rows = np.concatenate([np.zeros(0, np.int64), *rounds])[:num]
        return self.contexts[rows]
