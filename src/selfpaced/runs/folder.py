"""A run folder: one experiment and its results, in files that other tools can read.

experiment.json       every setting, the versions used, the blocks of seeds
metrics.csv           one row per iteration and seed
evaluations.csv       one row per evaluation and seed: performance on the target
contexts.npz          samples, mean and Cholesky factor of the contexts at every evaluation
policies.safetensors  the learner of every seed after the last iteration, without past steps
summary.json          the outcome
start.safetensors     the learner that the run started from, if one was given
advice.json           what kept the curriculum from working, if anything did
figures/              figures
checkpoints/          only while the run is not finished
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.runs.advice import read_advice
from selfpaced.runs.checkpoint import without_replay
from selfpaced.runs.storage import Notes, read_arrays, read_json, read_notes, restore_leaves
from selfpaced.runs.tables import read_contexts, read_table


@dataclass(frozen=True)
class RunFolder:
    """Reads the files of one run.

    Args:
        path: the folder; it does not have to exist yet.

    Example:
        >>> from selfpaced import RunFolder
        >>> folder = RunFolder("runs/point-mass-3d-spdl-ppo")
        >>> folder.experiment().problem, folder.is_finished
        ('point-mass-3d', True)
    """

    path: Path

    def __post_init__(self) -> None:
        path = Path(self.path)  # strings are accepted
        if path.is_symlink() or path.name in ("", ".."):
            path = path.resolve()  # it needs a name: locks are files beside the folder itself
        object.__setattr__(self, "path", path)

    @property
    def is_finished(self) -> bool:
        """Whether the last iteration has been exported (the summary is written last)."""
        return (self.path / "summary.json").exists() and bool(self.summary()["finished"])

    @property
    def figures(self) -> Path:
        """Folder of the figures."""
        return self.path / "figures"

    @property
    def start_path(self) -> Path:
        """File of the learner that the run started from; it exists only if one was given."""
        return self.path / "start.safetensors"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    def description(self) -> Notes:
        """Return the content of `experiment.json`."""
        description = read_json(self.path / "experiment.json")
        required = {"experiment", "blocks"}
        require(
            isinstance(description, dict) and required <= description.keys(),
            f"{self.path / 'experiment.json'} must have {' and '.join(sorted(required))}; "
            "was it written by selfpaced?",
        )
        return dict(description)

    def experiment(self) -> Experiment:
        """Return the experiment of this run."""
        plain = self.description()["experiment"]
        try:
            return Experiment.from_dict(plain)
        except SelfpacedError as error:
            raise SelfpacedError(f"{self.path / 'experiment.json'}: {error}") from error

    def blocks(self) -> list[tuple[int, ...]]:
        """Return the seeds of every block; a resumed run must not change them."""
        return [tuple(block) for block in self.description()["blocks"]]

    def checkpoint_path(self, block: int) -> Path:
        """Return the file of a block's checkpoint."""
        return self.checkpoints / f"block-{block}.safetensors"

    def log_path(self, block: int) -> Path:
        """Return the file for the output of a block's process."""
        return self.checkpoints / f"block-{block}.log"

    def saved_iterations(self) -> list[int]:
        """Return the number of iterations that each block of an unfinished run has saved."""
        paths = [self.checkpoint_path(block) for block in range(len(self.blocks()))]
        return [int(read_notes(path)["iteration"]) if path.exists() else 0 for path in paths]

    def iteration(self) -> int:
        """Return the number of iterations that all blocks of an unfinished run have saved."""
        return min(self.saved_iterations())

    def require_checkpoints(self) -> None:
        """Raise `SelfpacedError` if a run would start again and overwrite its results."""
        results = [f for f in ("evaluations.csv", "metrics.csv") if (self.path / f).exists()]
        has_summary = (self.path / "summary.json").exists()
        require(
            self.checkpoints.is_dir() or not results,
            f"{self.path} holds {' and '.join(results)} but "
            f"{'checkpoints' if has_summary else 'summary.json'} is missing; restore it, or run "
            "the experiment again",
        )

    def summary(self) -> Notes:
        """Return the content of `summary.json`."""
        path = self.path / "summary.json"
        summary = read_json(path)
        required = {"finished", "iterations"}
        is_complete = isinstance(summary, dict) and required <= summary.keys()
        require(is_complete, f"{path} must have finished and iterations; restore it or run again")
        return dict(summary)

    def advice(self) -> list[Notes]:
        """Return the warnings of this run, each with its iteration and text."""
        return read_advice(self.path)

    def evaluations(self) -> dict[str, Array]:
        """Return the columns of `evaluations.csv` as arrays [E, S]; `iteration` is [E]."""
        return read_table(self.path / "evaluations.csv", len(self.experiment().seeds))

    def metrics(self) -> dict[str, Array]:
        """Return the columns of `metrics.csv` as arrays [I, S]; `iteration` is [I]."""
        return read_table(self.path / "metrics.csv", len(self.experiment().seeds))

    def contexts(self) -> dict[str, Array]:
        """Return the arrays of `contexts.npz`: iteration [E], samples [E, S, K, C], ..."""
        return read_contexts(self.path / "contexts.npz")

    def learner_states(self) -> Any:
        """Return the learner of every seed, arrays with a leading axis of seeds, without replay."""
        experiment = self.experiment()
        with experiment.training(experiment.seeds) as training:
            template = without_replay(experiment, training.init_learners())
        path = self.path / "policies.safetensors"
        arrays, _ = read_arrays(path)
        try:
            return restore_leaves("learner", template, arrays)
        except SelfpacedError as error:
            raise SelfpacedError(f"{path}: {error}") from error


def folder_name(*names: str) -> str:
    """Return a name for a folder without characters that shells or file systems reject."""
    return "-".join(names).replace(":", "-").replace("*", "-star")
