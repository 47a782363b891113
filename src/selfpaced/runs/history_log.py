"""A growing file of frames: the record of a block, beside its checkpoints.

A checkpoint names how far the log was when it was saved, so its own size does not depend on the
past. What was appended after it (by a process that was killed then) is cut off. Every frame is

    length of the payload (8 bytes) | chained checksum (16 bytes) | payload

where a chained checksum covers the payload and the checksum before it: a frame that is damaged,
missing or of another log is found.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from selfpaced.errors import SelfpacedError, require
from selfpaced.runs.storage import sync_folder

_LENGTH, _CHECKSUM = 8, 16  # bytes


class Mark(NamedTuple):
    """How far a log was at some moment."""

    size: int = 0
    checksum: str = ""


START = Mark()


def append_frame(path: Path, mark: Mark, payload: bytes) -> Mark:
    """Write a frame behind a mark, cutting off what follows it; return the new mark."""
    digest = _chain(mark.checksum, payload)
    frame = len(payload).to_bytes(_LENGTH, "little") + digest + payload
    append_bytes(path, mark.size, frame)
    return Mark(mark.size + len(frame), digest.hex())


def append_bytes(path: Path, size: int, content: bytes) -> None:
    """Write behind the first `size` bytes of a log, and cut off what has followed them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666), "r+b") as file:
        found = file.seek(0, os.SEEK_END)
        require(found >= size, f"{path} must have {size} bytes, got {found}; run again")
        file.truncate(size)
        file.seek(size)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        sync_folder(path.parent)


def read_frames(path: Path, mark: Mark, start: Mark = START) -> Iterator[bytes]:
    """Give the payloads between two marks.

    Raises:
        SelfpacedError: the log is missing or damaged.
    """
    if mark.size == start.size:
        return
    place, previous = start
    try:
        with open(path, "rb") as file:
            file.seek(place)
            while place < mark.size:
                length = int.from_bytes(file.read(_LENGTH), "little")
                expected = file.read(_CHECKSUM)
                place += _LENGTH + _CHECKSUM + length
                payload = file.read(length) if place <= mark.size else b""
                digest = _chain(previous, payload)
                if place > mark.size or digest != expected:
                    break
                previous = digest.hex()
                yield payload
    except FileNotFoundError:
        raise SelfpacedError(f"{path} is missing; restore it, or run again") from None
    except OSError as error:
        raise SelfpacedError(
            f"{path} cannot be read ({error.strerror}); check the file and its permissions"
        ) from None
    require(
        previous == mark.checksum,
        f"{path} is damaged (before byte {min(place, mark.size)}); restore it, or run again",
    )


def _chain(previous: str, payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_CHECKSUM, key=bytes.fromhex(previous)).digest()
