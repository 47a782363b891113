"""Disks that refuse: every file operation of replacing a run is killed, or fails.

Blocks are "trained" by copying the checkpoints of an invented run, so that hundreds of runs take
seconds. Everything else is what `selfpaced train` and `resume` do.
"""

import errno
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from selfpaced import RunFolder, SelfpacedError, resume, run
from selfpaced.runs.processes import Listener
from selfpaced.runs.storage import write_bytes
from tests.faults.corruptions import readable
from tests.faults.outcomes import Tally, tally
from tests.reports.invented_runs import invented_run

CALLS = ("open", "replace", "rename", "unlink", "rmdir", "mkdir", "fsync", "chmod")  # of os
REASONS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT)


@dataclass
class Copies:
    """An engine that copies the checkpoints of other runs with the same seeds."""

    trained: tuple[RunFolder, ...]
    before: Callable[[Path], object] = lambda path: None
    num_workers: int = 1

    def train(self, folder: RunFolder, lock: IO[str], listener: Listener) -> list[str]:
        """Copy; errors of the disk are raised, as where a worker is started."""
        seeds = folder.experiment().seeds
        (source,) = (one for one in self.trained if one.experiment().seeds == seeds)
        self.before(folder.path)
        for path in sorted(source.checkpoints.iterdir()):
            if not folder.path.is_dir():  # as a block sees when it is saved
                raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder.path))
            write_bytes(folder.checkpoints / path.name, path.read_bytes())
        return []


class Killed(BaseException):
    """Ends a process in thought."""


class Operations:
    """Counts the operations that change files, and does something before one, or from it on."""

    def __init__(self, last: int, act: Callable[[str], object], for_ever: bool = False) -> None:
        self.num, self.last, self.act, self.for_ever = 0, last, act, for_ever

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch this process."""
        before = {name: getattr(os, name) for name in CALLS}
        try:
            for name, call in before.items():
                setattr(os, name, self._counting(name, call))
            yield
        finally:
            for name, call in before.items():
                setattr(os, name, call)

    def _counting(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            if name != "open" or arguments[1] & (os.O_CREAT | os.O_WRONLY):
                self.num += 1
                if self.num == self.last or (self.for_ever and self.num > self.last):
                    self.act(str(arguments[0]))
            return call(*arguments, **named)

        return counted


class Disk:
    """Two finished runs, and copies of the old one, which the new one replaces."""

    def __init__(self, place: Path) -> None:
        self.place, self.num = place, 0
        self.old, self.new = (invented_run(place / f"seed-{one}", seeds=(one,)) for one in (7, 1))
        self.engine = Copies((self.old, self.new))
        self.known = [readable(one) for one in (self.old, self.new)]

    def folder(self) -> Path:
        """Return the path of a copy of the old run, in a folder of its own."""
        self.num += 1
        path = self.place / f"disk-{self.num}" / "run"
        shutil.copytree(self.old.path, path)
        return path

    def overwrite(self, path: Path) -> None:
        """Replace a run by the new one."""
        run(self.new.experiment(), path, overwrite=True, engine=self.engine)

    def goes_on(self, path: Path) -> bool:
        """Do what messages advise; return whether nothing is lost and the new run gets done."""
        with suppress(SelfpacedError):  # finished, or nothing there yet
            resume(path, engine=self.engine)
        kept = readable(RunFolder(path))
        self.overwrite(path)
        is_clean = [one.name for one in path.parent.iterdir()] == ["run"]
        return kept in self.known and readable(RunFolder(path)) == self.known[1] and is_clean


def refusals(disk: Disk, num: int | None = None) -> Tally:
    """Stop the process before each operation, and let each fail; or only this many of both."""
    counter = Operations(-1, lambda path: None)
    with counter.watched():
        disk.overwrite(disk.folder())
    numbers = range(1, counter.num + 1)
    attempts: list[tuple[str, Callable[[], bool]]] = [
        (f"killed before operation {number}", partial(survives_kill, disk, number))
        for number in numbers
    ]
    attempts += [
        (f"{errno.errorcode[reason]} at {number}", partial(survives_error, disk, number, reason))
        for reason in REASONS
        for number in numbers
    ]
    if num is not None:  # at random: equal steps would meet the same operations again and again
        attempts = random.Random(1).sample(attempts, num)
    return tally("operations of --overwrite that fail", attempts)


def survives_kill(disk: Disk, number: int) -> bool:
    """Replace a run, as a process does that is killed before an operation: none follows."""

    def end(path: str) -> None:
        raise Killed

    path = disk.folder()
    with suppress(Killed), Operations(number, end, for_ever=True).watched():
        disk.overwrite(path)
    return disk.goes_on(path)


def survives_error(disk: Disk, number: int, reason: int) -> bool:
    """Replace a run, with an operation that the disk refuses.

    Raises:
        SelfpacedError: the report, if the run can be continued after it.
    """

    def fail(path: str) -> None:
        raise OSError(reason, os.strerror(reason), path)

    path = disk.folder()
    try:
        with Operations(number, fail).watched():
            disk.overwrite(path)
    except SelfpacedError as error:
        if not disk.goes_on(path):
            raise RuntimeError(f"cannot be continued after {error}") from error
        if str(disk.place) not in str(error) or os.strerror(reason) not in str(error):
            raise RuntimeError(f"does not say what and where: {error}") from error
        raise
    return disk.goes_on(path)
