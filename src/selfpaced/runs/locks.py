"""Inter-process file locks, released when the holder exits.

A lock is an empty file beside what it protects, which can then be deleted meanwhile. The file is
removed with the lock.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from selfpaced.errors import SelfpacedError


@contextmanager
def locked(path: Path, wait: bool) -> Iterator[IO[str]]:
    """Hold a lock; without waiting, raise BlockingIOError if another process has it.

    A process that inherits the open file holds the lock, too.
    """
    file = _acquire(path, wait)
    try:
        yield file
    finally:
        try:
            with suppress(OSError):  # a file that cannot be removed does not lock anything
                path.unlink(missing_ok=True)
        finally:
            file.close()


@contextmanager
def training_lock(folder: Path) -> Iterator[IO[str]]:
    """Keep other processes from training in a run folder, replacing the run or finishing it."""
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(locked(_beside(folder, "training"), wait=False))
        except BlockingIOError:
            raise SelfpacedError(
                f"another process is training in {folder}; wait for it, or stop it"
            ) from None
        except OSError as error:
            raise SelfpacedError(
                f"cannot write to {folder} ({error.strerror}); choose another folder"
            ) from error
        yield lock


@contextmanager
def export_lock(folder: Path) -> Iterator[None]:
    """Wait until no other process exports the run."""
    with locked(_beside(folder, "writing"), wait=True):
        yield


def _beside(folder: Path, purpose: str) -> Path:
    return folder.with_name(f".{folder.name}.{purpose}")


def _acquire(path: Path, wait: bool) -> IO[str]:
    try:
        import fcntl
    except ImportError:
        raise SelfpacedError("runs require Linux or macOS; on Windows, use WSL") from None

    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = _open(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                    return file
            file.close()  # its previous holder has deleted it: try again with the new one
        except BaseException:
            file.close()
            raise


def _open(path: Path) -> IO[str]:
    """Open a file without following a link or changing its content: it may be another's."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags, 0o666), "r+")
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise SelfpacedError(
            f"lock {path} must be a file, got a symbolic link; delete the link"
        ) from None
