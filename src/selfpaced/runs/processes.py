"""Worker processes: one per block of seeds, each on cores of its own."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, final

from selfpaced.errors import SelfpacedError, is_users_file
from selfpaced.experiment import Experiment
from selfpaced.runs.advice import record_advice
from selfpaced.runs.compilation import compilation_settings
from selfpaced.runs.cores import free_cores_first, share_cores, usable_cores
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.storage import Notes

_WORKER_SETTINGS = {
    # threads of BLAS cost more than they gain on operations this small
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    # on a GPU, the first worker would otherwise reserve most of the memory
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
# with a host simulator: thousands of short calls, each of them awaited
_HOSTED_SETTINGS = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "false"}
_SECONDS_TO_EXIT = 10.0  # for a worker that has reported its end or an error
_SECONDS_TO_DUMP = 0.5  # for a worker that writes where it is
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
    return _WORKER_SETTINGS | (_HOSTED_SETTINGS if is_hosted else {}) | compilation_settings()


@final
@dataclass(frozen=True)
class LocalProcesses:
    """The engine that trains on this computer: one process per block."""

    @property
    def num_workers(self) -> int:
        """The number of cores."""
        return len(usable_cores())

    def train(self, folder: RunFolder, lock: IO[str], listener: Listener) -> list[str]:
        """Train all blocks to the end; return error messages."""
        with started_workers(folder, lock, listener) as processes:
            return listen(folder, processes, listener)


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
                path = folder.files()[block].log
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
        process_group=0,  # together with what a user's code starts
    )


def _stop(processes: list[Worker], before_waiting: Callable[[], None] | None) -> None:
    """Let them save their checkpoints; a second Ctrl-C keeps the previous ones instead."""
    try:
        working = [process for process in processes if process.poll() is None]
        for process in processes:
            process.send_signal(signal.SIGTERM)
            if process.stdout:
                process.stdout.close()  # a full pipe must not block it
        if working and before_waiting is not None:
            notify(before_waiting)
        deadline = time.monotonic() + seconds_of("SELFPACED_STOP_SECONDS", 60.0)
        for process in processes:
            with suppress(subprocess.TimeoutExpired):  # it hangs: its last checkpoint is kept
                process.wait(max(deadline - time.monotonic(), 0.1))
    finally:
        for process in processes:
            _end(process)


def _end(process: Worker) -> None:
    """Kill a worker, and processes that a user's code has left behind; none may hold the lock."""
    if process.returncode is None:
        process.poll()
    with suppress(ProcessLookupError, PermissionError):
        if not getattr(process, "has_ended", False):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.has_ended = True  # type: ignore[attr-defined]  # its number may be given to another


def notify(event: Callable[[], None]) -> None:
    """Call a listener and ignore its errors: a pipe that Ctrl-C closed must not cost results."""
    with suppress(Exception, SystemExit):
        event()


def listen(folder: RunFolder, processes: list[Worker], listener: Listener) -> list[str]:
    """Pass on messages, of advice each kind once, until all workers exit; return errors."""
    errors: list[str] = []
    files = folder.files()
    patience = seconds_of("SELFPACED_WATCHDOG_SECONDS", 300.0)
    heard = {block: time.monotonic() for block in range(len(processes))}
    done: set[int] = set()
    started: set[int] = set()  # before that, the signal of the watchdog would kill a worker
    with selectors.DefaultSelector() as selector:
        for block, process in enumerate(processes):
            assert process.stdout is not None
            selector.register(process.stdout, selectors.EVENT_READ, (block, process))
        while selector.get_map() and not errors:
            for key, _ in selector.select(timeout=min(patience, 1.0)):
                block, process = key.data
                heard[block] = time.monotonic()
                line = process.stdout.readline()
                if line:
                    message = _parse(line)
                    if message is None:  # printed by other code before the worker started
                        with open(files[block].log, "a") as log:
                            log.write(line)
                        continue
                    started.add(block)
                    if "error" in message:
                        errors.append(message["error"])
                    if "done" in message:
                        done.add(block)
                    if "advice" not in message or record_advice(folder.path, message):
                        listener.received(block, message)
                    if not ("error" in message or "done" in message):
                        continue
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_SECONDS_TO_EXIT)  # it exits by itself
                selector.unregister(process.stdout)
                code = process.wait() if block not in done else 0
                _end(process)
                if block not in done and not errors:
                    errors.append(_describe_death(folder, block, code))
            for block, moment in heard.items():
                if time.monotonic() - moment > patience and processes[block].poll() is None:
                    heard[block] = time.monotonic()
                    text = f"block {block} has not reported for {patience:g} s"
                    where = "its start-up"
                    if block in started:
                        where = locate(processes[block], files[block].log)
                    advice = {"advice": f"{text}; it is in {where}", "iteration": "unknown"}
                    listener.received(block, advice)
    return errors


def locate(process: Worker, log: Path) -> str:
    """Return where a worker is: the line of the user's code that it executes, if there is one."""
    before = log.stat().st_size
    process.send_signal(signal.SIGUSR1)
    time.sleep(_SECONDS_TO_DUMP)
    with open(log, errors="replace") as file:
        file.seek(before)
        return _place_in(file.read()) or f"an unknown place, see {log}"


def _place_in(dump: str) -> str:
    """The innermost line of the user's code in a dump of Python's, else the innermost of all."""
    frames = re.findall(r'File "(.*?)", line (\d+) in (.*)', dump)
    own = [frame for frame in frames if is_users_file(frame[0])] or frames
    return "{2} ({0}, line {1})".format(*own[0]) if own else ""


def seconds_of(variable: str, default: float) -> float:
    """Return the seconds that an environment variable gives, or the default.

    Raises:
        SelfpacedError: it is no positive number.
    """
    given = os.environ.get(variable, "")
    try:
        seconds = float(given or default)
        if seconds >= 0:
            return seconds
    except ValueError:
        pass
    raise SelfpacedError(f"{variable} must be a number of seconds, got {given!r}")


def _parse(line: str) -> Notes | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _describe_death(folder: RunFolder, block: int, code: int) -> str:
    cause = signal.Signals(-code).name if code < 0 else f"exit code {code} before the end"
    text = folder.files()[block].log.read_text(errors="replace")
    _, has_crashed, dump = text.rpartition("Fatal Python error: ")
    where = f" in {_place_in(dump)}" if has_crashed else ""
    if code >= 0:
        where = "; does the environment or the teacher call os._exit?"
    lines = text.splitlines()[-_NUM_LOG_LINES:]
    return "\n".join([f"the worker of block {block} died ({cause}){where}", *lines])
