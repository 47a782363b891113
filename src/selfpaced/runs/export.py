"""What people and other tools read of a run: written from its checkpoints, and read again."""

from __future__ import annotations

import csv
import io
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.runs.storage import write_bytes, write_csv
from selfpaced.statistics import mean_and_standard_error


def write_history(path: Path, experiment: Experiment, columns: dict[str, Array]) -> None:
    """Write `metrics.csv`, `evaluations.csv` and `contexts.npz` into this folder."""
    moments = np.array(experiment.evaluation_iterations)
    tables = {"metrics": np.arange(1, experiment.iterations + 1), "evaluations": moments}
    for table, iterations in tables.items():
        names = [name for name in columns if name.startswith(f"{table}/")]
        # an unfinished run has fewer rows; no single metric has to be there in all of them
        happened = np.any([np.isfinite(columns[name]).any(axis=1) for name in names], axis=0)
        rows = (
            [iteration, seed, *(columns[name][row, index] for name in names)]
            for row, iteration in enumerate(iterations)
            if happened[row]
            for index, seed in enumerate(experiment.seeds)
        )
        header = ["iteration", "seed", *(name.removeprefix(f"{table}/") for name in names)]
        write_csv(path / f"{table}.csv", header, rows)
    arrays = {
        name.removeprefix("contexts/"): column
        for name, column in columns.items()
        if name.startswith("contexts/")
    }
    happened = np.any(np.isfinite(arrays["samples"]), axis=(1, 2, 3))
    arrays = {name: array[happened] for name, array in arrays.items()}
    arrays |= {"iteration": moments[happened], "seeds": np.array(experiment.seeds)}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    write_bytes(path / "contexts.npz", buffer.getvalue())


def summarise(experiment: Experiment, columns: dict[str, Array], iterations: int) -> dict[str, Any]:
    """How the policies did at the last evaluation that all seeds have."""
    returns = columns["evaluations/return"]
    complete = np.isfinite(returns).all(axis=1)
    last = int(np.flatnonzero(complete)[-1])

    def statistics(name: str) -> dict[str, Any]:
        per_seed = columns[f"evaluations/{name}"][last]
        mean, error = mean_and_standard_error(per_seed)
        return {"mean": mean, "standard_error": error, "per_seed": per_seed}

    return {
        "problem": experiment.problem,
        "teacher": experiment.teacher_name,
        "learner": experiment.learner_name,
        "seeds": experiment.seeds,
        "iterations": iterations,
        "evaluated_at": experiment.evaluation_iterations[last],
        "final_return": statistics("return"),
        "final_return_deterministic": statistics("deterministic_return"),
        "final_success_rate": columns["evaluations/success"][last].mean(),
        "final_success_rate_deterministic": columns["evaluations/deterministic_success"][
            last
        ].mean(),
    }


def describe_timing(
    experiment: Experiment, iterations: int, wall_seconds: float, notes: list[dict[str, Any]]
) -> dict[str, Any]:
    """Blocks run side by side: seconds are those of the slowest."""
    slowest = max(notes, key=lambda note: note["training_seconds"])
    steps = iterations * experiment.steps_per_iteration * len(experiment.seeds)
    return {
        "environment_steps": steps,
        "wall_seconds": wall_seconds,  # from the command to this file
        "training_seconds": slowest["training_seconds"],  # of it in the training loop
        "teacher_seconds": slowest["teacher_seconds"],  # of it in the teacher
        "steps_per_second": steps / max(wall_seconds, slowest["training_seconds"]),
    }


def read_table(path: Path, num_seeds: int) -> dict[str, Array]:
    """Columns of a table as arrays [rows, S]; `iteration` is [rows]."""
    try:
        with open(path, newline="") as file:
            names = next(csv.reader(file), [])
        require("iteration" in names, f"{path} is damaged (no column 'iteration'); run again")
        table = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
        columns = table.reshape(-1, num_seeds, len(names))
    except OSError:
        raise SelfpacedError(f"{path} is missing: has the run been finished?") from None
    except SelfpacedError:
        raise
    except ValueError as error:
        raise SelfpacedError(f"{path} is damaged ({error}); run again") from None
    named = {name: columns[:, :, index] for index, name in enumerate(names)}
    named["iteration"] = named["iteration"][:, 0].astype(int)
    return named


def read_contexts(path: Path) -> dict[str, Array]:
    """The arrays of `contexts.npz`."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise SelfpacedError(f"{path} is missing: has the run been finished?") from None
    except (ValueError, OSError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise SelfpacedError(f"{path} is damaged ({error}); run again") from None
