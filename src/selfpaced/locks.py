"""Locks between processes; who ends, however it ends, lets go of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # not on Windows; there nothing keeps two processes from one folder
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path, wait: bool) -> Iterator[IO[str]]:
    """Hold the lock of this file; without waiting, BlockingIOError says that somebody has it.

    A process that inherits the open file holds the lock, too.
    """
    with open(path, "w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield file
