"""Closed-form steps of a Gaussian over contexts, towards the target or back to mastered contexts.

Both are exponential-family projections, so an update costs one eigendecomposition and a root in one
variable, in any number of dimensions.
"""

from __future__ import annotations

import numpy as np
import scipy  # loads its parts on first use

from selfpaced.contexts import Gaussian
from selfpaced.records import Array

LOG_MULTIPLIERS = (-30.0, 50.0)  # of the trust region
MAX_SHARE = 0.9  # of mastered contexts in a retreat
RIDGE = 1e-12  # relative to the variance of each component, so that units do not matter


def approach(
    current: Gaussian, target: Gaussian, slope: Array, slack: float, max_kl: float
) -> Gaussian:
    """Minimise KL(new ‖ target) s.t. KL(new ‖ current) <= max_kl and slack + slope · z >= 0.

    z is the mean of the new Gaussian in coordinates whitened by the current one, and slack must not
    be negative. With multipliers λ and ν, log new = (log target + λ log current + ν slope · z) /
    (1 + λ), up to a constant; ν follows from λ in closed form.
    """
    cholesky = current.cholesky
    spread = np.linalg.solve(target.cholesky, cholesky)
    precision, axes = np.linalg.eigh(spread.T @ spread)  # of the target, whitened
    goal = axes.T @ np.linalg.solve(cholesky, target.mean - current.mean)
    slope = axes.T @ slope
    pull, steepness = precision * goal, slope**2

    def mean_at(multiplier: float) -> Array:
        weights = 1.0 / (precision + multiplier)
        missing = -(slack + slope @ (weights * pull))
        push = max(missing, 0.0) / max(float(steepness @ weights), 1e-300)  # ν
        mean: Array = weights * (pull + push * slope)
        return mean

    def excess(log_multiplier: float) -> float:
        multiplier = float(np.exp(log_multiplier))
        variance = (1.0 + multiplier) / (precision + multiplier)
        mean = mean_at(multiplier)
        return float(0.5 * ((variance - 1.0 - np.log(variance)).sum() + mean @ mean)) - max_kl

    low, high = LOG_MULTIPLIERS
    root = low if excess(low) <= 0.0 else scipy.optimize.brentq(excess, low, high, xtol=1e-6)
    multiplier = float(np.exp(root))
    std = np.sqrt((1.0 + multiplier) / (precision + multiplier))
    factor = cholesky @ (axes * std)
    return Gaussian(
        current.mean + cholesky @ (axes @ mean_at(multiplier)), _cholesky(factor @ factor.T)
    )


def retreat(current: Gaussian, contexts: Array, max_kl: float) -> Gaussian:
    """Fit the current Gaussian and contexts [N, C] together, as far as KL(current ‖ new) allows.

    The fit that maximises the mixed log-likelihood matches the moments of the mixture.
    """
    mean = contexts.mean(axis=0)
    centred = contexts - mean
    covariance = centred.T @ centred / len(contexts)

    def mixed(share: float) -> Gaussian:
        between = mean - current.mean
        moments = (1.0 - share) * current.covariance + share * covariance
        moments = moments + share * (1.0 - share) * np.outer(between, between)
        return Gaussian(current.mean + share * between, _cholesky(moments))

    def excess(share: float) -> float:
        return current.kl(mixed(share)) - max_kl

    if excess(MAX_SHARE) <= 0.0:
        return mixed(MAX_SHARE)
    return mixed(float(scipy.optimize.brentq(excess, 0.0, MAX_SHARE, xtol=1e-4)))


def with_least_std(gaussian: Gaussian, least: Array) -> Gaussian:
    """Raise standard deviations below `least`, and leave the correlations as they are."""
    factors = np.maximum(least / gaussian.std, 1.0)
    return Gaussian(gaussian.mean, factors[:, None] * gaussian.cholesky)


def _cholesky(covariance: Array) -> Array:
    factor: Array = np.linalg.cholesky(covariance + RIDGE * np.diag(np.diag(covariance)))
    return factor
