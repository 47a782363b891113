"""The tables of a run folder: `metrics.csv`, `evaluations.csv` and `contexts.npz`."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array
from selfpaced.runs.history import Columns
from selfpaced.runs.manifest import read_verified
from selfpaced.runs.storage import csv_bytes

# what NumPy and zipfile raise for damaged archives
_DAMAGES = (ValueError, OSError, KeyError, EOFError, NotImplementedError, RuntimeError, TypeError)


def table_bytes(seeds: Sequence[int], columns: Columns) -> bytes:
    """Return one row per iteration and seed; values that do not exist become empty cells."""
    names = [name for name in columns if name != "iteration"]
    values = [columns[name].tolist() for name in names]  # faster one by one than of arrays
    rows = (
        [iteration, seed, *(value[row][index] for value in values)]
        for row, iteration in enumerate(columns["iteration"].tolist())
        for index, seed in enumerate(seeds)
    )
    return csv_bytes(["iteration", "seed", *names], rows)


def read_table(path: Path, seeds: Sequence[int], may_grow: bool = False) -> dict[str, Array]:
    """Return the columns of a table as arrays [rows, S]; `iteration` is [rows].

    Args:
        path: the file.
        seeds: the seeds that it is about, in their order.
        may_grow: accept a table that is being written: rows in any order, NaN for those that are
            missing, and half a row at the end.

    Raises:
        SelfpacedError: the file is missing or damaged.
    """
    content = read_verified(path)
    if may_grow:
        content = content[: content.rfind(b"\n") + 1]
    try:
        names = content.partition(b"\n")[0].decode().rstrip("\r").split(",")
        for name in ("iteration", "seed"):
            require(name in names, f"{path} is damaged (no column {name!r}); run again")
        rows = _numbers(content).reshape(-1, len(names))
        iterations, columns = _arrange(rows, names, seeds)
        if not may_grow and len(rows) != columns[..., 0].size:
            raise ValueError(f"column 'iteration' must have each number {len(seeds)} times")
    except SelfpacedError:
        raise
    except ValueError as error:
        raise SelfpacedError(f"{path} is damaged ({error}); run again") from None
    named: dict[str, Array] = {name: columns[..., index] for index, name in enumerate(names)}
    return named | {"iteration": iterations}


def _numbers(content: bytes) -> Array:
    """All rows below the header; empty cells become NaN. NumPy's fast reader knows none."""
    body = content.replace(b"\r\n", b"\n").partition(b"\n")[2]
    if not body.strip():
        return np.zeros(0)
    if not body.endswith(b"\n"):
        body += b"\n"
    for _ in range(2):  # neighbours share a comma
        body = body.replace(b",,", b",nan,")
    lines = body.replace(b",\n", b",nan\n").decode().split("\n")
    return np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)


def _arrange(rows: Array, names: list[str], seeds: Sequence[int]) -> tuple[Array, Array]:
    """Iterations [R], and all columns [R, S, N]."""
    numbers = rows[:, [names.index("iteration"), names.index("seed")]]
    if not np.isfinite(numbers).all():
        raise ValueError("columns 'iteration' and 'seed' must be numbers")
    iterations, row = np.unique(numbers[:, 0].astype(int), return_inverse=True)
    place = {seed: index for index, seed in enumerate(seeds)}
    unknown = {int(seed) for seed in np.unique(numbers[:, 1])} - place.keys()
    if unknown:
        raise ValueError(f"column 'seed' has {min(unknown)}, which is no seed of the run")
    column = np.array([place[int(seed)] for seed in numbers[:, 1].tolist()], int)
    if len(np.unique(row * len(seeds) + column)) < len(rows):
        raise ValueError("a seed has an iteration twice")
    arranged = np.full((len(iterations), len(seeds), len(names)), np.nan)
    arranged[row, column] = rows
    arranged[..., names.index("seed")] = seeds
    return iterations, arranged


def contexts_bytes(seeds: Sequence[int], columns: Columns) -> bytes:
    """Return the contexts at every evaluation, compressed."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **columns, seeds=np.array(seeds))
    return buffer.getvalue()


def read_contexts(path: Path) -> dict[str, Array]:
    """Return the arrays that `contexts_bytes` wrote."""
    content = read_verified(path)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)
    except (*_DAMAGES, BadZipFile, zlib.error) as error:
        raise SelfpacedError(f"{path} is damaged ({error}); run again") from None
