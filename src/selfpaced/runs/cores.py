"""Assign cores to processes, and avoid those of other runs on this computer."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from selfpaced.errors import SelfpacedError
from selfpaced.runs.locks import locked
from selfpaced.runs.storage import cache_folder


def usable_cores() -> list[int]:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextmanager
def free_cores_first(cores: list[int], num: int) -> Iterator[list[int]]:
    """Yield the same cores, with up to `num` first that no other run of this user has reserved.

    They stay reserved until the context ends. Without a writable cache none is reserved.
    """
    taken: list[int] = []
    cache = cache_folder()
    with ExitStack() as stack:
        for core in cores:
            if cache is None or len(taken) == num:
                break
            # several computers may share a home directory
            path = cache / f"cores-{socket.gethostname()}" / str(core)
            with suppress(OSError, SelfpacedError):  # reserved by another run
                stack.enter_context(locked(path, wait=False))
                taken.append(core)
        yield taken + [core for core in cores if core not in taken]


def share_cores(cores: list[int], num_blocks: int, is_hosted: bool) -> list[list[int]]:
    """Return the cores of every block: one each, and with a host simulator also those left over.

    Compiled blocks are fastest on one core; simulation threads can use more.
    """
    if not is_hosted or num_blocks >= len(cores):
        return [[cores[block % len(cores)]] for block in range(num_blocks)]
    return [cores[block::num_blocks] for block in range(num_blocks)]
