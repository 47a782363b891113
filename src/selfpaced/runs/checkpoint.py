"""The state of a block of seeds after some iterations: enough to continue bit-identically.

What has been recorded before is not part of it (see `history_log`), so its size depends neither on
the past nor on the planned iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.learners.base import KeepsReplay
from selfpaced.records import Array
from selfpaced.runs.history import History
from selfpaced.runs.history_log import START, Mark
from selfpaced.runs.kept import Kept
from selfpaced.runs.storage import (
    Notes,
    array_bytes,
    name_leaves,
    read_arrays,
    read_notes,
    restore_leaves,
)
from selfpaced.training.loop import AnyLoop, AnyState, TrainingState
from selfpaced.validation import require_members

FORMAT = 3  # of checkpoints; the first had no number, the second held the whole record

_NOTES = {
    "seeds": list[int],
    "iteration": int,
    "training_seconds": float,
    "teacher_seconds": float,
    "log_size": int,
    "log_checksum": str,
    "policy": list[str],
}

_KEPT = "kept"  # before the names of arrays

T = TypeVar("T")


class OutdatedCheckpointError(SelfpacedError):
    """Raised for a checkpoint that another version of this library has written."""


@dataclass
class Checkpoint:
    """State after some iterations, the seconds that they took, and the rows since the last one."""

    experiment: Experiment
    seeds: tuple[int, ...]
    state: AnyState
    history: History = field(default_factory=History.empty)
    iteration: int = 0
    training_seconds: float = 0.0
    teacher_seconds: float = 0.0
    mark: Mark = START  # of the record that belongs to it
    failure: Notes | None = None  # why a seed was set aside
    kept: Kept | None = None  # the best policies, if the experiment keeps them

    @classmethod
    def start(cls, training: AnyLoop, experiment: Experiment) -> Checkpoint:
        """Return the checkpoint before the first iteration."""
        return cls(experiment, training.seeds, training.init())

    @classmethod
    def without_teachers(cls, training: AnyLoop, experiment: Experiment) -> Checkpoint:
        """Return it for seeds of which some have no teacher, because its `init` fails."""
        no_states: tuple[tuple[()], ...] = ((),) * len(training.seeds)
        learners = training.init_learners()
        return cls(experiment, training.seeds, TrainingState(learners, (), no_states))

    def content(self) -> bytes:
        """Return everything but the rows as the content of a file."""
        kept = {} if self.kept is None else name_leaves(_KEPT, self.kept)
        policy = name_leaves("learner", without_replay(self.experiment, self.state.learner))
        exported = [_KEPT + "/" + name for name in policy] if kept else list(policy)
        notes: Notes = {
            "format": FORMAT,
            "seeds": self.seeds,
            "iteration": self.iteration,
            "training_seconds": self.training_seconds,
            "teacher_seconds": self.teacher_seconds,
            "log_size": self.mark.size,
            "log_checksum": self.mark.checksum,
            "policy": exported,
            "failure": self.failure,
        }
        arrays = name_leaves("learner", self.state.learner)
        arrays |= name_leaves("actors", self.state.actors)
        arrays |= name_leaves("teachers", self.state.teachers) | kept
        return array_bytes(arrays, notes)

    def restore(self, path: Path) -> Checkpoint:
        """Return what was saved; this checkpoint gives structure, types and shapes."""
        notes = read_checked_notes(path)
        arrays, _ = read_arrays(path, is_signed=True)
        require(
            tuple(notes["seeds"]) == self.seeds,
            f"{path} must hold the seeds {self.seeds}, got {tuple(notes['seeds'])}; is it of "
            "another block?",
        )
        state = self.state  # before the first iteration, which is a function of the seeds
        if notes["iteration"] > 0:
            state = TrainingState(
                restore_leaves("learner", self.state.learner, arrays),
                restore_leaves("actors", self.state.actors, arrays),
                # a teacher's memory may have grown, everything else keeps its shape
                restore_leaves("teachers", self.state.teachers, arrays, same_shape=False),
            )
        return Checkpoint(
            self.experiment,
            self.seeds,
            state,
            iteration=notes["iteration"],
            training_seconds=notes["training_seconds"],
            teacher_seconds=notes["teacher_seconds"],
            mark=mark_of(notes),
            kept=self._restore_kept(arrays),
        )

    def _restore_kept(self, arrays: dict[str, Array]) -> Kept | None:
        if not any(name.startswith(f"{_KEPT}/") for name in arrays):
            return None
        learner = without_replay(self.experiment, self.state.learner)
        num = len(self.seeds)
        template = Kept(learner, np.zeros(num), np.zeros(num, np.int64))
        return restore_leaves(_KEPT, template, arrays)

    def of_seeds(self, seeds: Sequence[int], **changes: Any) -> Checkpoint:
        """Return the checkpoint of some of the seeds, without rows."""
        places = [self.seeds.index(seed) for seed in seeds]
        state = TrainingState(
            _take_seeds(self.state.learner, places, len(self.seeds)),
            _take_seeds(self.state.actors, places, len(self.seeds)),
            tuple(self.state.teachers[place] for place in places),
        )
        kept = None if self.kept is None else _take_seeds(self.kept, places, len(self.seeds))
        changes = {"kept": kept, "history": History.empty()} | changes
        return replace(self, seeds=tuple(seeds), state=state, **changes)


class Saved(NamedTuple):
    """The parts of a checkpoint that go into the files of a run folder."""

    notes: Notes
    policy: dict[str, Array]  # arrays [S, ...] of the learner, without past steps

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that it holds."""
        return tuple(self.notes["seeds"])


