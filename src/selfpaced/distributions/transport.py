"""Optimal transport between equally many contexts: the minimum-cost assignment, and W2."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from selfpaced.records import Array


def assign(sources: Array, destinations: Array) -> Array:
    """Return for each source [N, C] the index [N] of its destination [M, C], N <= M.

    The sum of squared distances is the smallest that is possible without sharing a destination.
    """
    _, columns = linear_sum_assignment(cdist(sources, destinations, "sqeuclidean"))
    indices: Array = columns
    return indices


def wasserstein(left: Array, right: Array) -> float:
    """Return the 2-Wasserstein distance of two sets of equally many contexts [N, C]."""
    moves = left - right[assign(left, right)]
    return float(np.sqrt((moves**2).sum(axis=1).mean()))
