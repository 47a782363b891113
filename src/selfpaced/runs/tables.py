"""The tables of a run folder: `metrics.csv`, `evaluations.csv` and `contexts.npz`."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array
from selfpaced.runs.history import Columns
from selfpaced.runs.storage import write_bytes, write_csv


def write_table(path: Path, seeds: Sequence[int], columns: Columns) -> None:
    """Write one row per iteration and seed; values that do not exist become empty cells."""
    names = [name for name in columns if name != "iteration"]
    rows = (
        [iteration, seed, *(columns[name][row, index] for name in names)]
        for row, iteration in enumerate(columns["iteration"].tolist())
        for index, seed in enumerate(seeds)
    )
    write_csv(path, ["iteration", "seed", *names], rows)


def read_table(path: Path, num_seeds: int) -> dict[str, Array]:
    """Return the columns of a table as arrays [rows, S]; `iteration` is [rows]."""
    try:
        with open(path, newline="") as file:
            names = next(csv.reader(file), [])
        require("iteration" in names, f"{path} is damaged (no column 'iteration'); run again")
        table = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
        columns = table.reshape(-1, num_seeds, len(names))
    except OSError:
        raise SelfpacedError(f"{path} is missing; is the run finished?") from None
    except SelfpacedError:
        raise
    except ValueError as error:
        raise SelfpacedError(f"{path} is damaged ({error}); run again") from None
    named: dict[str, Array] = {name: columns[:, :, index] for index, name in enumerate(names)}
    named["iteration"] = named["iteration"][:, 0].astype(int)
    return named


def write_contexts(path: Path, seeds: Sequence[int], columns: Columns) -> None:
    """Write the contexts at every evaluation."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **columns, seeds=np.array(seeds))
    write_bytes(path, buffer.getvalue())


def read_contexts(path: Path) -> dict[str, Array]:
    """Return the arrays that `write_contexts` wrote."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise SelfpacedError(f"{path} is missing; is the run finished?") from None
    except (ValueError, OSError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise SelfpacedError(f"{path} is damaged ({error}); run again") from None
