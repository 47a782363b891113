"""A run folder: one experiment and all that came of it, in files that other tools can read.

experiment.json       every setting, the versions used, which seeds ran side by side
metrics.csv           one row per iteration and seed
evaluations.csv       one row per evaluation and seed: how the policy does on the target
contexts.npz          samples, mean and Cholesky factor of the contexts at every evaluation
policies.safetensors  the learner of every seed after the last iteration, without its past steps
summary.json          the outcome
figures/              pictures
checkpoints/          only while the run is not finished
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.runs.checkpoint import REPLAY, history_columns, is_for_people
from selfpaced.runs.description import describe
from selfpaced.runs.export import (
    describe_timing,
    read_contexts,
    read_table,
    summarise,
    write_history,
)
from selfpaced.runs.history import join
from selfpaced.runs.locks import locked
from selfpaced.runs.replacement import forget_replaced, set_aside, withdraw
from selfpaced.runs.storage import (
    name_leaves,
    read_arrays,
    read_json,
    read_notes,
    restore_leaves,
    write_arrays,
    write_json,
)


@dataclass(frozen=True)
class RunFolder:
    """Reads and writes the files of one run."""

    path: Path

    def __post_init__(self) -> None:
        path = Path(self.path)  # strings are welcome
        if path.is_symlink() or path.name in ("", ".."):
            path = path.resolve()  # it needs a name, and locks stand beside the folder itself
        object.__setattr__(self, "path", path)

    @classmethod
    def create(
        cls,
        path: Path,
        experiment: Experiment,
        blocks: list[tuple[int, ...]],
        overwrite: bool = False,
    ) -> RunFolder:
        """Begin a new run here; what is already here goes only if that was asked for."""
        folder = cls(path)
        path = folder.path
        description = describe(experiment, blocks)  # or say what is wrong, before anything moves
        if not path.exists():
            withdraw(path)  # a run that was set aside for one that is gone
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            folder._make_room(overwrite)
        try:
            write_json(path / "experiment.json", description)
        except OSError as error:
            withdraw(path)
            raise SelfpacedError(
                f"cannot write to {path} ({error.strerror}); choose another folder with --out"
            ) from error
        return folder

    def _make_room(self, overwrite: bool) -> None:
        """Move what is here aside, from where it comes back if the new run saves nothing."""
        is_run = (self.path / "experiment.json").exists()
        require(
            is_run or not overwrite,
            f"{self.path} is not a run folder, so --overwrite will not delete it; "
            "choose another folder with --out",
        )
        if not overwrite:
            hint = "" if not is_run or self.is_finished else "resume it with `selfpaced resume`, "
            replacing = ", or replace it with --overwrite" if is_run else ""
            raise SelfpacedError(
                f"{self.path} already exists; {hint}choose another folder with --out{replacing}"
            )
        if not (self.path / "summary.json").exists() and not self._may_be_resumed():
            withdraw(self.path)  # of no value; what it was to replace may still be there
        if self.path.exists():
            set_aside(self.path)

    def _may_be_resumed(self) -> bool:
        try:
            return self.iteration() > 0
        except SelfpacedError:  # damaged, but there was something
            return True

    @contextmanager
    def occupied(self) -> Iterator[IO[str]]:
        """Nobody else may train here, replace the run or finish it meanwhile."""
        with ExitStack() as stack:
            try:
                lock = stack.enter_context(locked(self._beside("training"), wait=False))
            except BlockingIOError:
                raise SelfpacedError(
                    f"another process is training in {self.path}; wait for it, or stop it"
                ) from None
            except OSError as error:
                raise SelfpacedError(
                    f"cannot write to {self.path} ({error.strerror}); choose another folder"
                ) from error
            yield lock

    def _beside(self, what: str) -> Path:
        return self.path.with_name(f".{self.path.name}.{what}")

    @property
    def is_finished(self) -> bool:
        """Whether the last iteration has been made and written out (the summary comes last)."""
        return (self.path / "summary.json").exists() and self.summary()["finished"]

    @property
    def figures(self) -> Path:
        """Where pictures go."""
        return self.path / "figures"

    def description(self) -> dict[str, Any]:
        """The content of `experiment.json`."""
        description = read_json(self.path / "experiment.json")
        wanted = {"experiment", "blocks"}
        require(
            isinstance(description, dict) and wanted <= description.keys(),
            f"{self.path / 'experiment.json'} lacks {' and '.join(sorted(wanted))}; "
            "was it written by selfpaced?",
        )
        return description

    def experiment(self) -> Experiment:
        """The experiment that ran or runs here."""
        plain = self.description()["experiment"]
        try:
            return Experiment.from_dict(plain)
        except SelfpacedError as error:
            raise SelfpacedError(f"{self.path / 'experiment.json'}: {error}") from error

    def blocks(self) -> list[tuple[int, ...]]:
        """Which seeds advance together; a resumed run must not change that."""
        return [tuple(block) for block in self.description()["blocks"]]

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def checkpoint_path(self, block: int) -> Path:
        """Where a block keeps its checkpoint."""
        return self._checkpoints / f"block-{block}.safetensors"

    def log_path(self, block: int) -> Path:
        """Where what the process of a block prints goes."""
        return self._checkpoints / f"block-{block}.log"

    def saved_iterations(self) -> list[int]:
        """How many iterations each block of an unfinished run has saved."""
        paths = [self.checkpoint_path(block) for block in range(len(self.blocks()))]
        return [read_notes(path)["iteration"] if path.exists() else 0 for path in paths]

    def require_checkpoints(self) -> None:
        """Without them a run would begin again, and write over what is there."""
        results = [f for f in ("evaluations.csv", "metrics.csv") if (self.path / f).exists()]
        has_summary = (self.path / "summary.json").exists()
        require(
            self._checkpoints.is_dir() or not results,
            f"{self.path} holds {' and '.join(results)} but "
            f"{'checkpoints' if has_summary else 'summary.json'} is missing: restore it, or run "
            "the experiment again",
        )

    def iteration(self) -> int:
        """How many iterations all blocks of an unfinished run have saved."""
        return min(self.saved_iterations())

    def export(self, wall_seconds: float, may_finish: bool = True) -> None:
        """Write the checkpoints out as the files that people read.

        One process at a time, lest an old state covers a newer one; and only who occupies the
        folder may finish the run, which deletes the checkpoints.
        """
        with locked(self._beside("writing"), wait=True):
            if not self.is_finished:
                self._write_out(wall_seconds, may_finish)

    def catch_up(self) -> None:
        """Write out how far a run has come that is still under way, or was killed."""
        if self.is_finished:
            return
        self.description()  # or say what is wrong with the folder
        with ExitStack() as stack:
            is_alone = True
            try:
                stack.enter_context(self.occupied())
            except SelfpacedError:  # it is under way
                is_alone = False
            if self.is_finished:  # just now
                return
            self.require_checkpoints()
            has_older = (self.path / "summary.json").exists()
            require(
                self.iteration() > 0 or has_older,
                f"{self.path} has no saved iteration yet: wait for the first checkpoint, or go on "
                "with `selfpaced resume` if nothing runs there",
            )
            if self.iteration() > 0:
                try:
                    self.export(wall_seconds=0.0, may_finish=is_alone)  # nobody knows the seconds
                except OSError as error:
                    if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                        raise
                    # somebody else's run, or a disk for reading only: look at what is there
                    require(has_older, f"{self.path} has no tables yet, and cannot be written to")

    def _write_out(self, wall_seconds: float, may_finish: bool) -> None:
        experiment, blocks = self.experiment(), self.blocks()
        if (self.path / "summary.json").exists():  # of an earlier stretch of this run
            wall_seconds += self.summary()["wall_seconds"]
        paths = [self.checkpoint_path(block) for block in range(len(blocks))]
        loaded = [read_arrays(path, is_for_people) for path in paths]
        columns = join([history_columns(arrays) for arrays, _ in loaded])
        iterations = min(notes["iteration"] for _, notes in loaded)
        write_history(self.path, experiment, columns)
        learners = {
            name.removeprefix("state/"): np.concatenate([arrays[name] for arrays, _ in loaded])
            for name in loaded[0][0]
            if name.startswith("state/learner/")
        }
        write_arrays(self.path / "policies.safetensors", learners, {"seeds": experiment.seeds})
        is_finished = may_finish and iterations == experiment.iterations
        summary = summarise(experiment, columns, iterations) | {"finished": is_finished}
        summary |= describe_timing(
            experiment, iterations, wall_seconds, [notes for _, notes in loaded]
        )
        write_json(self.path / "summary.json", summary)
        if is_finished:
            shutil.rmtree(self._checkpoints)
            forget_replaced(self.path)

    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`."""
        path = self.path / "summary.json"
        summary = read_json(path)
        is_whole = isinstance(summary, dict) and {"finished", "iterations"} <= summary.keys()
        require(is_whole, f"{path} does not say how far the run is; restore it or run again")
        return summary

    def evaluations(self) -> dict[str, Array]:
        """Columns of `evaluations.csv` as arrays [E, S]; `iteration` is [E]."""
        return read_table(self.path / "evaluations.csv", len(self.experiment().seeds))

    def metrics(self) -> dict[str, Array]:
        """Columns of `metrics.csv` as arrays [I, S]; `iteration` is [I]."""
        return read_table(self.path / "metrics.csv", len(self.experiment().seeds))

    def contexts(self) -> dict[str, Array]:
        """The arrays of `contexts.npz`: iteration [E], samples [E, S, K, C], mean, cholesky."""
        return read_contexts(self.path / "contexts.npz")

    def learner_states(self) -> Any:
        """The learner of every seed, arrays with a leading axis of seeds; its replay is empty."""
        experiment = self.experiment()
        template = experiment.training(experiment.seeds).init_learners()
        path = self.path / "policies.safetensors"
        arrays, _ = read_arrays(path)
        leaves = name_leaves("learner", template)
        empty = {name: leaf for name, leaf in leaves.items() if name.startswith(REPLAY)}
        try:
            return restore_leaves("learner", template, empty | arrays)
        except SelfpacedError as error:
            raise SelfpacedError(f"{path}: {error}") from error


def folder_name(*names: str) -> str:
    """A name for a folder that shells and file systems do not stumble over."""
    return "-".join(names).replace(":", "-").replace("*", "-star")
