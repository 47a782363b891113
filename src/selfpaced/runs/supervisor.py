"""Running an experiment: one process per core, each with a block of the seeds."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.runs.cores import usable_cores
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.processes import Listener, listen, started_workers, tell
from selfpaced.runs.replacement import forget_replaced, withdraw


class InterruptedRunError(Exception):
    """The user asked to stop; everything up to now is saved."""

    def __init__(self, folder: Path, iteration: int, iterations: int) -> None:
        if iteration == iterations:
            text = f"stopped after the last of {iterations} iterations: {folder} is finished"
        elif iteration:
            kept = f"stopped after {iteration} of {iterations} iterations, which are kept"
            text = f"{kept}; go on with `selfpaced resume {folder}`"
        else:
            text = "stopped before the first iteration was saved"
        super().__init__(text)


def run(
    experiment: Experiment,
    out: Path | str,
    workers: int | None = None,
    overwrite: bool = False,
    listener: Listener | None = None,
) -> RunFolder:
    """Run an experiment into a new folder; every worker is pinned to a core of its own."""
    num = len(usable_cores()) if workers is None else workers
    require(num > 0, f"workers must be positive, got {workers}")
    blocks = _split(experiment.seeds, min(num, len(experiment.seeds)))
    folder = RunFolder(Path(out))
    with folder.occupied() as lock:
        RunFolder.create(folder.path, experiment, blocks, overwrite)
        _train_in(folder, experiment, lock, listener or Listener(), is_new=True)
    return folder


def resume(path: Path | str, listener: Listener | None = None) -> RunFolder:
    """Go on with a run that was stopped or killed, exactly as if it had not been."""
    folder = RunFolder(Path(path))
    experiment = folder.experiment()
    with folder.occupied() as lock:
        require(not folder.is_finished, f"{path} is finished; nothing to resume")
        folder.require_checkpoints()
        _train_in(folder, experiment, lock, listener or Listener(), is_new=False)
    return folder


def _split(seeds: tuple[int, ...], num: int) -> list[tuple[int, ...]]:
    """Contiguous blocks whose sizes differ by at most one."""
    bounds = [len(seeds) * index // num for index in range(num + 1)]
    return [seeds[low:high] for low, high in pairwise(bounds)]


def _train_in(
    folder: RunFolder, experiment: Experiment, lock: IO[str], listener: Listener, is_new: bool
) -> None:
    """Whatever happens, what the workers have saved is written out for people to read."""
    began = time.monotonic()
    errors: list[str] = []
    was_interrupted = False
    with _termination_interrupts():
        try:
            listener.begin(experiment)
            with started_workers(folder, lock, listener) as processes:
                errors = listen(folder, processes, listener)
        except KeyboardInterrupt:
            was_interrupted = True
        finally:
            tell(listener.end)
            iteration = _write_out(folder, time.monotonic() - began, is_new)
    if was_interrupted:
        raise InterruptedRunError(folder.path, iteration, experiment.iterations)
    if errors:
        kept = f"\n{iteration} iterations are kept: go on with `selfpaced resume {folder.path}`"
        raise SelfpacedError(errors[0] + (kept if iteration else ""))


def _write_out(folder: RunFolder, wall_seconds: float, is_new: bool) -> int:
    """Tables of what was saved, or no trace of a run that saved nothing; returns how far it is."""
    saved = folder.saved_iterations()
    if min(saved):
        folder.export(wall_seconds)
        forget_replaced(folder.path)
    elif is_new and not any(saved) and not folder.is_finished:
        withdraw(folder.path)
    return min(saved)


@contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Being told to leave, as clusters do, is like Ctrl-C: what there is gets written out."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
