"""The record of a block of seeds: metrics, evaluations and context distributions, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load, save

from selfpaced.contexts import Gaussian
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.training.simulator import EpisodeBatch

NUM_SAMPLES = 64  # contexts kept per evaluation
NUM_EPISODES = 32  # training episodes kept per evaluation, the last ones

Columns = dict[str, Array]  # `iteration` [R], everything else [R, S, ...]
Row = dict[str, Array] | Sequence[Metrics]  # values [S, ...], or metrics of every seed


class Table:
    """Rows of numbers, each with its iteration; values have a leading axis of seeds."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, Row]] = []

    def append(self, iteration: int, row: Row) -> None:
        """Add values [S, ...], or metrics of every seed; a column may appear later than others."""
        self._rows.append((iteration, row))

    def columns(self) -> Columns:
        """Return all rows as columns, NaN where a row has no value."""
        return _as_columns(self._rows)


class History(NamedTuple):
    """Three tables with the rows since the last checkpoint."""

    metrics: Table
    evaluations: Table
    contexts: Table

    @classmethod
    def empty(cls) -> History:
        """Return tables without rows."""
        return cls(Table(), Table(), Table())

    def payload(self, seeds: Sequence[int]) -> bytes:
        """Return all rows as one frame of a log; no bytes without rows."""
        arrays = {
            f"{name}/{column}": array
            for name, table in self._asdict().items()
            for column, array in table.columns().items()
        }
        if not any(arrays[f"{name}/iteration"].size for name in self._fields):
            return b""
        return save({"seeds": np.array(seeds, np.int64)} | arrays)

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
        episodes: Sequence[Episodes] = (),
        of_kept: dict[str, Array] | None = None,
    ) -> None:
        """Keep the outcome on the target, and what contexts were drawn from at the time.

        A success rate is NaN if the environment does not report success. The episodes are those
        of every seed in the last iteration of training. There may be more columns, about policies
        that are kept.
        """
        self.evaluations.append(iteration, describe_outcome(batch) | (of_kept or {}))
        self.contexts.append(
            iteration,
            {
                "samples": contexts[:, :NUM_SAMPLES],
                **_stack_gaussians(gaussians),
                **_stack_particles(particles),
                **_stack_episodes(episodes),
            },
        )


def describe_outcome(batch: EpisodeBatch) -> dict[str, Array]:
    """Return means [S] over the episodes of a batch, with and without noise of the actions."""
    row: dict[str, Array] = {}
    for variant, prefix in enumerate(("", "deterministic_")):
        row[f"{prefix}return"] = batch.discounted_return[:, variant].mean(axis=1)
        success = batch.success[:, variant].mean(axis=1)
        row[f"{prefix}success"] = success if batch.reports_success else success + np.nan
        row[f"{prefix}length"] = batch.length[:, variant].mean(axis=1)
        if batch.unstable is not None:
            row[f"{prefix}unstable"] = batch.unstable[:, variant].sum(axis=1)
    return row


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


class Part(NamedTuple):
    """Rows of some seeds, as columns."""

    seeds: tuple[int, ...]
    tables: dict[str, Columns]


def parse_payload(payload: bytes) -> Part:
    """Return what `History.payload` wrote."""
    arrays = load(payload)
    seeds = tuple(arrays.pop("seeds").tolist())
    tables: dict[str, Columns] = {name: {} for name in History._fields}
    for name, array in arrays.items():
        table, _, column = name.partition("/")
        tables[table][column] = array
    return Part(seeds, tables)


def join_parts(parts: Sequence[Part], table: str, seeds: Sequence[int]) -> Columns:
    """Return a table of all seeds side by side, NaN where a seed has no such row."""
    pieces = [
        (list(own), concatenate_rows([part.tables[table] for part in group]))
        for own, group in groupby(parts, lambda part: part.seeds)
    ]
    columns = [piece for _, piece in pieces]
    no_rows = np.zeros(0, np.int64)
    iterations = np.unique(np.concatenate([no_rows, *(part["iteration"] for part in columns)]))
    joined: Columns = {"iteration": iterations}
    place = {seed: index for index, seed in enumerate(seeds)}
    for name in sorted(_names(columns)):  # a late column does not change their order
        shape = next(part[name].shape[2:] for part in columns if name in part)
        joined[name] = np.full((len(iterations), len(seeds), *shape), np.nan)
        for own, part in pieces:
            if name in part:
                rows = np.searchsorted(iterations, part["iteration"])
                joined[name][rows[:, None], [place[seed] for seed in own]] = part[name]
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


def _stack_episodes(episodes: Sequence[Episodes]) -> dict[str, Array]:
    """Contexts and outcomes of the last episodes of every seed, NaN where there are fewer."""
    if not episodes:
        return {}
    columns: dict[str, list[Array]] = {"context": [], "return": [], "success": []}
    for each in episodes:
        outcomes = (each.context, each.discounted_return, each.success)
        for column, values in zip(columns.values(), outcomes, strict=True):
            last = np.asarray(values, np.float32)[-NUM_EPISODES:]  # compresses to half the size
            missing = np.full((NUM_EPISODES - len(last), *last.shape[1:]), np.nan)
            column.append(np.concatenate([last, missing]))
    return {f"episode_{name}": np.stack(column) for name, column in columns.items()}


def _names(parts: Sequence[Columns]) -> list[str]:
    return [
        name for name in dict.fromkeys(n for part in parts for n in part) if name != "iteration"
    ]
