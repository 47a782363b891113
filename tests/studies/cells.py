"""Cells with invented results, and a stand-in for training."""

import numpy as np

from selfpaced import RunFolder
from selfpaced.errors import InterruptedRunError
from selfpaced.runs.checkpoint import FORMAT
from selfpaced.runs.replacement import create_run
from selfpaced.runs.storage import write_arrays, write_csv, write_json
from selfpaced.runs.tables import contexts_bytes

LEVEL = {"spdl": 9.0, "default": 1.0, "random": 5.0}


def invent_results(path, experiment):
    """Write the files of a finished run; returns rise linearly to the teacher's level."""
    level = LEVEL[experiment.teacher_name]
    rows = [
        (moment, seed, level * moment / experiment.iterations + 0.1 * seed, 0.5)
        for moment in experiment.evaluation_iterations
        for seed in experiment.seeds
    ]
    write_csv(path / "evaluations.csv", ["iteration", "seed", "return", "success"], rows)
    write_csv(path / "metrics.csv", ["iteration", "seed"], [])
    moments = np.array(experiment.evaluation_iterations)
    samples = np.ones((len(moments), len(experiment.seeds), 4, experiment.resolved.contexts.size))
    columns = {"iteration": moments, "samples": samples}
    (path / "contexts.npz").write_bytes(contexts_bytes(experiment.seeds, columns))
    write_json(path / "summary.json", {"finished": True, "iterations": 20, "wall_seconds": 2.5})


def make_finished(cell):
    create_run(cell.path, cell.experiment, [cell.experiment.seeds])
    invent_results(cell.path, cell.experiment)


def save_iteration(folder, iteration):
    """Write a checkpoint without arrays."""
    (files,) = folder.files()
    notes = {"format": FORMAT, "seeds": files.seeds, "iteration": iteration, "policy": []}
    seconds = {"training_seconds": 1.0, "teacher_seconds": 0.5}
    write_arrays(files.newest, {}, notes | seconds | {"log_size": 0, "log_checksum": ""})


def make_unfinished(cell):
    folder = create_run(cell.path, cell.experiment, [cell.experiment.seeds])
    save_iteration(folder, 3)


class Trainer:
    """Stands in for `run` and `resume`, and records their calls."""

    def __init__(self):
        self.calls = []
        self.stop_at = None  # a folder name
        self.failure = InterruptedRunError("stopped before the first iteration was saved")

    def run(self, experiment, out, workers=None, overwrite=False, listener=None, **_):
        assert not overwrite
        self.calls.append(("run", out.name))
        create_run(out, experiment, [experiment.seeds])
        self._train(out, experiment)

    def resume(self, path, listener=None, **_):
        self.calls.append(("resume", path.name))
        self._train(path, RunFolder(path).experiment())

    def _train(self, path, experiment):
        if path.name == self.stop_at:
            save_iteration(RunFolder(path), 1)
            raise self.failure
        invent_results(path, experiment)
