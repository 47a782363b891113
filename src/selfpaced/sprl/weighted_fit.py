"""Fit Gaussians to weighted samples within a trust region (Klink et al., CoRL 2019).

Policy and contexts are fitted together: one multiplier η mixes the old Gaussians into both fits,
and is the smallest for which the sum of both KL(old ‖ new) stays within the bound. A distribution
over contexts is a linear-Gaussian one whose only feature is the constant.

All computations are in coordinates whitened by the old Gaussian, where it is the standard normal:
however narrow it is, a fit is one small Cholesky factorisation.

Deviation from the published algorithm:
D1  the tiny ridge of the regression shrinks the change of the coefficients, not the coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # loads its parts on first use
from scipy.linalg import solve_triangular

from selfpaced.records import Array

RIDGE = 1e-10  # D1
MIN_ETA, MAX_ETA = 1e-6, 100.0
TOLERANCE = 1e-3  # of log η


class LinearGaussian(NamedTuple):
    """A Gaussian over x whose mean is linear in features: x ~ N(Θᵀ f, L Lᵀ)."""

    coefficients: Array  # [F, D]  Θ
    cholesky: Array  # [D, D]  L

    def mean(self, features: Array) -> Array:
        """Return means [N, D] for features [N, F]."""
        return features @ self.coefficients

    def sample(self, rng: np.random.Generator, features: Array) -> Array:
        """Draw one sample for each row of features."""
        noise = rng.standard_normal((len(features), len(self.cholesky)))
        return self.mean(features) + noise @ self.cholesky.T


class Fit(NamedTuple):
    """New distributions in the order of the old ones."""

    distributions: tuple[LinearGaussian, ...]
    eta: float  # share of the old ones that is mixed in
    kl: float  # sum of KL(old ‖ new), each averaged over the samples


class Moments(NamedTuple):
    """Sufficient statistics of weighted samples, whitened by the old Gaussian."""

    old: LinearGaussian
    gram: Array  # [F, F]  Σ w f fᵀ
    mean_gram: Array  # [F, F]  mean of f fᵀ
    cross: Array  # [F, D]  Σ w f rᵀ, where r are residuals of the old Gaussian
    second: Array  # [D, D]  Σ w r rᵀ

    @classmethod
    def of(cls, old: LinearGaussian, features: Array, samples: Array, weights: Array) -> Moments:
        """Compute them from features [N, F], samples [N, D] and weights [N] with sum one."""
        residual = (samples - old.mean(features)).T
        white = solve_triangular(old.cholesky, residual, lower=True).T
        weighted = features.T * weights
        return cls(
            old,
            gram=weighted @ features,
            mean_gram=features.T @ features / len(features),
            cross=weighted @ white,
            second=(white.T * weights) @ white,
        )

    def fit(self, eta: float) -> tuple[LinearGaussian, float]:
        """Return the weighted fit with the old Gaussian mixed in, and KL(old ‖ new)."""
        size = len(self.second)
        ridge = RIDGE * np.eye(len(self.gram))
        change = np.linalg.solve(self.gram + eta * self.mean_gram + ridge, self.cross)  # Θ - Θ_old
        explained = change.T @ self.cross
        shift = change.T @ self.mean_gram @ change
        spread = self.second - explained - explained.T + change.T @ self.gram @ change
        covariance = (spread + eta * (np.eye(size) + shift)) / (1.0 + eta)
        try:
            cholesky = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:  # too few samples with weight to span the space
            return self.old, np.inf
        inverse = solve_triangular(cholesky, np.eye(size), lower=True)
        precision_trace = (inverse**2).sum() + ((inverse @ shift) * inverse).sum()
        kl = 0.5 * (precision_trace - size) + np.log(np.diag(cholesky)).sum()
        new = LinearGaussian(
            self.old.coefficients + change @ self.old.cholesky.T, self.old.cholesky @ cholesky
        )
        return new, float(kl)


def fit_within(moments: Sequence[Moments], max_kl: float) -> Fit:
    """Return the closest fit whose KL(old ‖ new) is at most `max_kl` in total."""

    def fit(eta: float) -> Fit:
        distributions, kls = zip(*(one.fit(eta) for one in moments), strict=True)
        return Fit(tuple(distributions), eta, sum(kls))

    def excess(log_eta: float) -> float:  # nearly linear: few evaluations are needed
        return float(np.log(min(fit(np.exp(log_eta)).kl, 1e6) / max_kl))

    for eta in (0.0, MIN_ETA):
        free = fit(eta)
        if free.kl <= max_kl:
            return free
    tightest = fit(MAX_ETA)
    if tightest.kl >= max_kl:
        return tightest
    low, high = np.log(MIN_ETA), np.log(MAX_ETA)
    return fit(float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=TOLERANCE))))
