"""The compiled solver of Eq. (5): a primal-dual interior-point method with exact Hessians.

The unknowns are B and w of y = B z - w: z are contexts whitened by the current Gaussian, y the same
contexts whitened by the new one. The current Gaussian is then (identity, zero), log-densities are
concave, KL(old ‖ new) is a convex sum over entries, and bounds on the diagonal of the Cholesky
factor are bounds on the diagonal of B. Every iterate is strictly feasible.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from selfpaced.records import Array

Direction = Literal["old_new", "new_old"]  # KL(old ‖ new) as in the published code, or as Eq. (5)
MAX_NEWTON_STEPS = 60
MAX_HALVINGS = 30
BARRIER_START = 1.0  # relative to the gain of a linear objective in the trust region
BARRIER_SHRINK = 0.1
GAIN_TOLERANCE = 1e-3  # stop if the barrier costs at most this share of the gain
FRACTION_KEPT = 0.1  # of the distance to each constraint, in one Newton step
DUAL_SAFEGUARD = 10.0  # largest factor between multipliers and those of the pure barrier
TRUST_MARGIN = 1e-6  # relative; leaves room for rounding


class WhitenedProblem(NamedTuple):
    """Eq. (5) in coordinates whitened by the current Gaussian."""

    features: jax.Array  # [K, C + 1] whitened contexts and a one
    half_norm: jax.Array  # [K] half the squared length of the whitened contexts
    values: jax.Array  # [K]
    target: jax.Array  # [C, C + 1] takes `features` to contexts whitened by the target
    alpha: jax.Array
    max_kl: jax.Array
    upper: jax.Array  # [C] bound on the diagonal of B
    bounded: jax.Array  # [C] whether this bound exists


class _State(NamedTuple):
    """An iterate of the interior-point method."""

    x: jax.Array  # [N] free entries of [B, -w], row by row
    objective: jax.Array
    slack: jax.Array  # [1 + C] distance to the trust region's edge and to the bounds
    multipliers: jax.Array  # [1 + C]
    barrier: jax.Array
    num_steps: jax.Array
    done: jax.Array


class _Trial(NamedTuple):
    """A step of the line search."""

    step: jax.Array
    x: jax.Array  # [N]
    objective: jax.Array
    slack: jax.Array  # [1 + C]
    num_halvings: jax.Array


@partial(jax.jit, static_argnames="direction")
def solve(
    contexts: jax.Array,
    values: jax.Array,
    cholesky: jax.Array,
    rows: jax.Array,
    scalars: jax.Array,
    direction: Direction,
) -> jax.Array:
    """Return accepted, gain, KL moved, new mean and new Cholesky factor as one float64 array.

    `cholesky` stacks the factors of the current, the target and the start distribution; `rows`
    stacks current mean, target mean and lower bound; `scalars` are alpha and the largest KL.
    """
    (mean, target_mean, bound), size = rows, rows.shape[1]
    white = solve_triangular(cholesky[0], (contexts - mean).T, lower=True).T
    to_target = jnp.column_stack([cholesky[0], mean - target_mean])
    problem = WhitenedProblem(
        features=jnp.column_stack([white, jnp.ones(len(values))]),
        half_norm=0.5 * (white**2).sum(axis=1),
        values=values,
        target=solve_triangular(cholesky[1], to_target, lower=True),
        alpha=scalars[0],
        max_kl=scalars[1] * (1.0 - TRUST_MARGIN),
        upper=jnp.diag(cholesky[0]) / bound,
        bounded=bound > 0,
    )
    start = solve_triangular(cholesky[2], cholesky[0], lower=True)
    x, moved, gain = _climb(problem, jnp.column_stack([start, jnp.zeros(size)]), direction)
    _, inverse = _matrix_and_inverse(x, size)
    new_mean = mean + cholesky[0] @ inverse[:size, size]
    new_cholesky = jnp.tril(cholesky[0] @ inverse[:size, :size])
    entries = jnp.concatenate([new_mean, new_cholesky.ravel()])
    finite = jnp.isfinite(gain) & jnp.isfinite(entries).all()
    accepted = (gain > 0) & finite & (jnp.diag(new_cholesky) > 0).all()
    return jnp.concatenate([jnp.stack([accepted, gain, moved]), entries])


@partial(jax.jit, static_argnames="direction")
def solve_together(
    contexts: jax.Array,
    values: jax.Array,
    cholesky: jax.Array,
    rows: jax.Array,
    scalars: jax.Array,
    direction: Direction,
) -> jax.Array:
    """Solve several problems at once; every argument has a leading axis."""
    solve_all = jax.vmap(partial(solve, direction=direction))
    solutions: jax.Array = solve_all(contexts, values, cholesky, rows, scalars)
    return solutions


def objective_and_slack(
    problem: WhitenedProblem, x: jax.Array, direction: Direction
) -> tuple[jax.Array, jax.Array]:
    """Return Eq. (5) less the mean value, and the distance to each constraint (1 without one)."""
    size = len(problem.upper)
    matrix, inverse = _matrix_and_inverse(x, size)
    _, log_ratio = _residual_and_log_ratio(problem, matrix)
    log_determinant = jnp.log(jnp.diag(matrix)).sum()
    to_target = 0.5 * (((problem.target @ inverse) ** 2).sum() - size) + log_determinant
    to_target -= jnp.log(jnp.diag(problem.target)).sum()  # KL(new ‖ target)
    objective = problem.values @ jnp.expm1(log_ratio) - problem.alpha * to_target  # Eq. (5)
    if direction == "old_new":
        moved = 0.5 * ((matrix[:size] ** 2).sum() - size) - log_determinant
    else:
        moved = 0.5 * ((inverse[:size] ** 2).sum() - size) + log_determinant
    room = jnp.where(problem.bounded, problem.upper - jnp.diag(matrix)[:size], 1.0)
    return objective, jnp.append(problem.max_kl - moved, room)


def derivatives(
    problem: WhitenedProblem, x: jax.Array, direction: Direction
) -> tuple[jax.Array, ...]:
    """Return gradient and Hessian of the objective of Eq. (5), and those of the KL moved."""
    size = len(problem.upper)
    row, column = _entries(size)
    matrix, inverse = _matrix_and_inverse(x, size)
    residual, log_ratio = _residual_and_log_ratio(problem, matrix)
    weight = problem.values * jnp.exp(log_ratio)
    reciprocal = jnp.where(row == column, 1.0 / x, 0.0)  # gradient of log det B
    score = reciprocal - residual[:, row] * problem.features[:, column]  # of each log-density
    moment = (problem.features.T * weight) @ problem.features
    pull, pull_hessian = _spread_derivatives(problem.target @ inverse, inverse)
    gradient = weight @ score - problem.alpha * (pull + reciprocal)
    hessian = (score.T * weight) @ score - problem.alpha * pull_hessian
    hessian -= jnp.where(row[:, None] == row, moment[column[:, None], column], 0.0)
    hessian += jnp.diag((problem.alpha - weight.sum()) * reciprocal**2)
    if direction == "old_new":
        return gradient, hessian, x - reciprocal, jnp.diag(1.0 + reciprocal**2)
    spread, spread_hessian = _spread_derivatives(inverse[:size], inverse)
    return gradient, hessian, spread + reciprocal, spread_hessian - jnp.diag(reciprocal**2)


def _climb(
    problem: WhitenedProblem, start: jax.Array, direction: Direction
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Iterate to convergence; return the last iterate, its KL from the current one, its gain."""
    row, column = _entries(len(start))
    # strictly inside the bounds, which uses little of the trust region
    inset = 0.03 * jnp.minimum(jnp.sqrt(problem.max_kl / len(start)), 1.0 / len(start))
    inside = jnp.minimum(1.0, problem.upper * (1.0 - inset) / jnp.diag(start))
    x = (start * inside[:, None])[row, column]
    gradient, _, _, kl_hessian = derivatives(problem, x, direction)
    # the gain of a linear objective in a trust region of this curvature
    scale = jnp.sqrt(2.0 * problem.max_kl * (gradient**2 / jnp.diag(kl_hessian)).sum())
    problem = problem._replace(values=problem.values / scale, alpha=problem.alpha / scale)
    start_value, _ = objective_and_slack(problem, start[row, column], direction)
    objective, slack = objective_and_slack(problem, x, direction)
    usable = jnp.isfinite(objective - start_value) & (slack > 0).all()
    barrier = jnp.asarray(BARRIER_START)
    state = jax.lax.while_loop(
        lambda state: ~state.done & (state.num_steps < MAX_NEWTON_STEPS),
        lambda state: _newton_step(problem, state, start_value, direction),
        _State(x, objective, slack, barrier / slack, barrier, jnp.asarray(0), ~usable),
    )
    gain = jnp.where(usable, (state.objective - start_value) * scale, 0.0)
    return state.x, problem.max_kl - state.slack[0], gain


