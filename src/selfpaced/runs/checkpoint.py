"""A block of seeds saved to one file: enough to continue bit-identically."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from selfpaced.errors import SelfpacedError
from selfpaced.experiment import Experiment
from selfpaced.learners.base import KeepsReplay
from selfpaced.records import Array
from selfpaced.runs.history import Columns, History, Table
from selfpaced.runs.storage import (
    Notes,
    name_leaves,
    read_arrays,
    read_notes,
    restore_leaves,
    write_arrays,
)
from selfpaced.training.loop import AnyLoop, AnyState, TrainingState

FORMAT = 2  # of checkpoints; the first had no number


class OutdatedCheckpointError(SelfpacedError):
    """Raised for a checkpoint that another version of this library has written."""


@dataclass
class Checkpoint:
    """State and record after some iterations, and the seconds that they took."""

    experiment: Experiment
    state: AnyState
    history: History = field(default_factory=History.empty)
    iteration: int = 0
    training_seconds: float = 0.0
    teacher_seconds: float = 0.0

    @classmethod
    def start(cls, training: AnyLoop, experiment: Experiment) -> Checkpoint:
        """Return the checkpoint before the first iteration."""
        return cls(experiment, training.init())

    def save(self, path: Path) -> None:
        """Write everything to one file; the previous one stays until the new one is complete."""
        arrays = name_leaves("learner", self.state.learner)
        notes: Notes = {
            "format": FORMAT,
            "iteration": self.iteration,
            "training_seconds": self.training_seconds,
            "teacher_seconds": self.teacher_seconds,
            "policy": list(
                name_leaves("learner", without_replay(self.experiment, self.state.learner))
            ),
        }
        arrays |= name_leaves("actors", self.state.actors)
        arrays |= name_leaves("teachers", self.state.teachers)
        for table, rows in self.history._asdict().items():
            arrays |= {f"{table}/{name}": column for name, column in rows.columns().items()}
        write_arrays(path, arrays, notes)

    def restore(self, path: Path) -> Checkpoint:
        """Return what was saved; this checkpoint gives structure, types and shapes."""
        arrays, notes = read_arrays(path)
        _require_format(path, notes)
        state = TrainingState(
            restore_leaves("learner", self.state.learner, arrays),
            restore_leaves("actors", self.state.actors, arrays),
            # a teacher's memory may have grown, everything else keeps its shape
            restore_leaves("teachers", self.state.teachers, arrays, same_shape=False),
        )
        return Checkpoint(
            self.experiment,
            state,
            History(*(Table(_table(arrays, name)) for name in History._fields)),
            notes["iteration"],
            notes["training_seconds"],
            notes["teacher_seconds"],
        )


class Saved(NamedTuple):
    """The parts of a checkpoint that go into the files of a run folder."""

    iteration: int
    training_seconds: float
    teacher_seconds: float
    tables: dict[str, Columns]
    policy: dict[str, Array]  # arrays [S, ...] of the learner, without past steps


def read_saved(path: Path) -> Saved:
    """Read a checkpoint without the experiment's code."""
    notes = read_notes(path)
    _require_format(path, notes)
    policy = set(notes["policy"])
    prefixes = tuple(f"{table}/" for table in History._fields)
    arrays, _ = read_arrays(path, lambda name: name in policy or name.startswith(prefixes))
    return Saved(
        notes["iteration"],
        notes["training_seconds"],
        notes["teacher_seconds"],
        {table: _table(arrays, table) for table in History._fields},
        {name: array for name, array in arrays.items() if name in policy},
    )


def without_replay(experiment: Experiment, learner_state: object) -> object:
    """Return the states of learners as they are exported: past steps are for training only."""
    policy = experiment.method.policy
    return (
        policy.without_replay(learner_state) if isinstance(policy, KeepsReplay) else learner_state
    )


def concatenate_seeds(parts: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """Return the arrays of several blocks with all seeds on the first axis."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _table(arrays: dict[str, Array], table: str) -> Columns:
    prefix = f"{table}/"
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _require_format(path: Path, notes: Notes) -> None:
    found = notes.get("format", 1)
    if found != FORMAT:
        raise OutdatedCheckpointError(
            f"format of {path} must be {FORMAT}, got {found}; finish the run with the version of "
            "selfpaced that started it, or run it again"
        )
