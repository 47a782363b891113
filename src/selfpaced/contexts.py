"""Context spaces and Gaussian distributions over contexts (SPDL paper, Section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dtrtrs

from selfpaced.errors import SelfpacedError
from selfpaced.records import Array, Episodes


@final
@dataclass(frozen=True, eq=False)
class Gaussian:
    """A full-covariance Gaussian over contexts, in float64.

    Args:
        mean: the mean [C].
        cholesky: the Cholesky factor [C, C] of the covariance.

    Raises:
        SelfpacedError: the shapes differ, an entry is not finite, or `cholesky` is not lower
            triangular with a positive diagonal.

    Example:
        >>> from selfpaced import Gaussian
        >>> easy = Gaussian.diagonal(mean=(0.0, 4.25), std=(2.0, 1.875))
        >>> easy.kl(easy)
        0.0
    """

    mean: Array  # [C]
    cholesky: Array  # [C, C], lower triangular with positive diagonal

    def __post_init__(self) -> None:
        mean = np.array(self.mean, np.float64)
        cholesky = np.array(self.cholesky, np.float64)
        if mean.ndim != 1 or cholesky.shape != (mean.size, mean.size):
            raise SelfpacedError(
                "mean and cholesky must be arrays [C] and [C, C], "
                f"got shapes {mean.shape} and {cholesky.shape}"
            )
        if not math.isfinite(mean.sum() + cholesky.sum()):
            raise SelfpacedError(
                f"mean and cholesky must be finite, got {mean.tolist()} and {cholesky.tolist()}"
            )
        if cholesky[_above(mean.size)].any() or cholesky.diagonal().min() <= 0:
            raise SelfpacedError(
                "cholesky must be lower triangular with a positive diagonal, "
                f"got {cholesky.tolist()}; numpy.linalg.cholesky(covariance) returns such a factor"
            )
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "cholesky", cholesky)

    @classmethod
    def diagonal(cls, mean: ArrayLike, std: ArrayLike) -> Gaussian:
        """Return a Gaussian of independent components with these standard deviations."""
        return cls(np.asarray(mean, np.float64), np.diag(np.asarray(std, np.float64)))

    @property
    def size(self) -> int:
        """Number of components."""
        return self.mean.size

    @cached_property
    def std(self) -> Array:
        """Marginal standard deviations."""
        std: Array = np.sqrt((self.cholesky**2).sum(axis=1))
        return std

    @property
    def covariance(self) -> Array:
        """The covariance matrix."""
        return self.cholesky @ self.cholesky.T

    def sample(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C]; clip them to their box before use, as in the paper."""
        return self.mean + rng.standard_normal((num, self.size)) @ self.cholesky.T

    def log_density(self, contexts: ArrayLike) -> Array:
        """Return the log-densities [N] of contexts [N, C] under the unclipped Gaussian."""
        white = self._whiten(np.atleast_2d(contexts))
        log_determinant = np.log(self.cholesky.diagonal()).sum()
        constant = 0.5 * self.size * np.log(2 * np.pi)
        log_density: Array = -0.5 * (white**2).sum(axis=1) - log_determinant - constant
        return log_density

    def kl(self, other: Gaussian) -> float:
        """Return KL(self ‖ other) in closed form."""
        spread = _solve(other.cholesky, self.cholesky)
        shift = _solve(other.cholesky, self.mean - other.mean)
        # log det and trace as one sum per component, so that equal Gaussians give exactly zero
        ratio = spread.diagonal()
        below = spread[_above(self.size)[::-1]]
        terms = ratio**2 - 1.0 - 2.0 * np.log(ratio)
        return float(0.5 * (terms.sum() + below @ below + shift @ shift))

    def _whiten(self, contexts: Array) -> Array:
        white = _solve(self.cholesky, (contexts - self.mean).T)
        return white.T


