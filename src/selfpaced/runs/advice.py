"""The advice that a run has received, in `advice.json`: each kind once, with its iteration."""

from __future__ import annotations

from pathlib import Path

from selfpaced.runs.storage import Notes, read_json, write_json
from selfpaced.teachers.advice import kind_of


def read_advice(path: Path) -> list[Notes]:
    """Return the advice of a run folder, oldest first: iteration, text and number of seeds."""
    file = path / "advice.json"
    return list(read_json(file)) if file.exists() else []


def record_advice(path: Path, message: Notes) -> bool:
    """Add the advice in a worker's message; return whether it is of a new kind."""
    known = read_advice(path)
    text = message["advice"]
    if any(kind_of(one["text"]) == kind_of(text) for one in known):
        return False
    note = {"iteration": message["iteration"], "text": text, "num_seeds": message["num_seeds"]}
    write_json(path / "advice.json", [*known, note])
    return True
