"""Potentials of rows and columns that make an exact assignment faster (Sinkhorn's iterations).

A constant on all costs of a row, or of a column, changes the costs of all assignments equally, so
that the best one stays the best. With the potentials of a smoothed problem subtracted, most rows
have their cheapest column for themselves, and an exact solver has little left to search.
"""

from __future__ import annotations

import numpy as np

from selfpaced.records import Array

STAGES = (
    (0.1, 10),
    (0.02, 20),
    (0.005, 30),
    (0.001, 40),
)  # smoothing in mean costs, and iterations with it
LOWEST_EXPONENT = -80.0  # smaller numbers are slow or zero in single precision


def subtract_potentials(costs: Array) -> None:
    """Subtract potentials from square costs [N, N] in place."""
    rows, columns = _potentials(costs)
    costs -= rows.astype(np.float64)[:, None]
    costs -= columns.astype(np.float64)


def _potentials(costs: Array) -> tuple[Array, Array]:
    """Return potentials of rows and columns; single precision suffices, as any are correct."""
    slack = costs.astype(np.float32)
    rows, columns = np.zeros((2, len(costs)), np.float32)
    _shift(slack, rows, columns, slack.min(axis=1), np.zeros_like(columns))
    _shift(slack, rows, columns, np.zeros_like(rows), slack.min(axis=0))
    mean, kernel = slack.mean(), np.empty_like(slack)
    for share, num_iterations in STAGES:
        smoothing = share * mean
        if not smoothing > 0.0:
            break
        np.multiply(slack, -1.0 / smoothing, out=kernel)
        np.exp(np.maximum(kernel, LOWEST_EXPONENT, out=kernel), out=kernel)
        scales = _balance(kernel, num_iterations)
        shifts = [smoothing * np.log(each) for each in scales]
        if not all(np.isfinite(each).all() for each in shifts):
            break
        _shift(slack, rows, columns, *shifts)
        _shift(slack, rows, columns, slack.min(axis=1), np.zeros_like(columns))
    return rows, columns


def _balance(kernel: Array, num_iterations: int) -> tuple[Array, Array]:
    """Return scales of rows and columns after which all of them have a sum near one."""
    columns = np.ones(len(kernel), kernel.dtype)
    for _ in range(num_iterations):
        rows = 1.0 / (kernel @ columns)
        columns = 1.0 / (rows @ kernel)
    return rows, columns


def _shift(
    slack: Array, rows: Array, columns: Array, row_shift: Array, column_shift: Array
) -> None:
    slack -= row_shift[:, None]
    slack -= column_shift
    rows += row_shift
    columns += column_shift
