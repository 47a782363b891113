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
    rows = (
        [iteration, seed, *(columns[name][row, index] for name in names)]
        for row, iteration in enumerate(columns["iteration"].tolist())
        for index, seed in enumerate(seeds)
    )
    return csv_bytes(["iteration", "seed", *names], rows)


def read_table(path: Path, num_seeds: int) -> dict[str, Array]:
    """Return the columns of a table as arrays [rows, S]; `iteration` is [rows]."""
    content = read_verified(path)
    try:
        names = content.partition(b"\n")[0].decode().split(",")
        require("iteration" in names, f"{path} is damaged (no column 'iteration'); run again")
        table = np.genfromtxt(io.BytesIO(content), delimiter=",", skip_header=1, ndmin=2)
        columns = table.reshape(-1, num_seeds, len(names))
        named: dict[str, Array] = {name: columns[:, :, index] for index, name in enumerate(names)}
        iteration = named["iteration"]
        if not (np.isfinite(iteration).all() and (iteration == iteration[:, :1]).all()):
            raise ValueError(f"column 'iteration' must have each number {num_seeds} times")
    except SelfpacedError:
        raise
    except ValueError as error:
        raise SelfpacedError(f"{path} is damaged ({error}); run again") from None
    named["iteration"] = iteration[:, 0].astype(int)
    return named


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