@final
@dataclass(frozen=True)
class ContextSpace:
    """A box of contexts with named components, an initial and a target distribution.

    Args:
        names: one name per component.
        lower: lower bound of every component.
        upper: upper bound of every component.
        initial: contexts to start from, usually easy ones.
        target: contexts that the policy has to master in the end.
        units: one unit per component for figures, as ("m", ""); empty means none is known.

    Raises:
        SelfpacedError: the sizes differ, or a lower bound is not below its upper bound.

    Example:
        >>> from selfpaced import ContextSpace, Gaussian
        >>> contexts = ContextSpace(
        ...     names=("gate_position", "gate_width"),
        ...     lower=(-4.0, 0.5),
        ...     upper=(4.0, 8.0),
        ...     initial=Gaussian.diagonal((0.0, 4.25), (2.0, 1.875)),
        ...     target=Gaussian.diagonal((2.5, 0.5), (0.004, 0.00375)),
        ... )
        >>> contexts.clip([5.0, 1.0]).tolist()
        [4.0, 1.0]
    """

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    initial: Gaussian
    target: Gaussian
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names or not len(self.names) == len(self.lower) == len(self.upper):
            raise SelfpacedError(
                "names, lower and upper must be of one length, at least 1, got "
                f"{len(self.names)} names, {len(self.lower)} lower and {len(self.upper)} upper "
                "bounds"
            )
        for name, low, high in zip(self.names, self.lower, self.upper, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise SelfpacedError(
                    f"bounds of context component {name!r} must be finite with lower < upper, "
                    f"got [{low}, {high}]"
                )
        if self.units and len(self.units) != self.size:
            raise SelfpacedError(
                f"units must be one per component ({', '.join(self.names)}), got "
                f'{len(self.units)}; give "" to a component without one'
            )
        for role, gaussian in (("initial", self.initial), ("target", self.target)):
            if gaussian.size != self.size:
                raise SelfpacedError(
                    f"{role} must be a Gaussian over {self.size} components "
                    f"({', '.join(self.names)}), got {gaussian.size}"
                )

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components in words, with their units if they are known."""
        units = self.units or ("",) * self.size
        words = [name.replace("_", " ") for name in self.names]
        pairs = zip(words, units, strict=True)
        return tuple(f"{name} [{unit}]" if unit else name for name, unit in pairs)

    @cached_property
    def box(self) -> Array:
        """Lower and upper bounds, [2, C]."""
        return np.array([self.lower, self.upper], np.float64)

    def clip(self, contexts: ArrayLike) -> Array:
        """Move every component outside the box to the nearest bound."""
        return np.clip(np.asarray(contexts, np.float64), *self.box)

    def contains(self, contexts: ArrayLike) -> Array:
        """Return whether each context lies in the box.

        Bounds belong to it, also after rounding to single precision.
        """
        lower, upper = self._rounded_box
        array = np.asarray(contexts, np.float64)
        inside: Array = np.all((array >= lower) & (array <= upper), axis=-1)
        return inside

    def sample_target(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] from the target, clipped to the box (no rejection)."""
        return self.clip(self.target.sample(rng, num))

    def sample_uniform(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] uniformly from the box."""
        lower, upper = self.box
        return rng.uniform(lower, upper, (num, self.size))

    def check(self, context: ArrayLike) -> Array:
        """Return one context as an array inside the box.

        Raises:
            SelfpacedError: it is of another size, or a component lies outside the box.
        """
        expected = f"context must be {self.size} numbers ({', '.join(self.names)})"
        try:
            array = np.asarray(context, np.float64)
        except (TypeError, ValueError):
            raise SelfpacedError(f"{expected}, got {context!r}") from None
        if array.shape != (self.size,):
            raise SelfpacedError(f"{expected}, got an array of shape {array.shape}")
        for name, value, low, high in zip(self.names, array, *self._rounded_box, strict=True):
            if not low <= value <= high:
                raise SelfpacedError(
                    f"context component {name!r} must lie in [{low:g}, {high:g}], got {value:.9g}; "
                    "ContextSpace.clip moves it to the nearest bound"
                )
        return self.clip(array)

    def check_episodes(self, episodes: Episodes, stays_in_box: bool = True) -> Episodes:
        """Return episodes as NumPy arrays; a teacher calls this first in its update.

        Raises:
            SelfpacedError: a column has the wrong shape, a number is not finite, a context lies
                outside the box (unless `stays_in_box` is false), or a length is not positive.
        """
        return episodes.checked(self.names, self._rounded_box if stays_in_box else None)

    @cached_property
    def _rounded_box(self) -> Array:
        """The box, widened where rounding a bound to single precision moves it outwards."""
        (lower, upper), rounded = self.box, self.box.astype(np.float32).astype(np.float64)
        return np.array([np.minimum(lower, rounded[0]), np.maximum(upper, rounded[1])])


def _solve(cholesky: Array, right: Array) -> Array:
    """Solve a lower triangular system in LAPACK; SciPy's checks take ten times as long."""
    solution: Array
    solution, _ = dtrtrs(cholesky, right, lower=1)
    return solution


@lru_cache
def _above(size: int) -> tuple[Array, Array]:
    """Return rows and columns above the diagonal."""
    return np.triu_indices(size, 1)
