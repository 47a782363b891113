"""Gaussian distributions over contexts (SPDL paper, Section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dtrtrs

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array


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

    Examples:
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
        means, stds = np.asarray(mean, np.float64), np.asarray(std, np.float64)
        require(
            means.ndim == 1 and stds.shape == means.shape,
            f"mean and std must be lists of the same length, got {mean!r} and {std!r}",
        )
        require(bool((stds > 0).all()), f"std must be positive, got {stds.tolist()}")
        return cls(means, np.diag(stds))

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


def _solve(cholesky: Array, right: Array) -> Array:
    """Solve a lower triangular system in LAPACK; SciPy's checks take ten times as long."""
    solution: Array
    solution, _ = dtrtrs(cholesky, right, lower=1)
    return solution


@lru_cache
def _above(size: int) -> tuple[Array, Array]:
    """Return rows and columns above the diagonal."""
    return np.triu_indices(size, 1)
