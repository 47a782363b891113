"""One update of DORAEMON's product of Beta distributions (Tiboni et al., ICLR 2024).

The solver works on the logarithms of the parameters, with exact gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, polygamma, psi

from selfpaced.records import Array

LOWEST, HIGHEST = 1.0, 110.0  # parameters of the Betas
TOLERANCE = 1e-9
SLACK = 1e-6  # by which a constraint may be violated

Function = Callable[[Array], tuple[float, Array]]  # of log-parameters: value and gradient


def kl_to_uniform(parameters: Array) -> float:
    """Return KL(q ‖ uniform) of Betas with parameters [2, C] on [0, 1]: the negative entropy."""
    return _negative_entropy(np.log(parameters).ravel())[0]


def kl(old: Array, new: Array) -> float:
    """Return KL(old ‖ new) of Betas with parameters [2, C]."""
    return _moved(old)(np.log(new).ravel())[0]


def log_density(parameters: Array, unit: Array) -> Array:
    """Return log-densities [K] of contexts [K, C] in (0, 1)."""
    a, b = parameters
    log_density: Array = ((a - 1) * np.log(unit) + (b - 1) * np.log1p(-unit) - betaln(a, b)).sum(1)
    return log_density


def widen(
    current: Array, start: Array, unit: Array, success: Array, least: float, max_kl: float
) -> Array:
    """Maximise the entropy s.t. KL(current ‖ new) <= max_kl and estimated success >= least."""
    reached = _success(current, unit, success)
    bounds = [(reached, least)] if len(unit) else []
    return _solve(_negative_entropy, current, start, max_kl, bounds)


def succeed(current: Array, unit: Array, success: Array, max_kl: float) -> Array:
    """Maximise the estimated success s.t. KL(current ‖ new) <= max_kl."""
    reached = _success(current, unit, success)

    def failure(x: Array) -> tuple[float, Array]:
        value, gradient = reached(x)
        return -value, -gradient

    return _solve(failure, current, current, max_kl, [])


def estimate(current: Array, new: Array, unit: Array, success: Array) -> float:
    """Return the success under `new`, by importance weights of contexts drawn from `current`."""
    return _success(current, unit, success)(np.log(new).ravel())[0]


def _solve(
    objective: Function,
    current: Array,
    start: Array,
    max_kl: float,
    bounds: list[tuple[Function, float]],
) -> Array:
    """Minimise; return the start if nothing feasible is better."""
    rooms = [_below(_moved(current), max_kl), *(_above(each, least) for each, least in bounds)]
    x = np.log(start).ravel()
    found = minimize(  # type: ignore[call-overload]  # its stubs do not know these settings
        lambda x: objective(x)[0],
        x,
        jac=lambda x: objective(x)[1],
        method="SLSQP",
        bounds=[(math.log(LOWEST), math.log(HIGHEST))] * len(x),
        constraints=[_constraint(room) for room in rooms],
        options={"maxiter": 200, "ftol": TOLERANCE},
    ).x
    is_feasible = all(room(found)[0] >= -SLACK for room in rooms)
    is_better = np.isfinite(found).all() and objective(found)[0] < objective(x)[0]
    return np.exp(found).reshape(start.shape) if is_feasible and is_better else start


def _above(function: Function, least: float) -> Function:
    def room(x: Array) -> tuple[float, Array]:
        value, gradient = function(x)
        return value - least, gradient

    return room


def _below(function: Function, most: float) -> Function:
    def room(x: Array) -> tuple[float, Array]:
        value, gradient = function(x)
        return most - value, -gradient

    return room


def _constraint(room: Function) -> Any:
    return {"type": "ineq", "fun": lambda x: room(x)[0], "jac": lambda x: room(x)[1]}


def _negative_entropy(x: Array) -> tuple[float, Array]:
    a, b = parameters = np.exp(x).reshape(2, -1)
    total = a + b
    value = -betaln(a, b) + (a - 1) * psi(a) + (b - 1) * psi(b) - (total - 2) * psi(total)
    both = (parameters - 1) * polygamma(1, parameters) - (total - 2) * polygamma(1, total)
    return float(value.sum()), (both * parameters).ravel()


def _moved(old: Array) -> Function:
    """KL(old ‖ new) as a function of the new log-parameters."""
    total = psi(old.sum(axis=0))
    moments = psi(old) - total  # mean of log x and log(1 - x)
    constant = -betaln(*old) + ((old - 1) * moments).sum(axis=0)

    def function(x: Array) -> tuple[float, Array]:
        new = np.exp(x).reshape(2, -1)
        value = constant + betaln(*new) - ((new - 1) * moments).sum(axis=0)
        gradient = psi(new) - psi(new.sum(axis=0)) - moments
        return float(value.sum()), (gradient * new).ravel()

    return function


def _success(current: Array, unit: Array, success: Array) -> Function:
    """Importance-weighted success as a function of the new log-parameters."""
    logs = np.stack([np.log(unit), np.log1p(-unit)])  # [2, K, C]
    old = log_density(current, unit)

    def function(x: Array) -> tuple[float, Array]:
        new = np.exp(x).reshape(2, -1)
        weights = np.exp(log_density(new, unit) - old) * success / len(success)
        score = logs - (psi(new) - psi(new.sum(axis=0)))[:, None]
        gradient = np.einsum("k,pkc->pc", weights, score)
        return float(weights.sum()), (gradient * new).ravel()

    return function
