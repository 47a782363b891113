"""The record of a block of seeds: metrics, evaluations and context distributions, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from selfpaced.contexts import Gaussian
from selfpaced.records import Array, Metrics
from selfpaced.training.simulator import EpisodeBatch

NUM_SAMPLES = 64  # contexts kept per evaluation

Columns = dict[str, Array]  # `iteration` [R], everything else [R, S, ...]
Row = dict[str, Array] | Sequence[Metrics]  # values [S, ...], or metrics of every seed


class Table:
    """Rows of numbers, each with its iteration; values have a leading axis of seeds."""

    def __init__(self, columns: Columns | None = None) -> None:
        """Start empty, or with columns that were saved."""
        self._columns: Columns = columns or {"iteration": np.zeros(0, np.int64)}
        self._rows: list[tuple[int, Row]] = []  # since the columns were put together

    def append(self, iteration: int, row: Row) -> None:
        """Add values [S, ...], or metrics of every seed; a column may appear later than others."""
        self._rows.append((iteration, row))

    def columns(self) -> Columns:
        """Return all rows as columns, NaN where a row has no value."""
        if self._rows:
            self._columns = concatenate_rows([self._columns, _as_columns(self._rows)])
            self._rows = []
        return self._columns


class History(NamedTuple):
    """Three tables that grow during training."""

    metrics: Table
    evaluations: Table
    contexts: Table

    @classmethod
    def empty(cls) -> History:
        """Return tables without rows."""
        return cls(Table(), Table(), Table())

    def record_iteration(self, iteration: int, rows: Sequence[Metrics]) -> None:
        """Keep the metrics of every seed after an iteration, counted from 1."""
        self.metrics.append(iteration, rows)

    def record_evaluation(
        self,
        iteration: int,
        batch: EpisodeBatch,
        contexts: Array,
        gaussians: Sequence[Gaussian | None],
        particles: Sequence[Array | None] = (),
    ) -> None:
        """Keep the outcome on the target, and what contexts were drawn from at the time.

        A success rate is NaN if the environment does not report success.
        """
        row: dict[str, Array] = {}
        for variant, prefix in enumerate(("", "deterministic_")):
            row[f"{prefix}return"] = batch.discounted_return[:, variant].mean(axis=1)
            success = batch.success[:, variant].mean(axis=1)
            row[f"{prefix}success"] = success if batch.reports_success else success + np.nan
            row[f"{prefix}length"] = batch.length[:, variant].mean(axis=1)
            if batch.unstable is not None:
                row[f"{prefix}unstable"] = batch.unstable[:, variant].sum(axis=1)
        self.evaluations.append(iteration, row)
        self.contexts.append(
            iteration,
            {
                "samples": contexts[:, :NUM_SAMPLES],
                **_stack_gaussians(gaussians),
                **_stack_particles(particles),
            },
        )


def concatenate_rows(parts: Sequence[Columns]) -> Columns:
    """Return the rows of several tables below each other, NaN where a column is missing."""
    joined = {"iteration": np.concatenate([part["iteration"] for part in parts])}
    for name in _names(parts):
        shape = next(part[name].shape[1:] for part in parts if name in part)
        columns = [
            part.get(name, np.full((len(part["iteration"]), *shape), np.nan)) for part in parts
        ]
        joined[name] = np.concatenate(columns)
    return joined


def join_seeds(parts: Sequence[Columns], widths: Sequence[int]) -> Columns:
    """Return the seeds of several blocks side by side, NaN where a block has no such row."""
    iterations = np.unique(np.concatenate([part["iteration"] for part in parts]))
    joined: Columns = {"iteration": iterations}
    for name in _names(parts):
        shape = next(part[name].shape[2:] for part in parts if name in part)
        columns = []
        for part, width in zip(parts, widths, strict=True):
            column = np.full((len(iterations), width, *shape), np.nan)
            if name in part:
                column[np.searchsorted(iterations, part["iteration"])] = part[name]
            columns.append(column)
        joined[name] = np.concatenate(columns, axis=1)
    return joined


def _as_columns(pending: Sequence[tuple[int, Row]]) -> Columns:
    # metrics are stacked here and not in every iteration, of which some take milliseconds
    rows = [
        (iteration, row if isinstance(row, dict) else _stack_metrics(row))
        for iteration, row in pending
    ]
    names = dict.fromkeys(name for _, row in rows for name in row)
    columns: Columns = {"iteration": np.array([iteration for iteration, _ in rows], np.int64)}
    for name in names:
        shape = next(row[name].shape for _, row in rows if name in row)
        missing = np.full(shape, np.nan)
        columns[name] = np.stack([np.asarray(row.get(name, missing), float) for _, row in rows])
    return columns


def _stack_metrics(rows: Sequence[Metrics]) -> dict[str, Array]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows], float) for name in names}


def _stack_gaussians(gaussians: Sequence[Gaussian | None]) -> dict[str, Array]:
    """Mean and Cholesky factor of every seed, if all seeds have a Gaussian."""
    known = [gaussian for gaussian in gaussians if gaussian is not None]
    if len(known) < len(gaussians):
        return {}
    return {
        "mean": np.stack([gaussian.mean for gaussian in known]),
        "cholesky": np.stack([gaussian.cholesky for gaussian in known]),
    }


def _stack_particles(particles: Sequence[Array | None]) -> dict[str, Array]:
    """Particles of every seed, if all seeds have some."""
    known = [each for each in particles if each is not None]
    return {"particles": np.stack(known)} if known and len(known) == len(particles) else {}


def _names(parts: Sequence[Columns]) -> list[str]:
    return [
        name for name in dict.fromkeys(n for part in parts for n in part) if name != "iteration"
    ]
