"""Nadaraya-Watson regression: outcomes near a context, weighted by a Gaussian kernel."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from selfpaced.records import Array

REACH = 3.0  # bandwidths within which data count
NUM_NEAREST = 10  # that count if there are none within reach
MAX_PAIRS = 2_000_000  # evaluated at once, to bound memory


def regress(queries: Array, contexts: Array, outcomes: Array, bandwidth: float) -> Array:
    """Return estimates [Q] at queries [Q, C] from data [N, C] and [N]."""
    num_rows = max(MAX_PAIRS // max(len(contexts), 1), 1)
    parts = [
        _regress(queries[start : start + num_rows], contexts, outcomes, bandwidth)
        for start in range(0, len(queries), num_rows)
    ]
    return np.concatenate([np.zeros(0), *parts])


def _regress(queries: Array, contexts: Array, outcomes: Array, bandwidth: float) -> Array:
    squared = cdist(queries, contexts, "sqeuclidean")
    nearest = squared.min(axis=1)
    limit = np.maximum((REACH * bandwidth) ** 2, nearest)
    alone = np.flatnonzero(nearest > (REACH * bandwidth) ** 2)
    if len(alone) and squared.shape[1] > NUM_NEAREST:
        limit[alone] = np.partition(squared[alone], NUM_NEAREST - 1, axis=1)[:, NUM_NEAREST - 1]
    elif len(alone):
        limit[alone] = np.inf
    # relative to the nearest, so that far queries do not divide zero by zero
    exponent = (nearest[:, None] - squared) / (2.0 * bandwidth**2)
    weights = np.where(squared <= limit[:, None], np.exp(exponent), 0.0)
    estimates: Array = weights @ outcomes / weights.sum(axis=1)
    return estimates