def read_saved(path: Path) -> Saved:
    """Read a checkpoint without the experiment's code."""
    notes = read_checked_notes(path)
    policy = set(notes["policy"])
    arrays, _ = read_arrays(path, policy.__contains__, is_signed=True)
    return Saved(notes, {name.removeprefix(f"{_KEPT}/"): array for name, array in arrays.items()})


def read_checked_notes(path: Path) -> Notes:
    """Return the notes of a checkpoint without reading its arrays.

    Raises:
        OutdatedCheckpointError: it is of another version.
        SelfpacedError: it is damaged.
    """
    notes = read_notes(path)
    found = notes.get("format", 1)
    if found != FORMAT:
        read_arrays(path)  # or raise: it is damaged
        raise OutdatedCheckpointError(
            f"format of {path} must be {FORMAT}, got {found}; finish the run with the version of "
            "selfpaced that started it, or run it again"
        )
    return require_members(f"the notes of {path}", notes, _NOTES, {"failure": dict | None})


def mark_of(notes: Notes) -> Mark:
    """Return how far the record was when a checkpoint was saved."""
    return Mark(notes["log_size"], notes["log_checksum"])


def without_replay(experiment: Experiment, learner_state: object) -> object:
    """Return the states of learners as they are exported: past steps are for training only."""
    policy = experiment.method.policy
    return (
        policy.without_replay(learner_state) if isinstance(policy, KeepsReplay) else learner_state
    )


def order_seeds(parts: Sequence[Saved], seeds: Sequence[int]) -> dict[str, Array]:
    """Return the policies of all parts as arrays with the given seeds on the first axis."""
    found = [seed for part in parts for seed in part.seeds]
    places = [found.index(seed) for seed in seeds]
    return {
        name: np.concatenate([part.policy[name] for part in parts])[places]
        for name in parts[0].policy
    }


def _take_seeds(tree: T, places: Sequence[int], num_seeds: int) -> T:
    """Arrays [S, ...], and those of simulations [S * N, ...], of some seeds."""
    import jax

    def take(leaf: Any) -> Array:
        array = np.asarray(leaf)
        apart = array.reshape(num_seeds, -1, *array.shape[1:])[list(places)]
        return apart.reshape(-1, *array.shape[1:])

    taken: T = jax.tree.map(take, tree)
    return taken
