"""The engine for clusters: every block is a Ray task that streams its checkpoints to the driver.

The driver alone writes to the run folder, so nodes need no common file system. A block whose worker
or node is lost is submitted again with the last checkpoint that the driver has; random streams do
not depend on the past, so the result is the same. A task never waits for another one: Ray would
give its core away meanwhile.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, final

from selfpaced.errors import SelfpacedError, describe_exception
from selfpaced.registry import user_modules
from selfpaced.runs.advice import record_advice
from selfpaced.runs.block_files import BlockFiles, Update
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.processes import Listener, worker_settings
from selfpaced.runs.storage import Notes
from selfpaced.runs.worker import BlockRun
from selfpaced.validation import require_extra

_MAX_LOSSES = 5  # of a block in a row, without a new checkpoint
_PASSED_ON = ("SELFPACED_", "JAX_", "XLA_")  # beginnings of environment variables

Event = Notes | Update


@final
@dataclass(frozen=True)
class RayEngine:
    """Trains blocks as tasks of a Ray cluster.

    Args:
        address: of a running cluster, as for `ray.init`; None starts Ray on this computer, or
            connects to the cluster in the environment variable `RAY_ADDRESS`.

    Examples:
        >>> from selfpaced.runs.ray_engine import RayEngine
        >>> RayEngine("10.0.0.1:6379").address
        '10.0.0.1:6379'
    """

    address: str | None = None

    @property
    def num_workers(self) -> int:
        """The number of cores in the cluster."""
        return max(int(self._connect().cluster_resources().get("CPU", 1)), 1)

    def train(self, folder: RunFolder, lock: IO[str], listener: Listener) -> list[str]:
        """Train all blocks to the end; return error messages."""
        ray = self._connect()
        experiment = folder.experiment()
        environment = runtime_environment(experiment.resolved.is_hosted, experiment.to_dict())
        submit = ray.remote(
            num_cpus=1,
            num_returns="streaming",
            max_retries=0,
            scheduling_strategy="SPREAD",
            runtime_env=environment,
        )(train_block).remote
        blocks = [_Block(files, folder) for files in folder.files() if files.active_seeds()]
        errors: list[str] = []
        running = {block.submit(submit): block for block in blocks}
        try:
            while running and not errors:
                ready, _ = ray.wait(list(running), num_returns=1, timeout=1.0, fetch_local=False)
                for generator in ready:
                    block = running.pop(generator)
                    try:
                        event = ray.get(next(generator))
                    except StopIteration:
                        continue
                    except ray.exceptions.RayError as error:
                        errors += block.lose(error, listener)
                        if not errors:
                            running[block.submit(submit)] = block
                        continue
                    errors += block.receive(event, listener)
                    running[generator] = block
        finally:
            for generator in running:  # what they have sent is saved
                ray.cancel(generator, force=True)
        return errors

    def _connect(self) -> Any:
        ray = require_extra("ray", "ray", "--engine ray")
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            # of a Ray that is started here; tasks would otherwise run at the lowest priority
            os.environ.setdefault("RAY_worker_niceness", "0")
            try:
                with _same_sigterm():  # Ray would end the driver instead of an interruption
                    ray.init(self.address, log_to_driver=False, logging_level="ERROR")
            except (ConnectionError, ray.exceptions.RayError, RuntimeError, ValueError) as error:
                raise SelfpacedError(
                    f"cannot connect to Ray at {self.address or 'this computer'}: "
                    f"{describe_exception(error)}; check the address, and that all nodes have the "
                    "same versions and authentication token"
                ) from error
        return ray


@contextmanager
def _same_sigterm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():  # only it sets handlers
            signal.signal(signal.SIGTERM, before)


@dataclass
class _Block:
    """A block on the side of the driver."""

    files: BlockFiles
    folder: RunFolder
    num_losses: int = field(default=0)  # since the last checkpoint

    def submit(self, submit: Any) -> Any:
        """Start a task from the newest checkpoint."""
        description = (self.folder.path / "experiment.json").read_bytes()
        newest = self.files.newest
        checkpoint = newest.read_bytes() if newest.exists() else None
        path = self.folder.start_path
        start = path.read_bytes() if path.exists() else None
        return submit(description, self.files.block, checkpoint, self.files.log_size(), start)

    def receive(self, event: Event, listener: Listener) -> list[str]:
        """Save what a task sends, and pass messages on; return errors."""
        if isinstance(event, Update):
            self.files.receive(event)
            self.num_losses = 0
            return []
        if "advice" not in event or record_advice(self.folder.path, event):
            listener.received(self.files.block, event)
        return [event["error"]] if "error" in event else []

    def lose(self, error: Exception, listener: Listener) -> list[str]:
        """Note the loss of a worker or node; return an error if it happens again and again."""
        self.num_losses += 1
        cause = type(error).__name__
        text = f"block {self.files.block} lost its worker ({cause}) and continues elsewhere"
        if self.num_losses > _MAX_LOSSES:
            return [
                f"block {self.files.block} lost its worker {self.num_losses} times without a new "
                f"checkpoint ({cause}: {error}); are its nodes short of memory?"
            ]
        notes = self.files.notes() or {"iteration": 0}
        listener.received(
            self.files.block, {"advice": text, "iteration": notes["iteration"], "num_seeds": 0}
        )
        time.sleep(min(self.num_losses - 1, 5))
        return []


class _NoRequests:
    """A task is stopped by Ray: what it has sent is saved."""

    stop_requested = False


def train_block(
    description: bytes,
    block: int,
    checkpoint: bytes | None,
    log_size: int,
    start: bytes | None = None,
) -> Iterator[Event]:
    """Train a block in a temporary run folder on some node; give messages and saved files."""
    with TemporaryDirectory(prefix="selfpaced-") as place:
        folder = RunFolder(Path(place) / "run", trust=True)
        folder.path.mkdir()
        (folder.path / "experiment.json").write_bytes(description)
        files = folder.files()[block]
        files.folder.mkdir()
        if checkpoint is not None:
            files.newest.write_bytes(checkpoint)
        if start is not None:
            folder.start_path.write_bytes(start)
        with open(files.history, "wb") as file:
            file.truncate(log_size)  # the driver has what was recorded before
        try:
            for message in BlockRun(folder, block, _NoRequests()).events():
                if "failure" in message:
                    seed = message["failure"]["seed"]
                    yield Update(failed={seed: files.failed(seed).read_bytes()})
                if "saved" in message:
                    update = files.update_since(log_size)
                    log_size += len(update.rows)
                    yield update
                yield message
        except SelfpacedError as error:
            yield {"error": str(error)}
        except (Exception, SystemExit) as error:
            text = f"unexpected {describe_exception(error)}\n\n{traceback.format_exc()}"
            yield {"error": text}


def runtime_environment(is_hosted: bool, experiment: Notes) -> Notes:
    """Return the settings of the processes on the nodes, and the user's modules."""
    settings = worker_settings(is_hosted)
    settings |= {  # the user's settings take precedence, as in local processes
        name: value
        for name, value in os.environ.items()
        if name in settings or name.startswith(_PASSED_ON)
    }
    environment: Notes = {"env_vars": settings}
    if modules := user_modules(experiment):
        environment["py_modules"] = list(map(str, modules))
    return environment
