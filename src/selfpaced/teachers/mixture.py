"""Fit Gaussian mixtures of several sizes at once by expectation maximisation; select by AIC.

The components of all mixtures lie one after another on a single axis, so that one pass of array
operations advances every mixture that has not converged: for a few hundred rows this takes a tenth
of the time of fitting them in turn (decision 0005). The rules are scikit-learn's:
initialisation by k-means, full covariances, its tolerance, regularisation and limit on iterations.
The k-means of all sizes start from prefixes of one k-means++ sequence: each prefix is a fair draw.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from selfpaced.records import Array

TOLERANCE = 1e-3  # converged when the mean log-likelihood of a row changes by less
MAX_ITERATIONS = 100
MAX_K_MEANS_ITERATIONS = 300
REGULARISATION = 1e-6  # added to every variance
ROUNDING = 1e-12  # for large quantities, at least this share of their second moment is added
NUM_CANDIDATES = 4  # seeds that k-means++ compares for each centre


class Mixture(NamedTuple):
    """Gaussian components with full covariances."""

    weights: Array  # [K]
    means: Array  # [K, D]
    covariances: Array  # [K, D, D]


def best_mixture(rng: np.random.Generator, rows: Array, sizes: Array) -> Mixture:
    """Fit a mixture of each size to the rows [N, D]; return the one of lowest AIC."""
    components = hard_assignments(rng, rows, sizes)
    mixtures, log_likelihood = expectation_maximisation(rows, components, sizes)
    num_columns = rows.shape[1]
    # means, symmetric covariances, and weights that sum to one
    num_parameters = sizes * (num_columns + num_columns * (num_columns + 1) // 2 + 1) - 1
    aic = 2 * num_parameters - 2 * len(rows) * log_likelihood
    best = int(np.argmin(aic))
    start = int(sizes[:best].sum())
    chosen = Mixture(*(array[start : start + sizes[best]] for array in mixtures))
    occupied = chosen.weights * len(rows) > ROUNDING  # without clusters that k-means left empty
    return Mixture(*(array[occupied] for array in chosen))


def hard_assignments(rng: np.random.Generator, rows: Array, sizes: Array) -> Array:
    """Cluster the rows by k-means for each size; return ones and zeros [sum of sizes, N]."""
    seeds = _k_means_plus_plus(rng, rows, int(sizes.max()))
    centres = np.concatenate([seeds[:size] for size in sizes])
    assigned = np.zeros((len(centres), len(rows)), bool)
    for _ in range(MAX_K_MEANS_ITERATIONS):
        # squared distances less the squared norm of each row, which all centres share
        distance = (centres**2).sum(axis=1)[:, None] - 2 * centres @ rows.T
        nearest = distance == _spread(np.minimum.reduceat(distance, _starts(sizes)), sizes)
        if (nearest == assigned).all():
            break
        assigned = nearest
        count = assigned.sum(axis=1)[:, None]
        # an empty cluster stays where it is
        centres = np.where(count, assigned @ rows / np.maximum(count, 1), centres)
    return assigned.astype(np.float64)


def expectation_maximisation(
    rows: Array, responsibilities: Array, sizes: Array
) -> tuple[Mixture, Array]:
    """Improve all mixtures until each has converged; return them and their log-likelihoods.

    `responsibilities` [sum of sizes, N] are the initial shares of each component in each row.
    Log-likelihoods are means per row.
    """
    centre = rows.mean(axis=0)
    rows = rows - centre  # so that second moments lose no digits to the mean
    mixtures = _maximisation(rows, responsibilities)
    log_likelihood = np.full(len(sizes), -np.inf)
    running = np.ones(len(sizes), bool)
    for _ in range(MAX_ITERATIONS):
        members = np.repeat(running, sizes)
        moving = Mixture(*(array[members] for array in mixtures))
        new, responsibilities = _expectation(rows, moving, sizes[running])
        for array, update in zip(mixtures, _maximisation(rows, responsibilities), strict=True):
            array[members] = update
        change = np.abs(new - log_likelihood[running])
        log_likelihood[running] = new
        running[running] = change >= TOLERANCE
        if not running.any():
            break
    log_likelihood, _ = _expectation(rows, mixtures, sizes)
    return mixtures._replace(means=mixtures.means + centre), log_likelihood


def _k_means_plus_plus(rng: np.random.Generator, rows: Array, num: int) -> Array:
    """Choose rows far from each other.

    Each is the best of a few candidates drawn in proportion to their squared distance.
    """
    chosen = [rows[rng.integers(len(rows))]]
    potential = ((rows - chosen[0]) ** 2).sum(axis=1)
    for _ in range(num - 1):
        cumulated = np.cumsum(potential)
        drawn = np.searchsorted(cumulated, rng.random(NUM_CANDIDATES) * cumulated[-1])
        candidates = rows[np.minimum(drawn, len(rows) - 1)]
        distance = ((rows - candidates[:, None]) ** 2).sum(axis=2)
        potentials = np.minimum(potential, distance)
        best = int(np.argmin(potentials.sum(axis=1)))
        chosen.append(candidates[best])
        potential = potentials[best]
    return np.array(chosen)


def _expectation(rows: Array, mixtures: Mixture, sizes: Array) -> tuple[Array, Array]:
    """Return the mean log-likelihood of a row under each mixture, and the responsibilities."""
    num, num_columns = mixtures.means.shape
    whiten = np.linalg.inv(np.linalg.cholesky(mixtures.covariances))
    shift = whiten @ mixtures.means[:, :, None]
    white = (whiten.reshape(-1, num_columns) @ rows.T).reshape(num, num_columns, -1) - shift
    log_determinant = np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
    constant = np.log(mixtures.weights) + log_determinant - 0.5 * num_columns * np.log(2 * np.pi)
    log_density = constant[:, None] - 0.5 * np.einsum("kdn,kdn->kn", white, white)
    largest = np.maximum.reduceat(log_density, _starts(sizes))
    density = np.exp(log_density - _spread(largest, sizes))
    total = np.add.reduceat(density, _starts(sizes))
    return (np.log(total) + largest).mean(axis=1), density / _spread(total, sizes)


def _maximisation(rows: Array, responsibilities: Array) -> Mixture:
    """Return the most likely components given the responsibilities; rows must have mean zero."""
    num, num_columns = rows.shape
    count = responsibilities.sum(axis=1) + 10 * np.finfo(np.float64).eps  # never divide by zero
    means = responsibilities @ rows / count[:, None]
    products = (rows[:, :, None] * rows[:, None, :]).reshape(num, -1)
    moments = (responsibilities @ products / count[:, None]).reshape(-1, num_columns, num_columns)
    covariances = moments - means[:, :, None] * means[:, None, :]
    floor = np.maximum(REGULARISATION, ROUNDING * products.mean(axis=0)[:: num_columns + 1])
    return Mixture(count / num, means, covariances + np.diag(floor))


def _starts(sizes: Array) -> Array:
    """Return the index of the first component of each mixture."""
    starts: Array = np.cumsum(sizes) - sizes
    return starts


def _spread(per_mixture: Array, sizes: Array) -> Array:
    """Repeat a quantity of each mixture for each of its components."""
    return np.repeat(per_mixture, sizes, axis=0)
