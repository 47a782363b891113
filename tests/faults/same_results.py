"""Which files of two run folders differ in more than the clock."""

import json
from pathlib import Path
from typing import Any

from selfpaced.runs.storage import read_arrays
from tests.runs.small_runs import timeless_rows

CLOCKS = {
    "experiment.json": ("created",),
    "summary.json": ("wall_seconds", "training_seconds", "teacher_seconds", "steps_per_second"),
    "checkpoint": ("training_seconds", "teacher_seconds", "log_size", "log_checksum"),
}


def differing_files(one: Path, two: Path) -> list[str]:
    """Return the names of files that differ, byte for byte except for times.

    Advice is left out: each kind is recorded once, from the block that gives it first. So are the
    records in `checkpoints/`, whose frames depend on when checkpoints were saved; the tables hold
    all of their rows.
    """
    names = sorted(
        path.relative_to(one).as_posix()
        for path in one.rglob("*")
        if path.is_file() and path.suffix != ".history" and path.name != "advice.json"
    )
    return [name for name in names if _content(one / name) != _content(two / name)]


def _content(path: Path) -> Any:
    if not path.exists():
        return None
    if path.name == "checksums.json":  # of files with times
        return sorted(json.loads(path.read_bytes())["files"])
    if path.name in CLOCKS:
        return _without_clocks(json.loads(path.read_bytes()), path.name)
    if path.name == "metrics.csv":
        return timeless_rows(path)
    if path.parent.name == "checkpoints":
        arrays, notes = read_arrays(path)
        bits = {name: (one.dtype, one.shape, one.tobytes()) for name, one in arrays.items()}
        return bits, _without_clocks(notes, "checkpoint")
    return path.read_bytes()


def _without_clocks(notes: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: value for name, value in notes.items() if name not in CLOCKS[kind]}
