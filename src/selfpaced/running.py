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

from selfpaced.experiment import Experiment
from selfpaced.replacing import forget_replaced, withdraw
from selfpaced.run_folder import RunFolder
from selfpaced.settings import SelfpacedError, require
from selfpaced.workers import Listener, Silence, listen, started_workers, usable_cores


class InterruptedRunError(Exception):
    """The user asked to stop; everything up to now is saved."""

    def __init__(self, folder: Path, iteration: int, iterations: int) -> None:
        super().__init__(
            f"stopped after {iteration} of {iterations} iterations, which are kept; "
            f"go on with `selfpaced resume {folder}`"
            if iteration
            else "stopped before the first iteration was saved"
        )


def run(
    experiment: Experiment,
    out: Path | str,
    workers: int | None = None,
    overwrite: bool = False,
    listener: Listener | None = None,
) -> RunFolder:
    """Run an experiment into a new folder; every worker is pinned to a core of its own."""
    num = min(workers or len(usable_cores()), len(experiment.seeds))
    require(num > 0, f"workers must be positive, got {workers}")
    blocks, path = _split(experiment.seeds, num), _real(Path(out))
    with RunFolder(path).occupied() as lock:
        folder = RunFolder.create(path, experiment, blocks, overwrite)
        _train_in(folder, experiment, lock, listener or Silence(), is_new=True)
    return folder


def resume(path: Path | str, listener: Listener | None = None) -> RunFolder:
    """Go on with a run that was stopped or killed, exactly as if it had not been."""
    folder = RunFolder(_real(Path(path)))
    experiment = folder.experiment()
    with folder.occupied() as lock:
        require(not folder.is_finished, f"{path} is finished; nothing to resume")
        folder.require_checkpoints()
        _train_in(folder, experiment, lock, listener or Silence(), is_new=False)
    return folder


def _real(path: Path) -> Path:
    """A folder that has a name, and can be moved."""
    return path.resolve() if path.is_symlink() or path.name in ("", "..") else path


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
        listener.begin(experiment)
        try:
            with started_workers(folder, lock, listener) as processes:
                errors = listen(folder, processes, listener)
        except KeyboardInterrupt:
            was_interrupted = True
        finally:
            listener.end()
        saved = folder.saved_iterations()
        iteration = min(saved)
        if iteration:
            folder.export(time.monotonic() - began)
            forget_replaced(folder.path)
        elif is_new and not any(saved):
            withdraw(folder.path)
    if was_interrupted:
        raise InterruptedRunError(folder.path, iteration, experiment.iterations)
    if errors:
        kept = f"\n{iteration} iterations are kept: go on with `selfpaced resume {folder.path}`"
        raise SelfpacedError(errors[0] + (kept if iteration else ""))


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
