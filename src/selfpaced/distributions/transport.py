"""Optimal transport between equally many contexts: the minimum-cost assignment, and W2."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from selfpaced.distributions.potentials import subtract_potentials
from selfpaced.records import Array

LARGE = 200  # destinations from which potentials save more time than they take
FEW_LEFT = 0.2  # share of destinations that may be left over for that


def assign(sources: Array, destinations: Array) -> Array:
    """Return for each source [N, C] the index [N] of its destination [M, C], N <= M.

    The sum of squared distances is the smallest that is possible without sharing a destination.
    """
    num, num_columns = len(sources), len(destinations)
    costs = cdist(sources, destinations, "sqeuclidean")
    if num_columns >= LARGE and num_columns - num <= FEW_LEFT * num_columns:
        square = np.zeros((num_columns, num_columns))  # rows without cost take what is left over
        square[:num] = costs
        subtract_potentials(square)
        costs = square
    _, columns = linear_sum_assignment(costs)
    indices: Array = columns[:num]
    return indices


def wasserstein(left: Array, right: Array) -> float:
    """Return the 2-Wasserstein distance of two sets of equally many contexts [N, C]."""
    moves = left - right[assign(left, right)]
    return float(np.sqrt((moves**2).sum(axis=1).mean()))
