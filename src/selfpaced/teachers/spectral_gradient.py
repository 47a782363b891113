"""The solver of Eq. (5) in many dimensions: spectral projected gradients in a ball.

`interior_point.py` forms a Hessian of all N = C (C + 3) / 2 parameters, and a step takes N^3
operations. Here a step takes a few products of C x C and K x C matrices. With X = [B, -w] of
y = B z - w, where z are contexts whitened by the current Gaussian and y by the new one,

    KL(old ‖ new) = sum of ½ x² over the entries of X, but of ½ (b² - 1) - log b on the diagonal.

`kl_ball.py` has coordinates u in which this is ½ ‖u‖²: the trust region is a ball, and a bound on
the Cholesky diagonal is one on a single u. KL(new ‖ old) is the same function of [A, m], the
Cholesky factor and mean of the new Gaussian in coordinates z; with it, these are the unknowns.

Steps have the lengths of Barzilai and Borwein (1988), are projected onto the ball, and shortened
until the objective rises (Birgin, Martinez and Raydan, 2000). All iterates are feasible. In a small
trust region the multiplier outweighs the curvature of the objective: about ten steps suffice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri, dtrtrs

from selfpaced.contexts import Gaussian
from selfpaced.records import Array
from selfpaced.teachers.kl_ball import Ball, add_diagonal, coordinate_of, pack, unpack

MAX_STEPS = 200
MAX_SHORTENINGS = 20
SHORTENING = 0.25
LEAST_RISE = 1e-4  # of the objective, relative to a linear one (Armijo)
GAP_TOLERANCE = 1e-4  # stop if a linear objective could gain at most this share of the gain
STEP_RANGE = (1e-6, 1e3)  # radii of the ball


class Start(NamedTuple):
    """Where to start, and the constraints."""

    current: Gaussian
    start: Gaussian  # the current Gaussian, raised to the bound
    bound: Array  # [C] on the Cholesky diagonal, zero where there is none
    max_kl: float
    is_new_old: bool  # whether max_kl bounds KL(new ‖ old)


class Objective(NamedTuple):
    """Eq. (5), with an importance-weighted value, or one that is linear in the mean."""

    target: Gaussian
    alpha: float
    contexts: Array  # [K, C]
    values: Array  # [K] divided by their number
    slope: Array  # [C] by the mean of the new Gaussian, in whitened coordinates
    is_diagonal: bool  # whether B is diagonal


class Solution(NamedTuple):
    """The best Gaussian that was found."""

    distribution: Gaussian
    gain: float


def solve(start: Start, objective: Objective) -> Solution:
    """Maximise the objective in the trust region and above the bound."""
    current, size = start.current, start.current.size
    shift = current.mean - objective.target.mean
    white = _divide(current.cholesky, (objective.contexts - current.mean).T).T
    whitened = _Whitened(
        white=white,
        features=np.column_stack([white, np.ones(len(white))]),
        half_norm=0.5 * (white**2).sum(axis=1),
        values=objective.values,
        slope=objective.slope,
        target=_divide(objective.target.cholesky, np.column_stack([current.cholesky, shift])),
        alpha=objective.alpha,
        is_inverse=start.is_new_old,
        is_diagonal=objective.is_diagonal,
    )
    factors = (current.cholesky, start.start.cholesky)
    first = _divide(*(factors if start.is_new_old else factors[::-1]))
    u = pack(np.column_stack([first, np.zeros(size)]), objective.is_diagonal)
    u[:size] = coordinate_of(u[:size])
    with np.errstate(over="ignore"):  # of importance weights: such steps are shortened
        u, gain = _climb(whitened, _ball(start), u)
    unknowns, _ = unpack(u, size, objective.is_diagonal)
    new = unknowns if start.is_new_old else _inverted(unknowns)
    cholesky = np.tril(current.cholesky @ new[:, :size])
    np.fill_diagonal(cholesky, np.maximum(cholesky.diagonal(), start.bound))  # against rounding
    return Solution(Gaussian(current.mean + current.cholesky @ new[:, size], cholesky), gain)


class _Whitened(NamedTuple):
    """The objective in coordinates whitened by the current Gaussian."""

    white: Array  # [K, C] whitened contexts
    features: Array  # [K, C + 1] with a one
    half_norm: Array  # [K]
    values: Array  # [K]
    slope: Array  # [C]
    target: Array  # [C, C + 1] takes `features` to contexts whitened by the target
    alpha: float
    is_inverse: bool  # whether the unknowns are [A, m], not [B, -w]
    is_diagonal: bool


def _ball(start: Start) -> Ball:
    diagonal, is_bounded = start.current.cholesky.diagonal(), start.bound > 0
    least = np.where(is_bounded, start.bound, diagonal)
    radius, unbounded = np.sqrt(2.0 * start.max_kl), np.full(len(diagonal), np.inf)
    if start.is_new_old:
        return Ball(
            radius, np.where(is_bounded, coordinate_of(least / diagonal), -np.inf), unbounded
        )
    return Ball(radius, -unbounded, np.where(is_bounded, coordinate_of(diagonal / least), np.inf))


def _climb(objective: _Whitened, ball: Ball, u: Array) -> tuple[Array, float]:
    """Return the unknowns u after convergence, and their gain."""
    start_value, gradient = _value_and_gradient(objective, u)
    value, step = start_value, 0.0
    for _ in range(MAX_STEPS):
        length = float(np.sqrt(gradient @ gradient))
        if not 0.0 < length < np.inf:
            break
        shortest, longest = (radii * ball.radius / length for radii in STEP_RANGE)
        gap = gradient @ (ball.project(u + longest * gradient) - u)  # of a linear objective
        if gap <= GAP_TOLERANCE * (value - start_value):
            break
        step = min(max(step, shortest), longest) if step else ball.radius / length
        for _ in range(MAX_SHORTENINGS):
            trial = ball.project(u + step * gradient)
            change = trial - u
            trial_value, trial_gradient = _value_and_gradient(objective, trial)
            rise = trial_value - value
            if np.isfinite(rise) and rise >= LEAST_RISE * (gradient @ change):
                break
            step *= SHORTENING
        else:
            break
        bend = change @ (gradient - trial_gradient)
        # where the objective is convex, only the ball limits the step
        step = float(change @ change / bend) if bend > 0 else longest
        u, value, gradient = trial, trial_value, trial_gradient
    return u, value - start_value


def _value_and_gradient(objective: _Whitened, u: Array) -> tuple[float, Array]:
    """Return Eq. (5) less the mean value, and its gradient by u."""
    size = len(objective.slope)
    unknowns, diagonal_slope = unpack(u, size, objective.is_diagonal)
    other = _inverted(unknowns)
    matrix, inverse = (other, unknowns) if objective.is_inverse else (unknowns, other)
    estimate, estimate_gradient = _estimate(objective, matrix)
    linear, linear_gradient = _linear_value(objective, inverse)
    pull, pull_gradient = _pull(objective, matrix, inverse)
    gradient = estimate_gradient + linear_gradient - objective.alpha * pull_gradient
    if objective.is_inverse:  # d matrix = -matrix d inverse matrix
        product = -(matrix[:, :size].T @ gradient)
        gradient[:, :size] = product[:, :size] @ matrix[:, :size].T
        gradient[:, :size] += np.outer(product[:, size], matrix[:, size])
        gradient[:, size] = product[:, size]
    packed = pack(gradient, objective.is_diagonal)
    packed[:size] *= diagonal_slope
    return estimate + linear - objective.alpha * pull, packed


def _estimate(objective: _Whitened, matrix: Array) -> tuple[float, Array]:
    """Return the importance-weighted value and its gradient by [B, -w]."""
    size, gradient = len(matrix), np.zeros_like(matrix)
    if not objective.values.any():
        return 0.0, gradient
    diagonal = matrix.diagonal()
    if objective.is_diagonal:
        residual = objective.white * diagonal + matrix[:, size]
    else:
        residual = objective.features @ matrix.T
    log_ratio = objective.half_norm - 0.5 * np.einsum("kc,kc->k", residual, residual)
    change = np.expm1(log_ratio + np.log(diagonal).sum())
    weight = objective.values * (1.0 + change)
    if objective.is_diagonal:
        weighted = weight[:, None] * residual
        gradient[:, :size] = np.diag(-np.einsum("kc,kc->c", weighted, objective.white))
        gradient[:, size] = -weighted.sum(axis=0)
    else:
        gradient -= (weight[:, None] * residual).T @ objective.features
    add_diagonal(gradient, weight.sum() / diagonal)
    return float(objective.values @ change), gradient


def _linear_value(objective: _Whitened, inverse: Array) -> tuple[float, Array]:
    """Return the linear value of the mean and its gradient by [B, -w]."""
    size = len(inverse)
    mean = inverse[:, size]
    force = inverse[:, :size].T @ objective.slope
    return float(objective.slope @ mean), -np.outer(force, np.append(mean, 1.0))


def _pull(objective: _Whitened, matrix: Array, inverse: Array) -> tuple[float, Array]:
    """Return KL(new ‖ target) and its gradient by [B, -w]."""
    size, gradient = len(matrix), np.zeros_like(matrix)
    if not objective.alpha:
        return 0.0, gradient
    diagonal, target = matrix.diagonal(), objective.target
    factor, mean = inverse[:, :size], inverse[:, size]
    spread = target[:, :size] @ factor
    shift = target[:, :size] @ mean + target[:, size]
    log_ratio = np.log(diagonal / target.diagonal()).sum()
    kl = 0.5 * ((spread**2).sum() + shift @ shift - size) + log_ratio
    gradient[:, :size] = -spread.T @ (spread @ factor.T + np.outer(shift, mean))
    gradient[:, size] = -spread.T @ shift
    add_diagonal(gradient, 1.0 / diagonal)
    return float(kl), gradient


def _inverted(matrix: Array) -> Array:
    """Return [A, m] of [B, -w], or the reverse."""
    size = len(matrix)
    inverse = np.empty_like(matrix)
    inverse[:, :size] = dtrtri(matrix[:, :size], lower=1)[0]
    inverse[:, size] = -inverse[:, :size] @ matrix[:, size]
    return inverse


def _divide(cholesky: Array, right: Array) -> Array:
    quotient: Array = dtrtrs(cholesky, right, lower=1)[0]
    return quotient
