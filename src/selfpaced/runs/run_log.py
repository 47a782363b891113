"""All loggers of a run, as a listener of its workers: rows are delivered when they are saved."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from types import TracebackType
from typing import final

from selfpaced.experiment import Experiment
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.growing_tables import GrowingTables
from selfpaced.runs.log_stream import LogStream, name_of
from selfpaced.runs.logger import Logger
from selfpaced.runs.processes import Listener, notify, seconds_of
from selfpaced.runs.storage import Notes


@final
class RunLog(Listener):
    """Wakes the loggers when a block is saved, and passes all events on to another listener."""

    def __init__(self, folder: RunFolder, listener: Listener, loggers: Sequence[Logger]) -> None:
        self._listener = listener
        self._patience = seconds_of("SELFPACED_LOGGER_SECONDS", 600.0)
        self._warnings: deque[str] = deque()  # of the threads; shown by this one
        self._iteration = 0
        self._tables = LogStream(folder, GrowingTables(), self._warnings.append)
        self._streams: list[LogStream] = []
        names: Counter[str] = Counter()
        for logger in loggers:
            name = name_of(logger)
            names[name] += 1
            path = folder.checkpoints / f"logged-{name}-{names[name]}.json"
            self._streams.append(LogStream(folder, logger, self._warnings.append, path))

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.finish()

    def started(self, experiment: Experiment) -> None:
        """Deliver the rows of a run that is resumed."""
        self._listener.started(experiment)
        for stream in (self._tables, *self._streams):
            stream.start()

    def received(self, block: int, message: Notes) -> None:
        """Deliver rows after a block was saved."""
        self._listener.received(block, message)
        self._iteration = max(self._iteration, _iteration_in(message))
        if "saved" in message:
            for stream in (self._tables, *self._streams):
                stream.notify()
        while self._warnings:
            self._listener.received(block, self._next_warning())

    def stopping(self) -> None:
        """Pass the interruption on."""
        self._listener.stopping()

    def ended(self) -> None:
        """Complete the tables before they are exported."""
        self._tables.finish()
        self._listener.ended()

    def finish(self) -> None:
        """Let every logger end; Ctrl-C leaves those behind that take long."""
        try:
            for stream in self._streams:
                stream.finish(self._patience)
        except KeyboardInterrupt:
            self._warnings.append("loggers were left before their end")
        while self._warnings:
            message = self._next_warning()
            notify(lambda message=message: self._listener.received(0, message))  # type: ignore[misc]

    def _next_warning(self) -> Notes:
        text = self._warnings.popleft()
        return {"advice": text, "iteration": self._iteration, "num_seeds": 0}


def _iteration_in(message: Notes) -> int:
    found = message.get("iteration", 0)
    return found if isinstance(found, int) else 0  # a block that hangs reports "unknown"
