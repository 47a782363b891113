"""Contexts: a named box of them, and Gaussian distributions over them (paper, Section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dtrtrs

from selfpaced.errors import SelfpacedError
from selfpaced.records import Array


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A full-covariance Gaussian over contexts: mean and lower Cholesky factor, in float64."""

    mean: Array  # [C]
    cholesky: Array  # [C, C], lower triangular with positive diagonal

    def __post_init__(self) -> None:
        mean = np.array(self.mean, np.float64)
        cholesky = np.array(self.cholesky, np.float64)
        if mean.ndim != 1 or cholesky.shape != (mean.size, mean.size):
            raise SelfpacedError(
                "a Gaussian wants a mean [C] and a Cholesky factor [C, C], "
                f"got shapes {mean.shape} and {cholesky.shape}"
            )
        if not math.isfinite(mean.sum() + cholesky.sum()):
            raise SelfpacedError("mean and Cholesky factor of a Gaussian must be finite")
        if cholesky[_above(mean.size)].any() or cholesky.diagonal().min() <= 0:
            raise SelfpacedError(
                "the Cholesky factor must be lower triangular with a positive diagonal, "
                f"got {cholesky.tolist()}"
            )
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "cholesky", cholesky)

    @classmethod
    def diagonal(cls, mean: ArrayLike, std: ArrayLike) -> Gaussian:
        """Independent components with the given standard deviations."""
        return cls(np.asarray(mean, np.float64), np.diag(np.asarray(std, np.float64)))

    @property
    def size(self) -> int:
        """Number of components."""
        return self.mean.size

    @cached_property
    def std(self) -> Array:
        """Marginal standard deviations."""
        return np.sqrt((self.cholesky**2).sum(axis=1))

    @property
    def covariance(self) -> Array:
        """The covariance matrix."""
        return self.cholesky @ self.cholesky.T

    def sample(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C]; clip them to their box before use, as the paper does."""
        return self.mean + rng.standard_normal((num, self.size)) @ self.cholesky.T

    def log_density(self, contexts: ArrayLike) -> Array:
        """Log-density of the unclipped Gaussian."""
        white = self._whiten(np.atleast_2d(contexts))
        log_determinant = np.log(self.cholesky.diagonal()).sum()
        constant = 0.5 * self.size * np.log(2 * np.pi)
        return -0.5 * (white**2).sum(axis=1) - log_determinant - constant

    def kl(self, other: Gaussian) -> float:
        """KL(self ‖ other) in closed form."""
        spread = _solve(other.cholesky, self.cholesky)
        shift = _solve(other.cholesky, self.mean - other.mean)
        # log det and trace as one sum per component, so that equal Gaussians give exactly zero
        ratio = spread.diagonal()
        below = spread[_above(self.size)[::-1]]
        terms = ratio**2 - 1.0 - 2.0 * np.log(ratio)
        return float(0.5 * (terms.sum() + below @ below + shift @ shift))

    def _whiten(self, contexts: Array) -> Array:
        return _solve(self.cholesky, (contexts - self.mean).T).T


@dataclass(frozen=True)
class ContextSpace:
    """A box of contexts whose components have names; where to begin, and where to arrive."""

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    initial: Gaussian
    target: Gaussian

    def __post_init__(self) -> None:
        if not self.names or not len(self.names) == len(self.lower) == len(self.upper):
            raise SelfpacedError(
                "a context space wants one name, one lower and one upper bound per component, got "
                f"{len(self.names)} names, {len(self.lower)} lower, {len(self.upper)} upper bounds"
            )
        for name, low, high in zip(self.names, self.lower, self.upper, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise SelfpacedError(
                    f"context component {name!r} wants finite bounds with lower < upper, "
                    f"got [{low}, {high}]"
                )
        for role in ("initial", "target"):
            size = getattr(self, role).size
            if size != self.size:
                raise SelfpacedError(
                    f"the {role} distribution wants {self.size} components "
                    f"({', '.join(self.names)}), got {size}"
                )

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.names)

    @cached_property
    def box(self) -> Array:
        """Lower and upper bounds, [2, C]."""
        return np.array([self.lower, self.upper], np.float64)

    def clip(self, contexts: ArrayLike) -> Array:
        """Move every component that left the box to the nearest bound."""
        return np.clip(np.asarray(contexts, np.float64), *self.box)

    @cached_property
    def _rounded_box(self) -> Array:
        """The box with bounds that have been through single precision, should that widen it."""
        (lower, upper), rounded = self.box, self.box.astype(np.float32).astype(np.float64)
        return np.array([np.minimum(lower, rounded[0]), np.maximum(upper, rounded[1])])

    def contains(self, contexts: ArrayLike) -> Array:
        """Whether each context lies in the box, bounds included, also in single precision."""
        lower, upper = self._rounded_box
        array = np.asarray(contexts, np.float64)
        return np.all((array >= lower) & (array <= upper), axis=-1)

    def sample_target(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts that matter, clipped to the box (no rejection)."""
        return self.clip(self.target.sample(rng, num))

    def check(self, context: ArrayLike) -> Array:
        """Return one context as an array inside the box, or say what is wrong with it."""
        wanted = f"a context wants {self.size} numbers ({', '.join(self.names)})"
        try:
            array = np.asarray(context, np.float64)
        except (TypeError, ValueError):
            raise SelfpacedError(f"{wanted}, got {context!r}") from None
        if array.shape != (self.size,):
            raise SelfpacedError(f"{wanted}, got an array of shape {array.shape}")
        for name, value, low, high in zip(self.names, array, *self._rounded_box, strict=True):
            if not low <= value <= high:
                raise SelfpacedError(
                    f"context component {name!r} must lie in [{low:g}, {high:g}], got {value:.9g} "
                    "(clip it with ContextSpace.clip if that is what you want)"
                )
        return self.clip(array)


def _solve(cholesky: Array, right: Array) -> Array:
    """Solve a lower triangular system; LAPACK at once, SciPy's checks cost ten times as much."""
    solution, _ = dtrtrs(cholesky, right, lower=1)
    return solution


@lru_cache
def _above(size: int) -> tuple[Array, Array]:
    """Rows and columns above the diagonal."""
    return np.triu_indices(size, 1)
