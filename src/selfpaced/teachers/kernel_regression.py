"""Nadaraya-Watson regression: outcomes near a context, weighted by a Gaussian kernel."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from selfpaced.records import Array

REACH = 3.0  # bandwidths within which data count
NUM_NEAREST = 10  # that count if there are none within reach
MAX_QUERIES = 4_000  # at once, to bound memory
NUM_PROBES = 50  # queries that tell whether most data are within reach
CROWDED = 0.15  # share of data within reach from which all distances are computed


def regress(queries: Array, contexts: Array, outcomes: Array, bandwidth: float) -> Array:
    """Return estimates [Q] at queries [Q, C] from data [N, C] and [N]."""
    tree = KDTree(contexts)
    parts = [
        _regress(queries[start : start + MAX_QUERIES], tree, outcomes, bandwidth)
        for start in range(0, len(queries), MAX_QUERIES)
    ]
    return np.concatenate([np.zeros(0), *parts])


def _regress(queries: Array, tree: KDTree, outcomes: Array, bandwidth: float) -> Array:
    some = KDTree(queries[:: max(len(queries) // NUM_PROBES, 1)])
    share = some.count_neighbors(tree, REACH * bandwidth) / (some.n * tree.n)
    sums = _sums_of_all if share > CROWDED else _sums_of_pairs
    weighted, total = sums(queries, tree, outcomes, bandwidth)
    alone = np.flatnonzero(total == 0.0)
    estimates: Array = weighted / np.where(total == 0.0, 1.0, total)
    if len(alone):
        estimates[alone] = _of_nearest(queries[alone], tree, outcomes, bandwidth)
    return estimates


def _sums_of_all(
    queries: Array, tree: KDTree, outcomes: Array, bandwidth: float
) -> tuple[Array, Array]:
    squared = cdist(queries, tree.data, "sqeuclidean")
    weights = np.exp(squared * (-0.5 / bandwidth**2))
    weights[squared > (REACH * bandwidth) ** 2] = 0.0
    return weights @ outcomes, weights.sum(axis=1)


def _sums_of_pairs(
    queries: Array, tree: KDTree, outcomes: Array, bandwidth: float
) -> tuple[Array, Array]:
    reach, num = REACH * bandwidth, len(queries)
    pairs = KDTree(queries).sparse_distance_matrix(tree, reach, output_type="ndarray")
    weights = np.exp(-0.5 * (pairs["v"] / bandwidth) ** 2)
    weighted = np.bincount(pairs["i"], weights * outcomes[pairs["j"]], num)
    return weighted, np.bincount(pairs["i"], weights, num)


def _of_nearest(queries: Array, tree: KDTree, outcomes: Array, bandwidth: float) -> Array:
    """Weigh relative to the nearest, so that far queries do not divide zero by zero."""
    num = min(NUM_NEAREST, tree.n)
    found, nearest = tree.query(queries, k=num)
    squared = np.reshape(found, (len(queries), num)) ** 2
    weights = np.exp((squared[:, :1] - squared) / (2.0 * bandwidth**2))
    near: Array = outcomes[np.reshape(nearest, (len(queries), num))]
    estimates: Array = (weights * near).sum(axis=1) / weights.sum(axis=1)
    return estimates
