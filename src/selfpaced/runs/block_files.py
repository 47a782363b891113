"""The files of a block in the folder of checkpoints.

block-0.safetensors           the newest checkpoint
block-0.previous.safetensors  the one before, in case the newest is damaged
block-0.history               the record of all iterations
block-0.seed-7.safetensors    a seed that failed, as it was before
block-0.log                   other output of the process
"""

from __future__ import annotations

import errno
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from selfpaced.errors import SelfpacedError, require
from selfpaced.runs.checkpoint import (
    Checkpoint,
    OutdatedCheckpointError,
    Saved,
    mark_of,
    read_checked_notes,
    read_saved,
)
from selfpaced.runs.history import History, Part, parse_payload
from selfpaced.runs.history_log import append_bytes, append_frame, read_frames
from selfpaced.runs.storage import Notes, move, write_bytes


class Update(NamedTuple):
    """What changes in the files of a block when it is saved somewhere else."""

    rows: bytes = b""  # behind what the record has held before
    log_size: int = 0  # of the record before
    checkpoint: bytes = b""
    failed: dict[int, bytes] = {}  # noqa: RUF012 (never changed)


@dataclass(frozen=True)
class BlockFiles:
    """Reads and writes the files of one block."""

    folder: Path
    block: int
    seeds: tuple[int, ...]  # as planned; those that failed included

    @property
    def newest(self) -> Path:
        """The newest checkpoint."""
        return self.folder / f"block-{self.block}.safetensors"

    @property
    def previous(self) -> Path:
        """The checkpoint before the newest."""
        return self.folder / f"block-{self.block}.previous.safetensors"

    @property
    def history(self) -> Path:
        """The record."""
        return self.folder / f"block-{self.block}.history"

    @property
    def log(self) -> Path:
        """Other output of the process."""
        return self.folder / f"block-{self.block}.log"

    def failed(self, seed: int) -> Path:
        """Return the file of a seed that failed."""
        return self.folder / f"block-{self.block}.seed-{seed}.safetensors"

    def save(self, checkpoint: Checkpoint) -> None:
        """Write rows and state; the checkpoint before it is kept."""
        if not self.folder.parent.is_dir():  # it must not come to life again half
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(self.folder.parent))
        if payload := checkpoint.history.payload(checkpoint.seeds):
            checkpoint.mark = append_frame(self.history, checkpoint.mark, payload)
            checkpoint.history = History.empty()
        write_bytes(self.newest, checkpoint.content(), self.previous)

    def set_aside(self, checkpoint: Checkpoint) -> None:
        """Keep a seed that failed, as it was before."""
        (seed,) = checkpoint.seeds
        write_bytes(self.failed(seed), checkpoint.content())

    def log_size(self) -> int:
        """Return how much of the record belongs to the newest checkpoint, in bytes."""
        notes = self.notes()
        return 0 if notes is None else mark_of(notes).size

    def update_since(self, log_size: int) -> Update:
        """Return what was saved after the record had this size."""
        with open(self.history, "rb") as file:
            file.seek(log_size)
            return Update(file.read(), log_size, self.newest.read_bytes())

    def receive(self, update: Update) -> None:
        """Write what was saved somewhere else."""
        for seed, content in update.failed.items():
            write_bytes(self.failed(seed), content)
        if update.rows:
            append_bytes(self.history, update.log_size, update.rows)
        if update.checkpoint:
            write_bytes(self.newest, update.checkpoint, self.previous)

    def notes(self) -> Notes | None:
        """Return the notes of the newest checkpoint that can be opened; None if there is none."""
        candidates = [path for path in (self.newest, self.previous) if path.exists()]
        for path in candidates:
            try:
                return read_checked_notes(path)
            except OutdatedCheckpointError:
                raise
            except SelfpacedError:
                if path == candidates[-1]:
                    raise
        return None

    def active_seeds(self) -> tuple[int, ...]:
        """Return the seeds that are still trained."""
        notes = self.notes()
        return self.seeds if notes is None else tuple(notes["seeds"])

    def failures(self) -> list[Saved]:
        """Return the seeds that failed, as they were before."""
        active = self.active_seeds()
        gone = [seed for seed in self.seeds if seed not in active]
        return [self._require_own(read_saved(self.failed(seed)), (seed,)) for seed in gone]

    def read(self) -> Saved:
        """Return the newest checkpoint that is whole, with its record.

        Raises:
            SelfpacedError: there is none.
        """
        return self._whole()[1]

    def parts(self, saved: Saved) -> list[Part]:
        """Return the record that belongs to a checkpoint."""
        return [parse_payload(frame) for frame in read_frames(self.history, mark_of(saved.notes))]

    def recover(self) -> str:
        """Make the newest checkpoint one that is whole; return a warning, or no text.

        A damaged checkpoint is kept under another name.

        Raises:
            SelfpacedError: no checkpoint is whole, although there was one.
        """
        warning = self.warning()
        if warning:
            move(self.newest, self.newest.with_suffix(".damaged"))
        if self.previous.exists() and not self.newest.exists():
            move(self.previous, self.newest)
        return warning

    def warning(self) -> str:
        """Return what is wrong with the newest checkpoint if the one before is used; or no text."""
        if not (self.newest.exists() or self.previous.exists()):
            return ""
        _, saved, problem = self._whole()
        if not problem:
            return ""
        return (
            f"{problem}. Its block continues from the checkpoint before it, iteration "
            f"{saved.notes['iteration']}; the damaged file is kept as "
            f"{self.newest.with_suffix('.damaged').name}"
        )

    def discard_previous(self) -> None:
        """Delete what a finished run does not need."""
        for path in (self.previous, self.log):
            path.unlink(missing_ok=True)

    def _whole(self) -> tuple[Path, Saved, str]:
        """The newest whole checkpoint, and what is wrong with a newer one."""
        problems: list[str] = []
        candidates = [path for path in (self.newest, self.previous) if path.exists()]
        require(len(candidates) > 0, f"{self.newest} is missing; is the run finished?")
        for path in candidates:
            try:
                saved = self._require_own(read_saved(path), self.seeds)
                deque(read_frames(self.history, mark_of(saved.notes)), maxlen=0)  # or raise
                return path, saved, "".join(problems)
            except OutdatedCheckpointError:
                raise
            except SelfpacedError as error:
                problems.append(str(error))
        raise SelfpacedError("; ".join(dict.fromkeys(problems)))

    def _require_own(self, saved: Saved, allowed: tuple[int, ...]) -> Saved:
        require(
            set(saved.seeds) <= set(allowed),
            f"the checkpoint of block {self.block} in {self.folder} must hold seeds among "
            f"{allowed}, got {saved.seeds}; is it of another block?",
        )
        return saved
