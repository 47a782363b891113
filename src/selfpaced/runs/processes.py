"""The processes that train: one per block of seeds, each on cores of its own."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

from selfpaced.experiment import Experiment
from selfpaced.runs.cores import free_cores_first, share_cores, usable_cores
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.storage import cache_folder

_WORKER_SETTINGS = {
    # threads of BLAS cost more than they give on operations this small
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
}
# with a simulator in the loop: thousands of short calls, each of them awaited
_HOSTED_SETTINGS = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "false"}
_SECONDS_TO_LEAVE = 10.0  # of a worker that has told its error
_NUM_LAST_WORDS = 10  # lines of the log of a worker that died without a message

Worker = subprocess.Popen[str]


class Listener:
    """Who wants to know how a run is going; this one does not care."""

    def begin(self, experiment: Experiment) -> None:
        """The workers are starting."""

    def hear(self, block: int, message: dict[str, Any]) -> None:
        """A worker told something."""

    def leave(self) -> None:
        """The workers have been asked to stop after the iteration under way."""

    def end(self) -> None:
        """The workers are gone."""


def worker_settings(is_hosted: bool) -> dict[str, str]:
    """The environment variables of the processes that train."""
    settings = _WORKER_SETTINGS | (_HOSTED_SETTINGS if is_hosted else {})
    if cache := cache_folder():  # the second run with the same shapes starts in seconds
        settings["JAX_COMPILATION_CACHE_DIR"] = str(cache / "compiled")
    return settings


@contextmanager
def started_workers(folder: RunFolder, lock: IO[str], listener: Listener) -> Iterator[list[Worker]]:
    """The processes; however this ends, they are asked to save and leave, and waited for."""
    processes: list[Worker] = []
    is_hosted, num = folder.experiment().is_hosted, len(folder.blocks())
    cores = usable_cores()
    with ExitStack() as stack:
        order = stack.enter_context(free_cores_first(cores, len(cores) if is_hosted else num))
        try:
            for block, share in enumerate(share_cores(order, num, is_hosted)):
                path = folder.log_path(block)
                path.parent.mkdir(exist_ok=True)
                path.unlink(missing_ok=True)
                log = stack.enter_context(open(path, "a"))
                processes.append(
                    _start(folder, block, share, worker_settings(is_hosted), log, lock)
                )
            yield processes
        finally:
            _see_off(processes, listener)


def _start(
    folder: RunFolder,
    block: int,
    cores: list[int],
    settings: dict[str, str],
    log: IO[str],
    lock: IO[str],
) -> Worker:
    where = ",".join(map(str, cores))
    # modules are to be found where this process finds them
    command = [
        sys.executable,
        "-P",
        "-m",
        "selfpaced.runs.worker",
        str(folder.path),
        str(block),
        where,
    ]
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=log,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**settings, **os.environ, "PYTHONPATH": paths},  # the user's settings prevail
        # the folder is not free before the last worker is gone, even if this process is killed
        pass_fds=(lock.fileno(),),
    )


def _see_off(processes: list[Worker], listener: Listener) -> None:
    """Let them save their checkpoints; who cannot wait (Ctrl-C again) keeps those of before."""
    try:
        are_working = any(process.poll() is None for process in processes)
        for process in processes:
            process.send_signal(signal.SIGTERM)
            if process.stdout:
                process.stdout.close()  # output that nobody reads must not hold it up
        if are_working:
            tell(listener.leave)
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.kill()  # does nothing to those that have left
            process.wait()


def tell(news: Callable[[], None]) -> None:
    """Tell a listener who may be gone: a pipe that Ctrl-C closed must not cost what was learned."""
    with suppress(Exception, SystemExit):
        news()


def listen(folder: RunFolder, processes: list[Worker], listener: Listener) -> list[str]:
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
                    message = _understand(line)
                    if message is None:  # somebody else printed it, before the worker began
                        with open(folder.log_path(block), "a") as log:
                            log.write(line)
                        continue
                    if "error" in message:
                        errors.append(message["error"])
                        with suppress(subprocess.TimeoutExpired):
                            process.wait(_SECONDS_TO_LEAVE)  # nobody has to ask it to
                    listener.hear(block, message)
                    continue
                selector.unregister(process.stdout)
                if process.wait() and not errors:
                    errors.append(_death(folder, block, process.returncode))
    return errors


def _understand(line: str) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _death(folder: RunFolder, block: int, code: int) -> str:
    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    words = folder.log_path(block).read_text(errors="replace").splitlines()[-_NUM_LAST_WORDS:]
    return "\n".join([f"the worker of block {block} died ({cause})", *words])
