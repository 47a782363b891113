"""A comparison: every teacher with every learner on one problem, run once and then kept.

A cell is one (teacher, learner) experiment with the paper's settings, in a run folder of its own.
What is finished is never run again, what was stopped goes on, and what does not fit is reported
before anything runs; no file of a cell is ever deleted here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.presets.files import with_preset_files
from selfpaced.presets.neurips2020 import neurips2020
from selfpaced.records import Array
from selfpaced.runs.folder import RunFolder, folder_name
from selfpaced.runs.processes import Listener
from selfpaced.runs.storage import read_notes
from selfpaced.runs.supervisor import InterruptedRunError, resume, run

State = Literal["new", "unfinished", "finished"]

_NUM_DIFFERENCES = 4  # named in a message


@dataclass(frozen=True)
class Cell:
    """One experiment of a comparison, and where it is kept."""

    teacher: str
    learner: str
    experiment: Experiment
    path: Path

    @property
    def folder(self) -> RunFolder:
        """Its run folder, whether it exists or not."""
        return RunFolder(self.path)


@dataclass(frozen=True)
class Outcome:
    """What came of a finished cell on the target, with the stochastic policy as in the paper."""

    cell: Cell
    iterations: Array  # [E]
    returns: Array  # [E, S]
    successes: Array  # [E, S]
    wall_seconds: float
    versions: dict[str, str]

    @property
    def final_returns(self) -> Array:
        """One number per seed."""
        return self.returns[-1]


class InterruptedComparisonError(InterruptedRunError):
    """The user asked to stop; what is finished stays, the rest goes on next time."""

    def __init__(self, place: int, cell: Cell, num_cells: int) -> None:
        Exception.__init__(
            self,
            f"stopped in cell {place} of {num_cells} ({cell.path.name}); nothing is lost, "
            "repeat the same command to go on",
        )


def split_names(names: str) -> list[str]:
    """Teachers or learners as a command gets them, with commas."""
    return [name.strip() for name in names.split(",")]


def plan_cells(
    problem: str,
    teachers: Sequence[str],
    learners: Sequence[str],
    seeds: tuple[int, ...],
    out: Path,
    iterations: int | None = None,
    presets: Sequence[Path] = (),
) -> list[Cell]:
    """All cells, one learner after the other; a wrong name is found here, before anything runs."""
    for what, names in (("teachers", teachers), ("learners", learners)):
        require(len(names) > 0 and all(names), f"{what} wants names, got {','.join(names)!r}")
        twice = [name for name in names if names.count(name) > 1]
        require(not twice, f"{what} wants every name once, got {', '.join(twice)}")
    cells: list[Cell] = []
    pairs = [(teacher, learner) for learner in learners for teacher in teachers]
    # SPRL is teacher and learner in one: it gets one cell, whatever the other learners are
    alone = [("sprl", "episodic")] if "sprl" in teachers else []
    for teacher, learner in [pair for pair in pairs if pair[0] != "sprl"] + alone:
        experiment = neurips2020(problem, teacher, learner, seeds)
        experiment = with_preset_files(experiment, presets)
        if iterations is not None:
            experiment = dataclasses.replace(experiment, iterations=iterations)
        path = out / folder_name(experiment.teacher_name, learner)
        twice = [cell.path.name for cell in cells if cell.path == path]
        require(not twice, f"teachers wants every one once, {teacher} is there twice")
        cells.append(Cell(experiment.teacher_name, learner, experiment, path))
    return cells


def inspect_cell(cell: Cell) -> State:
    """How far a cell is; one that cannot be used gets a message about what to do."""
    if not cell.path.exists() or (cell.path.is_dir() and not any(cell.path.iterdir())):
        return "new"
    try:
        require(cell.path.is_dir(), f"{cell.path} is a file")
        _require_same_settings(cell)
        return _state(cell)
    except SelfpacedError as error:
        raise SelfpacedError(
            f"cannot use the cell {cell.path.name}: {error}. The other cells are kept; to run "
            f"this one from the start, move {cell.path} away and repeat the command"
        ) from None


def run_cells(
    cells: Sequence[Cell],
    workers: int | None = None,
    listener: Listener | None = None,
    announce: Callable[[int, Cell, State], None] = lambda *_: None,
) -> None:
    """Run or continue what is not finished; all cells are inspected before the first one runs."""
    states = [inspect_cell(cell) for cell in cells]
    for place, (cell, state) in enumerate(zip(cells, states, strict=True), start=1):
        try:
            announce(place, cell, state)
            if state == "new":
                run(cell.experiment, cell.path, workers, listener=listener)
            elif state == "unfinished":
                resume(cell.path, listener)
        except (InterruptedRunError, KeyboardInterrupt):
            raise InterruptedComparisonError(place, cell, len(cells)) from None


def read_outcomes(cells: Sequence[Cell]) -> list[Outcome]:
    """The outcomes of the cells that are finished, in the same order."""
    return [read_outcome(cell) for cell in cells if inspect_cell(cell) == "finished"]


def read_outcome(cell: Cell) -> Outcome:
    """The outcome of a finished cell, or a message about what is wrong with its files."""
    evaluations, path = cell.folder.evaluations(), cell.path / "evaluations.csv"
    for column in ("return", "success"):
        require(column in evaluations, f"{path} is damaged (no column {column!r})")
        broken = np.flatnonzero(~np.isfinite(evaluations[column]).all(axis=0))
        seeds = ", ".join(str(cell.experiment.seeds[place]) for place in broken)
        require(
            not seeds,
            f"{path} has a {column} that is not a number (seed {seeds}); if the learner diverged, "
            "compare without it or with other seeds",
        )
    moments = cell.experiment.evaluation_iterations
    require(
        evaluations["iteration"].tolist() == moments,
        f"{path} is damaged ({len(moments)} evaluations wanted, got "
        f"{len(evaluations['iteration'])})",
    )
    return Outcome(
        cell,
        evaluations["iteration"],
        evaluations["return"],
        evaluations["success"],
        float(cell.folder.summary().get("wall_seconds") or np.nan),
        cell.folder.description().get("versions", {}),
    )


def _require_same_settings(cell: Cell) -> None:
    there = cell.folder.description()["experiment"]
    problem = None
    try:
        if Experiment.from_dict(there) == cell.experiment:
            return
    except SelfpacedError as error:  # of another version, perhaps; the differences tell more
        problem = error
    different = _differences(there, json.loads(json.dumps(cell.experiment.to_dict())))
    if problem and not different:
        raise problem
    named = ", ".join(different[:_NUM_DIFFERENCES])
    more = len(different) - _NUM_DIFFERENCES
    raise SelfpacedError(
        f"{cell.path} was made with other settings: {named}"
        f"{f' and {more} more' if more > 0 else ''}; compare with those settings, or choose "
        "another folder with --out"
    )


def _differences(there: Any, wanted: Any) -> list[str]:
    flat_there, flat_wanted = _flat(there), _flat(wanted)
    return [
        f"{name} (there {_short(flat_there.get(name))}, wanted {_short(flat_wanted.get(name))})"
        for name in {**flat_wanted, **flat_there}
        if flat_there.get(name) != flat_wanted.get(name)
    ]


def _flat(plain: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(plain, dict):
        return {prefix: plain}
    parts = (_flat(value, f"{prefix}.{key}" if prefix else key) for key, value in plain.items())
    return {name: value for part in parts for name, value in part.items()}


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 6:
        return f"{value[0]} … {value[-1]}, {len(value)} of them"
    return str(value)


def _state(cell: Cell) -> State:
    """The summary is written last, so a run that it calls finished has all its files."""
    if cell.folder.is_finished:
        read_outcome(cell)
        return "finished"
    cell.folder.require_checkpoints()
    for path in sorted((cell.path / "checkpoints").glob("*.safetensors")):
        read_notes(path)
    return "unfinished"
