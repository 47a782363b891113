"""Export checkpoints as the files that people and other tools read."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.runs.checkpoint import (
    OutdatedCheckpointError,
    Saved,
    concatenate_seeds,
    read_saved,
)
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.history import Columns, History, join_seeds
from selfpaced.runs.locks import export_lock, training_lock
from selfpaced.runs.replacement import forget_replaced
from selfpaced.runs.storage import Notes, write_arrays, write_json
from selfpaced.runs.tables import write_contexts, write_table
from selfpaced.statistics import mean_and_standard_error


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
            folder.iteration() > 0 or has_older,
            f"{folder.path} has no saved iteration yet; wait for the first checkpoint, or continue "
            "with `selfpaced resume` if no process is training there",
        )
        if folder.iteration() > 0:
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
    experiment, blocks, path = folder.experiment(), folder.blocks(), folder.path
    if (path / "summary.json").exists():  # of an earlier part of this run
        wall_seconds += folder.summary()["wall_seconds"]
    saved = [read_saved(folder.checkpoint_path(block)) for block in range(len(blocks))]
    widths = [len(block) for block in blocks]
    tables = {
        name: join_seeds([one.tables[name] for one in saved], widths) for name in History._fields
    }
    iterations = min(one.iteration for one in saved)
    write_table(path / "metrics.csv", experiment.seeds, tables["metrics"])
    write_table(path / "evaluations.csv", experiment.seeds, tables["evaluations"])
    write_contexts(path / "contexts.npz", experiment.seeds, tables["contexts"])
    policies = concatenate_seeds([one.policy for one in saved])
    write_arrays(path / "policies.safetensors", policies, {"seeds": experiment.seeds})
    is_finished = may_finish and iterations == experiment.iterations
    summary = _summarise(experiment, tables["evaluations"], iterations) | {"finished": is_finished}
    summary |= _describe_timing(experiment, iterations, wall_seconds, saved)
    write_json(path / "summary.json", summary)
    if is_finished:
        shutil.rmtree(folder.checkpoints)
        forget_replaced(path)


def _summarise(experiment: Experiment, evaluations: Columns, iterations: int) -> Notes:
    """Performance at the last evaluation that all seeds have."""
    complete = np.isfinite(evaluations["return"]).all(axis=1)
    last = int(np.flatnonzero(complete)[-1])

    def statistics(name: str) -> Notes:
        per_seed = evaluations[name][last]
        mean, error = mean_and_standard_error(per_seed)
        return {"mean": mean, "standard_error": error, "per_seed": per_seed}

    return {
        "problem": experiment.problem_name,
        "teacher": experiment.teacher_name,
        "learner": experiment.learner_name,
        "seeds": experiment.seeds,
        "iterations": iterations,
        "evaluated_at": int(evaluations["iteration"][last]),
        "final_return": statistics("return"),
        "final_return_deterministic": statistics("deterministic_return"),
        "final_success_rate": evaluations["success"][last].mean(),
        "final_success_rate_deterministic": evaluations["deterministic_success"][last].mean(),
    }


def _describe_timing(
    experiment: Experiment, iterations: int, wall_seconds: float, saved: Sequence[Saved]
) -> Notes:
    """Blocks run side by side, so the seconds are those of the slowest."""
    slowest = max(saved, key=lambda one: one.training_seconds)
    steps = iterations * experiment.steps_per_iteration * len(experiment.seeds)
    return {
        "environment_steps": steps,
        "wall_seconds": wall_seconds,  # from the command to this file
        "training_seconds": slowest.training_seconds,  # of it in the training loop
        "teacher_seconds": slowest.teacher_seconds,  # of it in the teacher
        "steps_per_second": steps / max(wall_seconds, slowest.training_seconds),
    }
