"""Ridge regression on contexts: an outcome as a linear function, from any number of episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from selfpaced.contexts import Gaussian
from selfpaced.records import Array

RIDGE = 1.0  # of the slopes, by contexts whitened by the current Gaussian


class LinearFit(NamedTuple):
    """An outcome as a linear function of whitened contexts."""

    level: float  # at the mean, and on average under the current Gaussian
    slope: Array  # [C]


def fit(current: Gaussian, contexts: Array, outcomes: Array) -> LinearFit:
    """Return the regression of outcomes [K] on contexts [K, C]."""
    white = np.linalg.solve(current.cholesky, (contexts - current.mean).T)
    features = np.concatenate([np.ones((1, white.shape[1])), white])
    penalty = np.full(len(features), RIDGE)
    penalty[0] = 0.0
    weights = np.linalg.solve(features @ features.T + np.diag(penalty), features @ outcomes)
    return LinearFit(float(weights[0]), weights[1:])