def _newton_step(
    problem: WhitenedProblem, state: _State, start_value: jax.Array, direction: Direction
) -> _State:
    row, column = _entries(len(problem.upper))
    gradient, hessian, kl_gradient, kl_hessian = derivatives(problem, state.x, direction)
    on_bound = (row == column) & problem.bounded[row]
    force, stiffness = state.barrier / state.slack, state.multipliers / state.slack
    climb = gradient - force[0] * kl_gradient - jnp.where(on_bound, force[1:][row], 0.0)
    curvature = state.multipliers[0] * kl_hessian - hessian
    curvature += stiffness[0] * jnp.outer(kl_gradient, kl_gradient)
    curvature += jnp.diag(jnp.where(on_bound, stiffness[1:][row], 0.0))
    vectors, eigenvalues = jax.lax.linalg.eigh(curvature, symmetrize_input=False)
    # the objective is not concave: ascend along directions of wrong curvature too
    positive = jnp.maximum(jnp.abs(eigenvalues), 1e-10 * jnp.abs(eigenvalues).max())
    ascent = vectors @ ((climb @ vectors) / positive)
    rate = climb @ ascent
    step, x, objective, slack, _ = _line_search(problem, state, ascent, rate, direction)
    approach = jnp.where(problem.bounded, ascent[row == column], 0.0)
    desired = force + stiffness * jnp.append(kl_gradient @ ascent, approach)
    pure = state.barrier / slack
    multipliers = state.multipliers + step * (desired - state.multipliers)
    multipliers = jnp.clip(multipliers, pure / DUAL_SAFEGUARD, pure * DUAL_SAFEGUARD)
    # the barrier costs about its weight per constraint
    tolerance = GAIN_TOLERANCE * jnp.maximum(objective - start_value, 1e-8)
    final = state.barrier * (1 + problem.bounded.sum()) <= tolerance
    settled = (step * rate <= state.barrier) | (step == 1.0)
    converged = final & settled & ((rate <= tolerance) | (step == 0.0))
    barrier = jnp.where(settled & ~final, BARRIER_SHRINK * state.barrier, state.barrier)
    done = converged | ~jnp.isfinite(rate)
    return _State(x, objective, slack, multipliers, barrier, state.num_steps + 1, done)


