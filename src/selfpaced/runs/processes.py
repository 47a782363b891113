"""Worker processes: one per block of seeds, each on cores of its own."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from selfpaced.experiment import Experiment
from selfpaced.runs.advice import record_advice
from selfpaced.runs.cores import free_cores_first, share_cores, usable_cores
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.storage import Notes, cache_folder

_WORKER_SETTINGS = {
    # threads of BLAS cost more than they gain on operations this small
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    # on a GPU, the first worker would otherwise reserve most of the memory
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
}
# with a host simulator: thousands of short calls, each of them awaited
_HOSTED_SETTINGS = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "false"}
_SECONDS_TO_EXIT = 10.0  # for a worker that has reported an error
_NUM_LOG_LINES = 10  # shown of a worker that died without a message

Worker = subprocess.Popen[str]


class Listener:
    """Receives progress events of a run; the default ignores them."""

    def started(self, experiment: Experiment) -> None:
        """Handle the start of the workers."""

    def received(self, block: int, message: Notes) -> None:
        """Handle a message of the worker of a block."""

    def stopping(self) -> None:
        """Handle an interruption: all workers stop after their current iteration."""

    def ended(self) -> None:
        """Handle the end of all workers."""


def worker_settings(is_hosted: bool) -> dict[str, str]:
    """Return the environment variables of worker processes."""
    settings = _WORKER_SETTINGS | (_HOSTED_SETTINGS if is_hosted else {})
    if cache := cache_folder():  # a second run with the same shapes starts in seconds
        settings["JAX_COMPILATION_CACHE_DIR"] = str(cache / "compiled")
    return settings


@contextmanager
def started_workers(folder: RunFolder, lock: IO[str], listener: Listener) -> Iterator[list[Worker]]:
    """Start the workers; at the end, ask them to save and exit, and wait for them."""
    processes: list[Worker] = []
    was_interrupted = False
    is_hosted, num = folder.experiment().resolved.is_hosted, len(folder.blocks())
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
        except KeyboardInterrupt:
            was_interrupted = True
            raise
        finally:
            _stop(processes, listener.stopping if was_interrupted else None)


def _start(
    folder: RunFolder,
    block: int,
    cores: list[int],
    settings: dict[str, str],
    log: IO[str],
    lock: IO[str],
) -> Worker:
    where = ",".join(map(str, cores))
    # the worker imports modules from where this process does
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
        env={**settings, **os.environ, "PYTHONPATH": paths},  # the user's settings take precedence
        # the folder stays locked until the last worker exits, even if this process is killed
        pass_fds=(lock.fileno(),),
    )


def _stop(processes: list[Worker], before_waiting: Callable[[], None] | None) -> None:
    """Let them save their checkpoints; a second Ctrl-C keeps the previous ones instead."""
    try:
        are_working = any(process.poll() is None for process in processes)
        for process in processes:
            process.send_signal(signal.SIGTERM)
            if process.stdout:
                process.stdout.close()  # a full pipe must not block it
        if are_working and before_waiting is not None:
            notify(before_waiting)
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.kill()  # without effect on those that have exited
            process.wait()


def notify(event: Callable[[], None]) -> None:
    """Call a listener and ignore its errors: a pipe that Ctrl-C closed must not cost results."""
    with suppress(Exception, SystemExit):
        event()


def listen(folder: RunFolder, processes: list[Worker], listener: Listener) -> list[str]:
    """Pass on messages, of advice each kind once, until all workers exit; return errors."""
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
                    message = _parse(line)
                    if message is None:  # printed by other code before the worker started
                        with open(folder.log_path(block), "a") as log:
                            log.write(line)
                        continue
                    if "error" in message:
                        errors.append(message["error"])
                        with suppress(subprocess.TimeoutExpired):
                            process.wait(_SECONDS_TO_EXIT)  # it exits by itself
                    if "advice" not in message or record_advice(folder.path, message):
                        listener.received(block, message)
                    continue
                selector.unregister(process.stdout)
                if process.wait() and not errors:
                    errors.append(_describe_death(folder, block, process.returncode))
    return errors


def _parse(line: str) -> Notes | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _describe_death(folder: RunFolder, block: int, code: int) -> str:
    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    lines = folder.log_path(block).read_text(errors="replace").splitlines()[-_NUM_LOG_LINES:]
    return "\n".join([f"the worker of block {block} died ({cause})", *lines])
