"""Running an experiment: one process per core, each with a block of the seeds."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Protocol

from selfpaced.experiment import Experiment
from selfpaced.run_folder import RunFolder
from selfpaced.settings import SelfpacedError, require

try:
    import fcntl
except ImportError:  # not on Windows; there nothing keeps two processes from one folder
    fcntl = None  # type: ignore[assignment]

_WORKER_SETTINGS = {
    # threads of BLAS cost more than they give on operations this small
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    # the second run with the same shapes starts in seconds
    "JAX_COMPILATION_CACHE_DIR": str(
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "selfpaced" / "compiled"
    ),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
}
# with a simulator in the loop: thousands of short calls, each of them awaited
_HOSTED_SETTINGS = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "false"}
_SECONDS_TO_LEAVE = 60.0


class Listener(Protocol):
    """Who wants to know how a run is going."""

    def begin(self, experiment: Experiment) -> None:
        """The workers are starting."""

    def hear(self, block: int, message: dict[str, Any]) -> None:
        """A worker told something."""

    def end(self) -> None:
        """The workers are gone."""


class Silence:
    """A listener that does not care."""

    def begin(self, experiment: Experiment) -> None:
        """Nothing to do."""

    def hear(self, block: int, message: dict[str, Any]) -> None:
        """Nothing to do."""

    def end(self) -> None:
        """Nothing to do."""


class InterruptedRunError(Exception):
    """The user asked to stop; everything up to now is saved."""

    def __init__(self, folder: Path, iteration: int, iterations: int) -> None:
        super().__init__(
            f"stopped after {iteration} of {iterations} iterations; nothing is lost, "
            f"go on with `selfpaced resume {folder}`"
        )


def run(
    experiment: Experiment,
    out: Path | str,
    workers: int | None = None,
    overwrite: bool = False,
    listener: Listener | None = None,
) -> RunFolder:
    """Run an experiment into a new folder; every worker is pinned to a core of its own."""
    cores = _cores()
    num = min(workers or len(cores), len(experiment.seeds))
    require(num > 0, f"workers must be positive, got {workers}")
    blocks = _split(experiment.seeds, num)
    folder = RunFolder.create(Path(out), experiment, blocks, overwrite)
    _run_blocks(folder, experiment, listener or Silence())
    return folder


def resume(path: Path | str, listener: Listener | None = None) -> RunFolder:
    """Go on with a run that was stopped or killed, exactly as if it had not been."""
    folder = RunFolder(Path(path))
    experiment = folder.experiment()
    require(not folder.is_finished, f"{path} is finished; nothing to resume")
    _run_blocks(folder, experiment, listener or Silence())
    return folder


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _split(seeds: tuple[int, ...], num: int) -> list[tuple[int, ...]]:
    """Contiguous blocks whose sizes differ by at most one."""
    bounds = [len(seeds) * index // num for index in range(num + 1)]
    return [seeds[low:high] for low, high in pairwise(bounds)]


def _run_blocks(folder: RunFolder, experiment: Experiment, listener: Listener) -> None:
    """Whatever happens, what the workers have saved is written out for people to read."""
    began = time.monotonic()
    listener.begin(experiment)
    errors, interrupted = [], False
    try:
        with _termination_interrupts(), _alone(folder), _workers(folder) as processes:
            errors = _listen(processes, listener)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        listener.end()
    iteration = folder.iteration()
    if iteration:
        folder.export(time.monotonic() - began)
    if interrupted:
        raise InterruptedRunError(folder.path, iteration, experiment.iterations)
    if errors:
        raise SelfpacedError(f"{errors[0]} (what was reached before is kept in {folder.path})")


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


@contextmanager
def _alone(folder: RunFolder) -> Iterator[None]:
    """Nobody else may train in this folder meanwhile; the lock goes with the process."""
    checkpoints = folder.path / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    with open(checkpoints / "lock", "w") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise SelfpacedError(
                    f"another process is training in {folder.path}; wait for it, or stop it"
                ) from None
        yield


@contextmanager
def _workers(folder: RunFolder) -> Iterator[list[subprocess.Popen[str]]]:
    """The processes; however this ends, they are asked to save and leave, and waited for."""
    processes, blocks = [], folder.blocks()
    is_hosted = folder.experiment().is_hosted
    shares = share_cores(_cores(), len(blocks), is_hosted)
    settings = worker_settings(is_hosted)
    with ExitStack() as logs:
        try:
            for block, cores in enumerate(shares):
                path = folder.path / "checkpoints" / f"block-{block}.log"
                log = logs.enter_context(open(path, "w"))
                processes.append(_start_worker(folder, block, cores, settings, log))
            yield processes
        finally:
            for process in processes:
                process.send_signal(signal.SIGTERM)
            for process in processes:
                _wait(process)


def worker_settings(is_hosted: bool) -> dict[str, str]:
    """The environment variables of the processes that train."""
    return _WORKER_SETTINGS | (_HOSTED_SETTINGS if is_hosted else {})


def share_cores(cores: list[int], num_blocks: int, is_hosted: bool) -> list[list[int]]:
    """The cores of every block: one each, and with a simulator also those left over.

    Compiled blocks are fastest on one core; threads that simulate can use more.
    """
    if not is_hosted or num_blocks >= len(cores):
        return [[cores[block % len(cores)]] for block in range(num_blocks)]
    return [cores[block::num_blocks] for block in range(num_blocks)]


def _start_worker(
    folder: RunFolder, block: int, cores: list[int], settings: dict[str, str], log: IO[str]
) -> subprocess.Popen[str]:
    where = ",".join(map(str, cores))
    command = [sys.executable, "-m", "selfpaced.worker", str(folder.path), str(block), where]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=log,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**settings, **os.environ},  # what the user has set goes first
    )


def _wait(process: subprocess.Popen[str]) -> None:
    """Let it save its checkpoint; output that nobody reads must not hold it up."""
    if process.stdout:
        process.stdout.close()
    try:
        process.wait(_SECONDS_TO_LEAVE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _listen(processes: list[subprocess.Popen[str]], listener: Listener) -> list[str]:
    """Pass on what the workers say until all have left; returns what went wrong."""
    errors: list[str] = []
    with selectors.DefaultSelector() as selector:
        for block, process in enumerate(processes):
            assert process.stdout is not None
            selector.register(process.stdout, selectors.EVENT_READ, (block, process))
        while selector.get_map() and not errors:
            for key, _ in selector.select():
                block, process = key.data
                line = process.stdout.readline()
                if line:
                    message = json.loads(line)
                    if "error" in message:
                        errors.append(message["error"])
                    listener.hear(block, message)
                    continue
                selector.unregister(process.stdout)
                if process.wait() and not errors:
                    errors.append(_death(block, process.returncode))
    return errors


def _death(block: int, code: int) -> str:
    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"the worker of block {block} died ({cause}); go on with `selfpaced resume`"
