"""A block of seeds, frozen: enough to go on as if nothing had happened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from selfpaced.experiment import Experiment
from selfpaced.runs.history import History
from selfpaced.runs.storage import name_leaves, read_arrays, restore_leaves, write_arrays
from selfpaced.training.loop import Training, TrainingState

REPLAY = "learner/replay/"  # past steps: they are many, and only training needs them


@dataclass
class Checkpoint:
    """State and record after some iterations, and the seconds that they took."""

    state: TrainingState
    history: History
    iteration: int = 0
    training_seconds: float = 0.0
    teacher_seconds: float = 0.0

    @classmethod
    def begin(cls, training: Training, experiment: Experiment) -> Checkpoint:
        """Before the first iteration."""
        return cls(training.init(), History(experiment, len(training.seeds)))

    def save(self, path: Path) -> None:
        """Write everything to one file; the previous one stays until the new one is complete."""
        history = {f"history/{name}": column for name, column in self.history.columns.items()}
        notes = {
            "iteration": self.iteration,
            "training_seconds": self.training_seconds,
            "teacher_seconds": self.teacher_seconds,
        }
        write_arrays(path, name_leaves("state", self.state) | history, notes)

    def restore(self, path: Path) -> Checkpoint:
        """What was saved there; self serves as the template."""
        arrays, notes = read_arrays(path)
        # a teacher's memory may have grown, everything else keeps its shape
        state = TrainingState(
            restore_leaves("state/learner", self.state.learner, arrays),
            restore_leaves("state/actors", self.state.actors, arrays),
            restore_leaves("state/teachers", self.state.teachers, arrays, same_shape=False),
        )
        history = History(self.history.experiment, self.history.num_seeds, history_columns(arrays))
        return Checkpoint(state, history, **notes)


def is_for_people(name: str) -> bool:
    """Whether an array goes into the files that people read: the record, the policies."""
    is_learner = name.startswith("state/learner/") and not name.startswith(f"state/{REPLAY}")
    return is_learner or name.startswith("history/")


def history_columns(arrays: dict) -> dict:
    """The part of a checkpoint that is the record."""
    return {
        name.removeprefix("history/"): array
        for name, array in arrays.items()
        if name.startswith("history/")
    }
