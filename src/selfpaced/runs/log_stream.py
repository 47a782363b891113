"""Deliver the saved rows of a run to a logger, in a thread that a slow logger cannot leave."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import final

from selfpaced.errors import describe_exception
from selfpaced.experiment import Experiment
from selfpaced.runs.checkpoint import mark_of
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.history import parse_payload
from selfpaced.runs.history_log import START, Mark, read_frames
from selfpaced.runs.logger import Logger, Row, rows_of
from selfpaced.runs.storage import read_json, write_json


@final
class SavedRows:
    """Reads the rows that checkpoints hold, each once."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._experiment = folder.experiment()
        self._marks: dict[int, Mark] = {}  # how far each block was read

    def read_new(self) -> list[Row]:
        """Return the rows that were saved since the last call."""
        rows: list[Row] = []
        for files in self._folder.files():
            notes = files.notes()
            if notes is None:
                continue
            mark, start = mark_of(notes), self._marks.get(files.block, START)
            for frame in read_frames(files.history, mark, start):
                rows += rows_of(parse_payload(frame))
            self._marks[files.block] = mark
        return [_as_planned(self._experiment, row) for row in rows]


@final
class LogStream:
    """Runs a logger in a thread of its own; an error or a delay stays there.

    Args:
        folder: the run.
        logger: receives the rows.
        warn: receives a sentence if the logger fails.
        remembered: file of the last iteration of every seed that was logged; None starts with the
            first row again when a run is resumed.
    """

    def __init__(
        self,
        folder: RunFolder,
        logger: Logger,
        warn: Callable[[str], None],
        remembered: Path | None = None,
    ) -> None:
        self._folder, self._logger, self._warn = folder, logger, warn
        self._remembered = remembered
        self._logged: dict[int, int] = {}  # last iteration by seed
        self._has_news, self._is_over = Event(), False
        self._thread = Thread(target=self._deliver_all, name=name_of(logger), daemon=True)

    def start(self) -> None:
        """Deliver what was saved before."""
        self._thread.start()

    def notify(self) -> None:
        """Deliver what was saved meanwhile."""
        self._has_news.set()

    def finish(self, seconds: float | None = None) -> None:
        """Deliver everything, finish the logger, and wait for that at most some seconds."""
        if not self._thread.is_alive():
            return
        self._is_over = True
        self._has_news.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._warn(f"the logger {name_of(self._logger)} did not end within {seconds:g} s")

    def _deliver_all(self) -> None:
        has_started = False
        try:
            saved = SavedRows(self._folder)
            self._logged = self._recall()
            while True:
                is_last = self._is_over
                rows = [row for row in saved.read_new() if self._is_new(row)]
                if rows:
                    if not has_started:
                        self._logger.start(self._folder)
                        has_started = True
                    self._logger.log(rows)
                    self._remember(rows)
                if is_last:
                    break
                self._has_news.wait()
                self._has_news.clear()
            if has_started:
                self._logger.finish(self._folder)
        except BaseException as error:  # of a user's logger, and also SystemExit
            if self._folder.path.exists():  # it may have been deleted or renamed
                text = f"the logger {name_of(self._logger)} failed and is off"
                self._warn(f"{text}; training goes on: {describe_exception(error)}")

    def _is_new(self, row: Row) -> bool:
        return row.iteration > self._logged.get(row.seed, -1)

    def _recall(self) -> dict[int, int]:
        if self._remembered is None or not self._remembered.exists():
            return {}
        return {int(seed): int(last) for seed, last in read_json(self._remembered).items()}

    def _remember(self, rows: list[Row]) -> None:
        for row in rows:
            self._logged[row.seed] = row.iteration
        if self._remembered is not None:
            write_json(self._remembered, self._logged)


def name_of(logger: Logger) -> str:
    """Return the name of a logger in messages and files."""
    return re.sub(r"\W", "", type(logger).__name__)


def _as_planned(experiment: Experiment, row: Row) -> Row:
    """Leave out the evaluation at the former end of a run that was extended."""
    if row.evaluation and not experiment.evaluates_after(row.iteration):
        return row._replace(evaluation={}, contexts={})
    return row
