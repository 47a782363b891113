"""Mixtures of distributions over contexts, for targets with several modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from selfpaced.distributions.base import Distribution, HasLogDensity
from selfpaced.errors import require
from selfpaced.records import Array

ROUNDING = 1e-6  # by which weights may differ from a sum of one


@final
@dataclass(frozen=True)
class Mixture:
    """A weighted mixture; every sample holds its components in proportion to their weights.

    Args:
        components: distributions of one size.
        weights: share of each component; None gives all the same share.

    Raises:
        SelfpacedError: sizes or numbers differ, or the weights are not shares.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import Gaussian, Mixture
        >>> gates = Mixture(
        ...     (Gaussian.diagonal((3.0, 0.5), (0.01, 0.01)),
        ...      Gaussian.diagonal((-3.0, 0.5), (0.01, 0.01)))
        ... )
        >>> drawn = gates.sample(np.random.default_rng(0), 100)
        >>> int((drawn[:, 0] > 0).sum())
        50
    """

    components: tuple[Distribution, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        sizes = {component.size for component in self.components}
        require(
            len(sizes) == 1,
            f"components must be at least one distribution, all of one size, got {len(sizes)} "
            "different sizes",
        )
        if self.weights is None:
            return
        require(
            len(self.weights) == len(self.components),
            f"weights must be one number for each of {len(self.components)} components, got "
            f"{len(self.weights)}",
        )
        require(
            min(self.weights) >= 0 and abs(sum(self.weights) - 1.0) <= ROUNDING,
            f"weights must be non-negative with sum 1, got {self.weights} with sum "
            f"{sum(self.weights):g}; divide each by their sum",
        )

    @property
    def size(self) -> int:
        """Number of components of a context."""
        return self.components[0].size

    @property
    def shares(self) -> Array:
        """The weights, with a sum of exactly one."""
        num = len(self.components)
        shares = np.full(num, 1.0 / num) if self.weights is None else np.array(self.weights)
        return shares / shares.sum()

    def sample(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] in random order, as many of each component as `split` says."""
        drawn = [component.sample(rng, count) for component, count in self.split(rng, num)]
        shuffled: Array = rng.permutation(np.concatenate(drawn))
        return shuffled

    def split(self, rng: np.random.Generator, num: int) -> list[tuple[Distribution, int]]:
        """Return the components and how many of `num` draws each has.

        Systematic sampling: a component with weight w is drawn num * w times, rounded down or up.
        """
        edges = np.cumsum(self.shares)
        edges[-1] = 1.0
        points = (rng.random() + np.arange(num)) / max(num, 1)
        chosen = np.searchsorted(edges, points, side="right")
        counts = np.bincount(chosen, minlength=len(edges))
        return list(zip(self.components, counts.tolist(), strict=True))

    def log_density(self, contexts: ArrayLike) -> Array:
        """Return the log-densities [N] of contexts [N, C].

        Raises:
            SelfpacedError: a component has no density.
        """
        columns = []
        for component in self.components:
            require(
                isinstance(component, HasLogDensity),
                f"components must have log_density to have one together, got {component!r}",
            )
            assert isinstance(component, HasLogDensity)
            columns.append(component.log_density(contexts))
        with np.errstate(divide="ignore"):  # a weight of zero
            log_shares = np.log(self.shares)
        log_density: Array = logsumexp(np.column_stack(columns) + log_shares, axis=1)
        return log_density
