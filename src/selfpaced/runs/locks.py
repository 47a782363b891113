"""Locks between processes; whoever ends, however it ends, lets go of them.

A lock is an empty file. It stands beside what it protects, which can then be deleted meanwhile, and
it is gone when nobody holds it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from selfpaced.errors import SelfpacedError


@contextmanager
def locked(path: Path, wait: bool) -> Iterator[IO[str]]:
    """Hold a lock; without waiting, BlockingIOError says that somebody else has it.

    A process that inherits the open file holds the lock, too.
    """
    file = _acquire(path, wait)
    try:
        yield file
    finally:
        path.unlink(missing_ok=True)
        file.close()


def _acquire(path: Path, wait: bool) -> IO[str]:
    try:
        import fcntl
    except ImportError:
        raise SelfpacedError("runs need Linux or macOS; on Windows, use WSL") from None

    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = open(path, "w")  # noqa: SIM115 (whoever asked closes it)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file
            file.close()  # whoever had it has deleted it: try again with the new one
        except BaseException:
            file.close()
            raise
