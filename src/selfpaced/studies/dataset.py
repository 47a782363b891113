"""All tables of several runs below each other, as columns, frames or Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.errors import require
from selfpaced.records import Array
from selfpaced.runs.export import catch_up
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.frames import TABLE_NAMES, TableName, as_frame
from selfpaced.runs.storage import Notes, move
from selfpaced.runs.verification import find_runs
from selfpaced.validation import require_extra

Columns = dict[str, Array]


def runs_in(paths: Iterable[Path | str]) -> list[RunFolder]:
    """Return the run folders at and below paths, each once, without those that just begin.

    Tables of runs that are not finished are brought up to date.

    Raises:
        SelfpacedError: a path has no run folder.
    """
    found: dict[Path, RunFolder] = {}
    for path in map(Path, paths):
        for folder in find_runs(path):
            below = folder.path.relative_to(path).parts
            if not any(part.startswith(".") for part in below):  # being replaced or deleted
                found[folder.path] = folder
    begun = [folder for folder in found.values() if folder.is_finished or folder.iteration() > 0]
    for folder in begun:
        catch_up(folder)
    return begun


def join_tables(folders: Sequence[RunFolder], table: TableName) -> Columns:
    """Return a table of several runs below each other.

    Every row names its run, problem, teacher and learner. A value is NaN where a run does not have
    the column.

    Args:
        folders: the runs.
        table: "metrics", "evaluations" or "contexts".

    Examples:
        >>> from selfpaced.studies.dataset import join_tables, runs_in
        >>> joined = join_tables(runs_in(["runs"]), "evaluations")
        >>> list(joined)[:6]
        ['run', 'problem', 'teacher', 'learner', 'iteration', 'seed']
    """
    _require_some(folders)
    parts = [folder.columns(table) for folder in folders]
    sizes = [len(part["iteration"]) for part in parts]
    labels = [_labels(folder) for folder in folders]
    joined: Columns = {
        name: np.repeat(np.array([label[name] for label in labels]), sizes) for name in labels[0]
    }
    for name in dict.fromkeys(name for part in parts for name in part):
        pieces = [
            part.get(name, np.full(size, np.nan)) for part, size in zip(parts, sizes, strict=True)
        ]
        joined[name] = np.concatenate(pieces)
    return joined


def join_frames(
    paths: Iterable[Path | str], table: TableName = "evaluations", library: str | None = None
) -> Any:
    """Return a table of all runs in folders as one data frame, for example of a comparison.

    Args:
        paths: run folders, or folders of runs.
        table: "metrics", "evaluations" or "contexts".
        library: "pandas" or "polars"; None takes pandas, or polars if pandas is not installed.

    Raises:
        SelfpacedError: a path has no run, or the library is not installed.
    """
    return as_frame(join_tables(runs_in(paths), table), library)


def describe_runs(folders: Sequence[RunFolder]) -> Columns:
    """Return one row per run: its outcome, and its settings as JSON."""
    rows = [_labels(folder) | _outcome(folder) for folder in folders]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def write_dataset(folders: Sequence[RunFolder], out: Path) -> list[Path]:
    """Write `runs`, `metrics`, `evaluations` and `contexts` as Parquet files; return their paths.

    Raises:
        SelfpacedError: there are no runs, or neither pyarrow nor polars is installed.
    """
    _require_some(folders)
    out.mkdir(parents=True, exist_ok=True)
    paths = [write_parquet(out / "runs.parquet", describe_runs(folders))]
    for table in TABLE_NAMES:
        paths.append(write_parquet(out / f"{table}.parquet", join_tables(folders, table)))
    return paths


def write_parquet(path: Path, columns: Mapping[str, Array]) -> Path:
    """Write columns [N] atomically, with pyarrow or, without it, polars; return the path."""
    rest = path.with_name(f".{path.name}.part")
    if find_spec("pyarrow") is None and find_spec("polars") is not None:
        as_frame(columns, "polars").write_parquet(rest)
    else:
        parquet = require_extra("data", "pyarrow.parquet", "Parquet")
        parquet.write_table(require_extra("data", "pyarrow", "Parquet").table(dict(columns)), rest)
    move(rest, path)
    return path


def _require_some(folders: Sequence[RunFolder]) -> None:
    require(len(folders) > 0, "runs must have a saved iteration, got none that has; wait for one")


def _labels(folder: RunFolder) -> dict[str, str]:
    summary = folder.summary()
    names = {name: str(summary.get(name, "")) for name in ("problem", "teacher", "learner")}
    return {"run": str(folder.path)} | names


def _outcome(folder: RunFolder) -> Notes:
    summary, description = folder.summary(), folder.description()
    final = summary.get("final_return") or {}
    return {
        "seeds": len(description["experiment"]["seeds"]),
        "failed_seeds": len(summary.get("failed_seeds", ())),
        "iterations": int(summary["iterations"]),
        "finished": bool(summary["finished"]),
        "final_return": _number(final.get("mean")),
        "standard_error": _number(final.get("standard_error")),
        "final_success_rate": _number(summary.get("final_success_rate")),
        "environment_steps": _number(summary.get("environment_steps")),
        "wall_seconds": _number(summary.get("wall_seconds")),
        "settings": json.dumps(description["experiment"]),
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan
