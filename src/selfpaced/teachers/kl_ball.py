"""Coordinates in which the KL between two Gaussians is half a squared length.

The unknowns X [C, C + 1] are a triangular matrix and a column. The KL is the sum of ½ x² over their
entries, but of ½ (b² - 1) - log b on the diagonal. With u = x, and u = ± sqrt(b² - 1 - 2 log b) on
the diagonal, it is ½ ‖u‖².
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # loads its parts on first use

from selfpaced.records import Array

SMALL = 1e-6  # u below which b has its linear expansion


class Ball(NamedTuple):
    """A trust region, with bounds on the first C coordinates."""

    radius: float
    low: Array  # [C]
    high: Array  # [C]

    def project(self, u: Array) -> Array:
        """Return the nearest point."""
        clipped = self._clip(u, 1.0)
        if clipped @ clipped <= self.radius**2:
            return clipped
        radial: Array = u * (self.radius / np.sqrt(u @ u))
        first = radial[: len(self.low)]
        if (first >= self.low).all() and (first <= self.high).all():
            return radial
        return self._clip(u, scipy.optimize.brentq(self._excess, 0.0, 1.0, args=(u,), xtol=1e-10))

    def _clip(self, u: Array, share: float) -> Array:
        clipped, size = share * u, len(self.low)
        np.clip(clipped[:size], self.low, self.high, out=clipped[:size])
        return clipped

    def _excess(self, share: float, u: Array) -> float:
        clipped = self._clip(u, share)
        return float(clipped @ clipped) - self.radius**2


def pack(matrix: Array, is_diagonal: bool) -> Array:
    """Return the diagonal, the last column, and the other entries of [C, C + 1] in one row."""
    size = len(matrix)
    below = [] if is_diagonal else [matrix[_below(size)]]
    return np.concatenate([matrix.diagonal(), matrix[:, size], *below])


def unpack(u: Array, size: int, is_diagonal: bool) -> tuple[Array, Array]:
    """Return the unknowns [C, C + 1], and the derivative of their diagonal."""
    diagonal, slope = diagonal_of(u[:size])
    matrix = np.zeros((size, size + 1))
    add_diagonal(matrix, diagonal)
    matrix[:, size] = u[size : 2 * size]
    if not is_diagonal:
        matrix[_below(size)] = u[2 * size :]
    return matrix, slope


def coordinate_of(b: Array) -> Array:
    """Return u = ± sqrt(b² - 1 - 2 log b)."""
    log_b = np.log(b)
    series = 2.0 * log_b**2 * (1.0 + log_b / 1.5 + log_b**2 / 3.0 + log_b**3 / 7.5)
    square = np.where(np.abs(log_b) < 1e-3, series, np.expm1(2.0 * log_b) - 2.0 * log_b)
    u: Array = np.sign(log_b) * np.sqrt(square)
    return u


def diagonal_of(u: Array) -> tuple[Array, Array]:
    """Return b of u = ± sqrt(b² - 1 - 2 log b), and its derivative; by Newton's method in log b."""
    is_small, half = np.abs(u) < SMALL, 0.5 * u**2
    series = u / np.sqrt(2.0) - u**2 / 6.0 + u**3 / np.sqrt(648.0)
    far = np.where(u > 0, np.log(np.maximum(u, 1.0)), -half - 0.5)
    log_b = np.where(np.abs(u) < 1.0, series, far)
    for _ in range(10):
        slope = np.where(is_small, 1.0, np.expm1(2.0 * log_b))
        change = np.where(is_small, 0.0, (0.5 * slope - log_b - half) / slope)
        log_b = log_b - change
        if np.abs(change).max() < 1e-13:
            break
    b = np.exp(log_b)
    derivative = np.where(is_small, np.sqrt(0.5), u / np.where(is_small, 1.0, b - 1.0 / b))
    return b, derivative


def add_diagonal(matrix: Array, diagonal: Array) -> None:
    """Add to the diagonal, in place."""
    index = np.arange(len(matrix))
    matrix[index, index] += diagonal


@lru_cache
def _below(size: int) -> tuple[Array, Array]:
    """Return rows and columns below the diagonal."""
    return np.tril_indices(size, -1)
