"""Start a run in a folder, or replace one safely.

The old run is kept aside until the new one has saved a checkpoint.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.runs.description import describe
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.manifest import write_files
from selfpaced.runs.storage import json_bytes, move


def create_run(
    path: Path | str,
    experiment: Experiment,
    blocks: list[tuple[int, ...]],
    overwrite: bool = False,
) -> RunFolder:
    """Return a new run folder; an existing run is replaced only with `overwrite`."""
    folder = RunFolder(Path(path))
    path = folder.path
    description = describe(experiment, blocks)  # or raise, before anything moves
    with _reported_refusal(path):
        restore_replaced(path)
        if path.exists() and not _is_blank(path):
            _make_room(folder, overwrite)
        try:
            write_files(path, {"experiment.json": json_bytes(description)})
        except OSError:
            withdraw(path)
            raise
    return folder


def forget_replaced(path: Path) -> None:
    """Delete the run that was set aside: the one here has saved a checkpoint."""
    if _replaced(path).exists():
        _delete(_replaced(path), path)


def restore_replaced(path: Path) -> None:
    """Put back a run that was set aside by a process that was killed before it made a new one."""
    if _replaced(path).exists() and (not path.exists() or _is_blank(path)):
        withdraw(path)


def withdraw(path: Path) -> None:
    """Delete the run here, which has saved nothing, and put back the one that was set aside."""
    if path.exists():
        _delete(path, path)
    if _replaced(path).exists():
        move(_replaced(path), path)


@contextmanager
def _reported_refusal(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SelfpacedError(
            f"cannot write to {path} ({error.strerror or error}); what was there is kept: choose "
            "another folder with --out"
        ) from error


def _make_room(folder: RunFolder, overwrite: bool) -> None:
    """Set the run here aside, from where it comes back if the new run saves nothing."""
    path = folder.path
    is_run = (path / "experiment.json").exists()
    require(
        is_run or not overwrite,
        f"{path} is not a run folder, so --overwrite will not delete it; "
        "choose another folder with --out",
    )
    if not overwrite:
        hint = "" if not is_run or folder.is_finished else "resume it with `selfpaced resume`, "
        replacing = ", or replace it with --overwrite" if is_run else ""
        raise SelfpacedError(
            f"{path} already exists; {hint}choose another folder with --out{replacing}"
        )
    if not (path / "summary.json").exists() and not _can_be_resumed(folder):
        withdraw(path)  # of no value; a run that it was to replace may still be there
    if path.exists():
        forget_replaced(path)
        move(path, _replaced(path))


def _can_be_resumed(folder: RunFolder) -> bool:
    try:
        return folder.iteration() > 0
    except SelfpacedError:  # damaged, but there was something
        return True


def _is_blank(path: Path) -> bool:
    """Whether a folder holds nothing but what a process that was killed here has begun."""
    begun = ("checksums.json", ".checksums.json.", ".experiment.json.")
    return path.is_dir() and all(one.name.startswith(begun) for one in path.iterdir())


def _delete(folder: Path, path: Path) -> None:
    """Delete a folder in two steps, so that no half of it is ever taken for a run."""
    rest = path.with_name(f".{path.name}.deleted")
    if rest.exists():
        shutil.rmtree(rest)
    move(folder, rest)
    shutil.rmtree(rest)


def _replaced(path: Path) -> Path:
    return path.with_name(f".{path.name}.replaced")
