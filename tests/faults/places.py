"""Places that go wrong: folders that go away, small or read-only disks, unreadable files."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from selfpaced import RunFolder, SelfpacedError, resume, run
from selfpaced.runs.engine import Engine
from selfpaced.runs.processes import Listener
from selfpaced.runs.storage import Notes
from selfpaced.runs.verification import verify
from tests.faults.corruptions import readable
from tests.faults.disk import Disk
from tests.faults.outcomes import Tally, tally
from tests.faults.same_results import differing_files
from tests.runs.small_runs import SHORT

NOBODY = 65534
KILOBYTES = (4, 8, 16, 24, 32, 48, 64, 96)


def places(disk: Disk, is_short: bool = False) -> Tally:
    """Read and train in bad places; in short, without worker processes and other users."""
    names = sorted(path.name for path in disk.old.path.iterdir() if path.is_file())
    how = ("folder", "loop") if is_short or os.geteuid() else ("folder", "loop", "no permission")
    attempts: list[tuple[str, Callable[[], bool]]] = [
        (f"{one} in place of {name}", partial(unreadable, disk, name, one))
        for name in names
        for one in how
    ]
    attempts += [(f"{one} the folder", partial(vanish, disk, one)) for one in ("delete", "rename")]
    if not is_short:
        attempts += [
            (f"{one} the folder of workers", partial(vanish_under_workers, disk, one))
            for one in ("delete", "rename")
        ]
        attempts += [
            (f"read-only {one}", partial(read_only, disk, one)) for one in ("run", "parent")
        ]
        if can_mount(disk.place):
            whole = run(SHORT, disk.place / "whole", workers=1)
            attempts += [
                (f"{size} KB", partial(small_disk, disk, whole, size)) for size in KILOBYTES
            ]
    return tally("folders that vanish, full and read-only disks, unreadable files", attempts)


def unreadable(disk: Disk, name: str, how: str) -> bool:
    """Read a run of which one file cannot be read."""
    path = disk.folder()
    file = path / name
    if how == "folder":
        file.unlink()
        file.mkdir()
    elif how == "loop":
        file.unlink()
        file.symlink_to(file)
    else:
        file.chmod(0)
    with as_nobody(path.parent) if how == "no permission" else nullcontext():
        found = [one for one in verify(RunFolder(path)) if one.verdict == "damaged"]
        try:
            RunFolder(path).advice()
            return readable(RunFolder(path)) == disk.known[0] or bool(found)
        except SelfpacedError as error:
            is_missing = how == "loop" and "missing" in str(error)
            if not is_missing and "cannot be read" not in str(error):
                raise RuntimeError(f"not called unreadable: {error}") from error
            if not found and name != "advice.json":
                raise RuntimeError(f"verify does not find {error}") from error
            raise


def vanish(disk: Disk, how: str) -> bool:
    """Delete or rename the folder under a run; what was there can be continued."""
    path = disk.folder()
    engine = replace(disk.engine, before=partial(send_away, how))
    new = disk.new.experiment()
    return report_of_loss(path, disk.engine, lambda: run(new, path, overwrite=True, engine=engine))


def vanish_under_workers(disk: Disk, how: str) -> bool:
    """Delete or rename the folder under a worker process."""
    disk.num += 1
    path = disk.place / f"disk-{disk.num}" / "run"
    longer = replace(SHORT, iterations=60)
    return report_of_loss(path, None, lambda: run(longer, path, 1, listener=Thief(path, how)))


def report_of_loss(path: Path, engine: Engine | None, train: Callable[[], object]) -> bool:
    try:
        train()
    except SelfpacedError as error:
        if "deleted or renamed" not in str(error) or str(path) not in str(error):
            raise RuntimeError(str(error)) from error
        elsewhere = Path(f"{path}-elsewhere")
        if elsewhere.exists():
            elsewhere.rename(path)
            if not resume(path, engine=engine).is_finished:
                raise RuntimeError(f"cannot be resumed after {error}") from error
        raise
    return False


@dataclass
class Thief(Listener):
    """Sends the folder of a run away after the first iteration."""

    path: Path
    how: str
    is_done: bool = False

    def received(self, block: int, message: Notes) -> None:
        if not self.is_done and message.get("iteration", 0) >= 1:
            self.is_done = True
            send_away(self.how, self.path)


def send_away(how: str, path: Path) -> None:
    if how == "delete":
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.rename(f"{path}-elsewhere")


def read_only(disk: Disk, what: str) -> bool:
    """Read a run without the permission to write there, or replace it."""
    path = disk.folder()
    with as_nobody(path.parent):
        (path if what == "run" else path.parent).chmod(0o555)
        try:
            if what == "run":
                return readable(RunFolder(path)) == disk.known[0]
            disk.overwrite(path)
        finally:
            (path if what == "run" else path.parent).chmod(0o755)
    return False


def can_mount(place: Path) -> bool:
    """Return whether file systems can be mounted here, as root can outside of containers."""
    with suppress(SelfpacedError, subprocess.CalledProcessError), mounted(place / "mounted", 64):
        return True
    return False


@contextmanager
def mounted(place: Path, kilobytes: int) -> Iterator[None]:
    """Mount a file system of this size."""
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(place)]
    subprocess.run(["mount", *options], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def small_disk(disk: Disk, whole: RunFolder, kilobytes: int) -> bool:
    """Train on a disk of this size with a worker process, and again with more space."""
    place = disk.place / f"full-{kilobytes}"
    with mounted(place, kilobytes):
        try:
            return not differing_files(whole.path, run(SHORT, place / "run", workers=1).path)
        except SelfpacedError as error:
            if str(place) not in str(error) or "No space left" not in str(error):
                raise RuntimeError(f"does not say what or where: {error}") from error
            subprocess.run(["mount", "-o", "remount,size=9m", str(place)], check=True)
            is_there = (place / "run" / "experiment.json").exists()
            again = resume(place / "run") if is_there else run(SHORT, place / "run", workers=1)
            if different := differing_files(whole.path, again.path):
                raise RuntimeError(f"another result with more space: {different}") from error
            raise


@contextmanager
def as_nobody(place: Path) -> Iterator[None]:
    """Be a user whom permissions concern, to whom these files belong."""
    if os.geteuid():
        yield
        return
    for path in (place, *place.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    modes = {folder: stat.S_IMODE(folder.stat().st_mode) for folder in place.parents}
    for folder, mode in modes.items():  # temporary folders are private
        if not mode & 0o001:
            folder.chmod(mode | 0o011)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for folder, mode in modes.items():
            if not mode & 0o001:
                folder.chmod(mode)