def _line_search(
    problem: WhitenedProblem,
    state: _State,
    ascent: jax.Array,
    rate: jax.Array,
    direction: Direction,
) -> _Trial:
    """Halve the step until the barrier objective rises; return step zero if it never does."""
    rounding = 1e-15 * (jnp.abs(problem.values).sum() + problem.alpha * len(problem.upper))

    def rises(trial: _Trial) -> jax.Array:
        change = jnp.log(trial.slack / state.slack).sum()
        rise = trial.objective - state.objective + state.barrier * change
        inside = (trial.slack > FRACTION_KEPT * state.slack).all()
        return inside & (rise >= 1e-4 * trial.step * rate - rounding)

    def halve(trial: _Trial) -> _Trial:
        step = 0.5 * trial.step
        x = state.x + step * ascent
        return _Trial(step, x, *objective_and_slack(problem, x, direction), trial.num_halvings + 1)

    last = jax.lax.while_loop(
        lambda trial: ~rises(trial) & (trial.num_halvings <= MAX_HALVINGS),
        halve,
        _Trial(jnp.asarray(2.0), state.x, jnp.asarray(-jnp.inf), state.slack, jnp.asarray(0)),
    )
    unchanged = _Trial(jnp.asarray(0.0), state.x, state.objective, state.slack, last.num_halvings)
    found: _Trial = jax.tree.map(
        partial(jnp.where, last.num_halvings <= MAX_HALVINGS), last, unchanged
    )
    return found


def _residual_and_log_ratio(
    problem: WhitenedProblem, matrix: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return contexts whitened by the new Gaussian [K, C], and log p_new(c) / p_old(c) [K]."""
    residual = problem.features @ matrix[:-1].T
    log_determinant = jnp.log(jnp.diag(matrix)).sum()
    return residual, problem.half_norm - 0.5 * (residual**2).sum(axis=1) + log_determinant


def _spread_derivatives(spread: jax.Array, inverse: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return gradient and Hessian of ½‖T M⁻¹‖² by the free entries of M; `spread` is T M⁻¹."""
    row, column = _entries(len(spread))
    square, outer = spread.T @ spread, inverse @ inverse.T
    cross = inverse @ square
    flipped = cross[column[:, None], row] * inverse[column[:, None], row].T
    hessian = square[row[:, None], row] * outer[column[:, None], column] + flipped + flipped.T
    return -cross[column, row], hessian


def _matrix_and_inverse(x: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
    """Return M = [[B, -w], [0, 1]] and M⁻¹: new Cholesky factor and mean in old coordinates."""
    matrix = jnp.eye(size + 1).at[_entries(size)].set(x)
    right = jnp.column_stack([jnp.eye(size), -matrix[:size, size]])
    top = solve_triangular(matrix[:size, :size], right, lower=True)
    return matrix, jnp.concatenate([top, jnp.eye(1, size + 1, size)])


@lru_cache
def _entries(size: int) -> tuple[Array, Array]:
    """Return row and column of the free entries of [B, -w]."""
    row, column = np.nonzero(np.tri(size, size + 1) + np.eye(1, size + 1, size))
    return row, column
