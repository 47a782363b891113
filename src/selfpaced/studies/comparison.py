"""A comparison: every teacher with every learner on one problem, each in a cell.

A cell is one experiment with the paper's settings in a run folder of its own. Finished cells are
not run again, interrupted cells are resumed, and cells that cannot be used are reported before
training starts. No file of a cell is deleted here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from selfpaced.errors import InterruptedRunError, SelfpacedError, require
from selfpaced.experiment import Experiment, own_learner
from selfpaced.presets.neurips2020 import published
from selfpaced.records import Array
from selfpaced.runs.engine import Engine
from selfpaced.runs.folder import RunFolder, folder_name
from selfpaced.runs.kept import final_values
from selfpaced.runs.logger import Logger
from selfpaced.runs.policies import TrainedPolicy
from selfpaced.runs.preflight import require_trainable
from selfpaced.runs.processes import Listener
from selfpaced.runs.storage import Notes
from selfpaced.runs.supervisor import resume, run
from selfpaced.runs.warm_start import starts_from
from selfpaced.studies.differences import find_differences
from selfpaced.studies.preset_files import require_use, split_presets, with_preset_files

State = Literal["new", "unfinished", "finished"]

_NUM_DIFFERENCES = 4  # named in a message


@dataclass(frozen=True)
class Cell:
    """One experiment of a comparison, and its run folder."""

    teacher: str
    learner: str
    experiment: Experiment
    path: Path
    start: TrainedPolicy | None = None  # that all seeds start from

    @property
    def folder(self) -> RunFolder:
        """The run folder; it does not have to exist yet."""
        return RunFolder(self.path)


@dataclass(frozen=True)
class Outcome:
    """Results of a finished cell on the target, with the stochastic policy as in the paper."""

    cell: Cell
    iterations: Array  # [E]
    returns: Array  # [E, S]
    successes: Array  # [E, S]
    wall_seconds: float
    versions: dict[str, str]
    failed_seeds: tuple[int, ...] = ()  # which have no column in the arrays above
    final: tuple[Array, Array] | None = None  # returns and successes [S] of policies that were kept
    codes: tuple[Notes, ...] = ()  # that trained it, as in `experiment.json`

    @property
    def final_returns(self) -> Array:
        """The return of every seed [S] after the last iteration, or of its kept policy."""
        final: Array = self.returns[-1] if self.final is None else self.final[0]
        return final

    @property
    def final_success_rate(self) -> float:
        """The mean success rate that belongs to these returns; NaN if it is not reported."""
        return float((self.successes[-1] if self.final is None else self.final[1]).mean())


def plan_cells(
    problem: str,
    teachers: Sequence[str],
    learners: Sequence[str],
    seeds: tuple[int, ...],
    out: Path,
    presets: Sequence[str | Path] = (),
) -> list[Cell]:
    """Return all cells, one learner after the other.

    Args:
        problem: name of the problem.
        teachers: names of different teachers.
        learners: names of different learners.
        seeds: seeds of every experiment.
        out: folder of the run folders.
        presets: name of published settings, and files with other settings, each used by at least
            one cell.

    Raises:
        SelfpacedError: a name is unknown or given twice, or a preset is not used.
    """
    for role, names in (("teacher", teachers), ("learner", learners)):
        require(
            len(names) > 0 and all(names),
            f"--{role}s must be names separated by commas, got {','.join(names)!r}",
        )
        for place, name in enumerate(names):
            _require_new(role, name, name not in names[:place])
    chosen = split_presets(problem, presets)
    cells: list[Cell] = []
    for teacher, learner in _pairs(teachers, learners):
        experiment = published(problem, teacher, learner, seeds, chosen.name)
        experiment = with_preset_files(experiment, chosen.files)
        path = out / folder_name(experiment.teacher_name, learner)
        # a starred variant has two names
        _require_new("teacher", teacher, path not in [cell.path for cell in cells])
        cells.append(Cell(experiment.teacher_name, learner, experiment, path))
    for preset in chosen.files:
        require_use(preset, [cell.experiment for cell in cells])
    return cells


def inspect_cell(cell: Cell) -> State:
    """Return how far a cell is.

    Raises:
        SelfpacedError: the folder cannot be used for this cell.
    """
    if not cell.path.exists() or (cell.path.is_dir() and not any(cell.path.iterdir())):
        return "new"
    try:
        require(cell.path.is_dir(), f"{cell.path} must be a folder, got a file")
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
    engine: Engine | None = None,
    loggers: Sequence[Logger] = (),
    overwrite: bool = False,
) -> None:
    """Run or resume the cells that are not finished; all are checked before the first one runs.

    A cell whose training fails does not keep the others from running; its error is raised at the
    end.

    Args:
        cells: what to run.
        workers: number of processes of a new run; None starts one per core.
        listener: receives progress events.
        announce: called with place (from 1), cell and state before each cell.
        engine: what trains blocks of seeds; None starts processes on this computer.
        loggers: receive the rows of every cell that is run, one cell after the other.
        overwrite: replace cells that cannot be used: other settings, or damaged files.

    Raises:
        SelfpacedError: a cell cannot be used or trained, or the training of a cell has failed.
        InterruptedRunError: Ctrl-C or SIGTERM.
    """
    errors: list[str] = []
    states = [_inspect(cell, overwrite) for cell in cells]
    for cell, state in zip(cells, states, strict=True):
        if state != "finished":
            require_trainable(cell.experiment, cell.start)
    for place, (cell, state) in enumerate(zip(cells, states, strict=True), start=1):
        try:
            announce(place, cell, state)
            if state == "new":
                run(
                    cell.experiment,
                    cell.path,
                    workers,
                    overwrite=overwrite,
                    listener=listener,
                    start=cell.start,
                    engine=engine,
                    loggers=loggers,
                )
            elif state == "unfinished":
                resume(cell.path, listener, engine=engine, loggers=loggers)
        except (InterruptedRunError, KeyboardInterrupt):
            raise InterruptedRunError(
                f"stopped in cell {place} of {len(cells)} ({cell.path.name}), which is kept; "
                "continue with the same command"
            ) from None
        except SelfpacedError as error:
            errors.append(f"{cell.path.name}: {error}")
    if errors:
        count = f"{len(errors)} of {len(cells)} cells failed, the others are complete"
        raise SelfpacedError("\n".join([*errors, *([count] if len(cells) > 1 else [])]))


def read_outcomes(cells: Sequence[Cell]) -> list[Outcome]:
    """Return the outcomes of the finished cells, in the same order.

    A cell of which all seeds have failed has no outcome.
    """
    finished = [cell for cell in cells if inspect_cell(cell) == "finished"]
    return [read_outcome(cell) for cell in finished if cell.folder.counted_seeds()]


def require_outcomes(cells: Sequence[Cell]) -> list[Outcome]:
    """Return the outcomes of the finished cells, at least one.

    Raises:
        SelfpacedError: all seeds of all cells have failed.
    """
    outcomes = read_outcomes(cells)
    require(
        len(outcomes) > 0,
        f"all seeds of all cells in {cells[0].path.parent} have failed, for reasons that are in "
        "failed_seeds of their summary.json; correct the cause, then try each again with "
        "`selfpaced resume RUN --retry-failed`",
    )
    return outcomes


def read_outcome(cell: Cell) -> Outcome:
    """Return the outcome of a finished cell.

    Raises:
        SelfpacedError: the files are damaged, or a return is not finite.
    """
    folder, path = cell.folder, cell.path / "evaluations.csv"
    evaluations, seeds = folder.of_counted_seeds(folder.evaluations()), folder.counted_seeds()
    for column in ("return", "success"):
        require(column in evaluations, f"{path} is damaged (no column {column!r})")
        is_unknown = column == "success" and np.isnan(evaluations[column]).all()  # not reported
        broken = np.flatnonzero(~np.isfinite(evaluations[column]).all(axis=0) & ~is_unknown)
        named = ", ".join(str(seeds[place]) for place in broken)
        require(
            not named,
            f"{column} in {path} must be finite, got NaN or infinity (seed {named}); if the "
            "learner diverged, compare without it or with other seeds",
        )
    moments = cell.experiment.evaluation_iterations
    require(
        evaluations["iteration"].tolist() == moments,
        f"{path} must have {len(moments)} evaluations, got {len(evaluations['iteration'])}; it is "
        "damaged",
    )
    return Outcome(
        cell,
        evaluations["iteration"],
        evaluations["return"],
        evaluations["success"],
        float(folder.summary().get("wall_seconds") or np.nan),
        folder.description().get("versions", {}),
        folder.failed_seeds(),
        (final_values(evaluations, "return"), final_values(evaluations, "success")),
        tuple(folder.description().get("code", ())),
    )


def _inspect(cell: Cell, overwrite: bool) -> State:
    try:
        return inspect_cell(cell)
    except SelfpacedError:
        if overwrite:
            return "new"
        raise


def _require_new(role: str, name: str, is_new: bool) -> None:
    require(is_new, f"duplicate {role} {name!r} in --{role}s")


def _pairs(teachers: Sequence[str], learners: Sequence[str]) -> list[tuple[str, str]]:
    """Every teacher with every learner; a method that brings its own learner, once."""
    pairs = [
        (name, learner) for learner in learners for name in teachers if own_learner(name) is None
    ]
    return pairs + [(name, own) for name in teachers if (own := own_learner(name)) is not None]


def _require_same_settings(cell: Cell) -> None:
    existing = cell.folder.description()["experiment"]
    unreadable = None
    try:
        if cell.folder.experiment() == cell.experiment:
            require(
                starts_from(cell.folder.start_path, cell.start),
                f"{cell.path} starts from another policy; repeat the --start-from of that run, or "
                "choose another folder with --out",
            )
            return
    except SelfpacedError as error:  # perhaps of another version; the differences are clearer
        unreadable = error
    different = find_differences(existing, json.loads(json.dumps(cell.experiment.to_dict())))
    if unreadable and not different:
        raise unreadable
    named = ", ".join(different[:_NUM_DIFFERENCES])
    more = len(different) - _NUM_DIFFERENCES
    raise SelfpacedError(
        f"{cell.path} has other settings: {named}{f' and {more} more' if more > 0 else ''}; "
        "compare with those settings, choose another folder with --out, or replace the cell with "
        "--overwrite"
    )


def _state(cell: Cell) -> State:
    """Return whether all files are there; the summary is written last."""
    if cell.folder.is_finished:
        if cell.folder.counted_seeds():
            read_outcome(cell)  # or raise: a file is damaged
        return "finished"
    cell.folder.require_checkpoints()
    cell.folder.saved_iterations()  # or raise: a checkpoint is damaged
    return "unfinished"
