"""Event files for TensorBoard, one folder per seed.

They are written without TensorFlow and PyTorch: one event per row holds all its scalars.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from PIL import Image

from selfpaced.loggers.selection import (
    Value,
    final_video,
    is_pictured,
    settings_of,
    values_of,
)
from selfpaced.reports.context_picture import ContextPicture
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.logger import Row
from selfpaced.validation import require_extra

FOLDER = "tensorboard"  # in the run folder


@final
@dataclass
class TensorBoard:
    """Logs a run for `tensorboard --logdir RUN/tensorboard`; requires `selfpaced[tensorboard]`.

    Scalars have the names of `metrics.csv`, and `evaluations/` before those of `evaluations.csv`.
    Settings are in the tabs Text and HParams, the contexts of each seed in the tab Images, and a
    video of the final policy beside them.

    Raises:
        MissingPartError: TensorBoard is not installed.

    Examples:
        >>> from selfpaced.loggers.tensorboard import TensorBoard
        >>> TensorBoard(video=False)
        TensorBoard(pictures=True, video=False)
    """

    pictures: bool = True
    """draw the contexts at up to 21 evaluations of each seed"""
    video: bool = True
    """record the final policy of the first seed, if its problem can be drawn"""

    def __post_init__(self) -> None:
        require_extra("tensorboard", "tensorboard.summary.writer.event_file_writer", "TensorBoard")

    def start(self, run: RunFolder) -> None:
        """Write no file yet: every seed gets one with its first row."""
        self._experiment = run.experiment()
        self._folder = run.path / FOLDER
        self._writers: dict[int, _SeedWriter] = {}
        self._picture: ContextPicture | None = None

    def log(self, rows: Sequence[Row]) -> None:
        """Write and flush rows."""
        for row in rows:
            writer = self._writer(row.seed, row.iteration)
            if values := values_of(row):
                writer.add_scalars(row.iteration, values)
            if self.pictures and is_pictured(self._experiment, row):
                self._draw(writer, row)
        for writer in self._writers.values():
            writer.flush()

    def finish(self, run: RunFolder) -> None:
        """Add a video to a finished run, and close the files."""
        try:
            if self.video and run.is_finished and (path := final_video(run)):
                iterations = self._experiment.iterations
                writer = self._writer(next(iter(run.counted_seeds())), iterations)
                writer.add_image(iterations, "final policy", path.read_bytes(), _size(path))
        finally:
            for writer in self._writers.values():
                writer.close()

    def _writer(self, seed: int, step: int) -> _SeedWriter:
        if seed not in self._writers:
            settings = settings_of(self._experiment) | {"seed": seed}
            settings.pop("seeds", None)
            path = self._folder / f"seed-{seed}"
            self._writers[seed] = _SeedWriter(path, settings, step)
        return self._writers[seed]

    def _draw(self, writer: _SeedWriter, row: Row) -> None:
        if self._picture is None:
            self._picture = ContextPicture(self._experiment.resolved.contexts)
        caption = f"seed {row.seed}, iteration {row.iteration}"
        content = self._picture.png(row.contexts, caption)
        writer.add_image(row.iteration, "contexts", content, self._picture.size)


@final
class _SeedWriter:
    """The event file of one seed."""

    def __init__(self, path: Path, settings: Mapping[str, Value], step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary = Event, Summary
        is_new = not path.exists()
        self._file = EventFileWriter(str(path))
        if is_new:
            self._add_settings(settings)
        else:  # TensorBoard forgets what a process that was killed has written from here on
            session = SessionLog(status=SessionLog.START)
            self._file.add_event(Event(wall_time=time.time(), step=step, session_log=session))

    def add_scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Write one event with all values of a row."""
        value = self._summary.Value
        self._add(step, [value(tag=name, simple_value=number) for name, number in values.items()])

    def add_image(self, step: int, tag: str, content: bytes, size: tuple[int, int]) -> None:
        """Write a PNG, or a GIF, which TensorBoard plays."""
        image = self._summary.Image(
            encoded_image_string=content, width=size[0], height=size[1], colorspace=3
        )
        self._add(step, [self._summary.Value(tag=tag, image=image)])

    def flush(self) -> None:
        """Write what is waiting."""
        self._file.flush()

    def close(self) -> None:
        """Write what is waiting, and close the file."""
        self._file.close()

    def _add(self, step: int, values: Sequence[Any]) -> None:
        summary = self._summary(value=values)
        self._file.add_event(self._event(wall_time=time.time(), step=step, summary=summary))

    def _add_settings(self, settings: Mapping[str, Value]) -> None:
        """A table in the tab Text, and a session in the tab HParams."""
        from tensorboard.plugins.hparams import summary_v2
        from tensorboard.plugins.text.metadata import create_summary_metadata
        from tensorboard.util.tensor_util import make_tensor_proto

        rows = [f"| {name} | {value} |" for name, value in settings.items()]
        text = "\n".join(["| setting | value |", "|---|---|", *rows])
        known = {name: "None" if value is None else value for name, value in settings.items()}
        metrics = [
            summary_v2.Metric("evaluations/return"),
            summary_v2.Metric("evaluations/success"),
        ]
        table = self._summary.Value(
            tag="settings",
            metadata=create_summary_metadata("settings", ""),
            tensor=make_tensor_proto(text.encode()),
        )
        config = summary_v2.hparams_config_pb([], metrics)
        session = summary_v2.hparams_pb(known, start_time_secs=time.time())
        self._add(0, [table, *config.value, *session.value])


def _size(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size
