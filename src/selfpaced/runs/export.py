"""Export checkpoints as the files that people and other tools read."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.runs.checkpoint import (
    OutdatedCheckpointError,
    Saved,
    order_seeds,
)
from selfpaced.runs.folder import TABLES, RunFolder
from selfpaced.runs.history import Columns, History, join_parts
from selfpaced.runs.kept import PREFIX, final_values
from selfpaced.runs.locks import export_lock, training_lock
from selfpaced.runs.manifest import read_checksums, write_files
from selfpaced.runs.replacement import forget_replaced
from selfpaced.runs.storage import Notes, array_bytes, json_bytes
from selfpaced.runs.tables import contexts_bytes, table_bytes
from selfpaced.statistics import mean_and_standard_error

_FINAL = ("return", "success", "deterministic_return", "deterministic_success")


def export(folder: RunFolder, wall_seconds: float, may_finish: bool = True) -> None:
    """Write the tables, policies and summary of a run from its checkpoints.

    One process at a time, so that no old state covers a newer one. Only the holder of the training
    lock may finish the run, which deletes the checkpoints.
    """
    with export_lock(folder.path):
        if not folder.is_finished:
            _write_files(folder, wall_seconds, may_finish)


def catch_up(folder: RunFolder) -> None:
    """Export the progress of a run that is still going on, or was killed."""
    if folder.is_finished:
        return
    folder.description()  # or raise: this is no run folder
    with ExitStack() as stack:
        is_alone = True
        try:
            stack.enter_context(training_lock(folder.path))
        except SelfpacedError:  # a process is training there
            is_alone = False
        if folder.is_finished:  # since the first look
            return
        folder.require_checkpoints()
        has_older = (folder.path / "summary.json").exists()
        require(
            has_older or folder.iteration() > 0,
            f"{folder.path} has no saved iteration yet; wait for the first checkpoint, or continue "
            "with `selfpaced resume` if no process is training there",
        )
        try:
            export(folder, wall_seconds=0.0, may_finish=is_alone)  # the seconds are unknown
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            # another user's run, or a read-only disk: show what is there
            require(has_older, f"{folder.path} has no tables yet, and cannot be written to")
        except OutdatedCheckpointError:
            if not has_older:  # otherwise show what its own version has exported
                raise


def _write_files(folder: RunFolder, wall_seconds: float, may_finish: bool) -> None:
    experiment, path = folder.experiment(), folder.path
    if (path / "summary.json").exists():  # of an earlier part of this run
        wall_seconds += folder.summary().get("wall_seconds") or 0.0
    files = folder.files()
    saved = [one.read() for one in files]
    failures = [failure for one in files for failure in one.failures()]
    parts = [part for one, state in zip(files, saved, strict=True) for part in one.parts(state)]
    tables = {name: join_parts(parts, name, experiment.seeds) for name in History._fields}
    for name in ("evaluations", "contexts"):
        tables[name] = _planned_rows(experiment, tables[name])
    active = [one for one in saved if one.seeds]
    iterations = min((one.notes["iteration"] for one in active), default=None)
    is_finished = may_finish and iterations in (experiment.iterations, None)
    if iterations is None:  # all seeds failed
        iterations = max(one.notes["iteration"] for one in failures)
    summary = _summarise(experiment, tables["evaluations"], iterations, failures)
    summary |= {"finished": is_finished}
    summary |= _describe_timing(experiment, iterations, wall_seconds, saved)
    policies = order_seeds([*saved, *failures], experiment.seeds)
    seeds = experiment.seeds
    contents = {
        "metrics.csv": table_bytes(seeds, tables["metrics"]),
        "evaluations.csv": table_bytes(seeds, tables["evaluations"]),
        "contexts.npz": contexts_bytes(seeds, tables["contexts"]),
        "policies.safetensors": array_bytes(policies, {"seeds": seeds}),
        "summary.json": json_bytes(summary),  # last
    }
    if not may_finish:  # the process that trains here appends to its tables
        contents = {name: one for name, one in contents.items() if not _is_growing(path, name)}
    write_files(path, contents)
    if is_finished:
        for one in files:
            one.discard_previous()
        forget_replaced(path)


def _is_growing(path: Path, name: str) -> bool:
    return name in TABLES and (path / name).exists() and name not in (read_checksums(path) or {})


def _planned_rows(experiment: Experiment, table: Columns) -> Columns:
    """Leave out the evaluation at the former end of a run that was extended."""
    planned = [experiment.evaluates_after(moment) for moment in table["iteration"].tolist()]
    rows = {name: column[np.array(planned, bool)] for name, column in table.items()}
    is_last = rows["iteration"] == experiment.iterations
    for name in (name for name in rows if name.startswith(PREFIX)):  # kept at the former end
        rows[name] = np.where(is_last[:, None], rows[name], np.nan)
    return {name: column for name, column in rows.items() if not _is_former(name, column)}


def _is_former(name: str, column: Array) -> bool:
    return name.startswith(PREFIX) and bool(np.isnan(column).all())


def _summarise(
    experiment: Experiment, evaluations: Columns, iterations: int, failures: Sequence[Saved]
) -> Notes:
    """Performance at the last evaluation that all seeds have, except those that failed."""
    failed = {one.notes["failure"]["seed"] for one in failures}
    counted = np.array([seed not in failed for seed in experiment.seeds])
    outcome: Notes = {"evaluated_at": None}
    if counted.any():
        complete = np.isfinite(evaluations["return"][:, counted]).all(axis=1)
        last = int(np.flatnonzero(complete)[-1])
        rows = {name: column[: last + 1] for name, column in evaluations.items()}
        final = {name: final_values(rows, name) for name in _FINAL}
        outcome = {
            "evaluated_at": int(rows["iteration"][-1]),
            "final_return": _statistics(final["return"], counted),
            "final_return_deterministic": _statistics(final["deterministic_return"], counted),
            "final_success_rate": final["success"][counted].mean(),
            "final_success_rate_deterministic": final["deterministic_success"][counted].mean(),
        }
        if (column := rows.get(f"{PREFIX}iteration")) is not None:
            outcome["kept_iterations"] = [int(one) if one == one else None for one in column[-1]]
    return {
        "problem": experiment.problem_name,
        "teacher": experiment.teacher_name,
        "learner": experiment.learner_name,
        "seeds": experiment.seeds,
        "failed_seeds": [one.notes["failure"] for one in failures],
        "iterations": iterations,
        **outcome,
    }


def _statistics(per_seed: Array, counted: Array) -> Notes:
    """Mean and standard error over the seeds that did not fail; a failed seed has no value."""
    mean, error = mean_and_standard_error(per_seed[counted])
    values = np.where(counted, per_seed, np.nan)
    return {"mean": mean, "standard_error": error, "per_seed": values}


def _describe_timing(
    experiment: Experiment, iterations: int, wall_seconds: float, saved: Sequence[Saved]
) -> Notes:
    """Blocks run side by side, so the seconds are those of the slowest."""
    slowest = max((one.notes for one in saved), key=lambda notes: float(notes["training_seconds"]))
    steps = iterations * experiment.steps_per_iteration * len(experiment.seeds)
    seconds = max(wall_seconds, slowest["training_seconds"])
    return {
        "environment_steps": steps,
        "wall_seconds": wall_seconds,  # from the command to this file
        "training_seconds": slowest["training_seconds"],  # of it in the training loop
        "teacher_seconds": slowest["teacher_seconds"],  # of it in the teacher
        "steps_per_second": steps / seconds if seconds else None,
    }
