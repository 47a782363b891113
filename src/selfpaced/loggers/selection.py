"""What loggers show of a run beside its numbers: settings, moments for pictures, a video."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from selfpaced.errors import SelfpacedError
from selfpaced.experiment import Experiment
from selfpaced.reports.recording import VideoSettings, open_recorder
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.logger import Row
from selfpaced.runs.storage import plain

MAX_PICTURES = 20  # of the contexts of a seed, beside the last
_LOCK = Lock()  # two loggers need one video

Value = float | int | str | bool | None


def settings_of(experiment: Experiment) -> dict[str, Value]:
    """Return every setting by its path, as `teacher.zeta`."""
    return dict(_flat("", plain(experiment.to_dict())))


def values_of(row: Row) -> dict[str, float]:
    """Return the values that exist: names of `metrics.csv`, then `evaluations/` and a name."""
    evaluation = {f"evaluations/{name}": value for name, value in row.evaluation.items()}
    values = row.metrics | evaluation
    return {name: value for name, value in values.items() if not math.isnan(value)}


def is_pictured(experiment: Experiment, row: Row) -> bool:
    """Return whether the contexts of a row are drawn: at most so many moments, and the last."""
    moments = experiment.evaluation_iterations
    if "samples" not in row.contexts or row.iteration not in moments:
        return False
    every = math.ceil(len(moments) / MAX_PICTURES)
    return moments.index(row.iteration) % every == 0 or row.iteration == moments[-1]


def final_video(run: RunFolder) -> Path | None:
    """Return a GIF of the final policy of the first seed; None if its problem cannot be drawn."""
    path = run.figures / "watch.gif"
    with _LOCK:
        summary = run.path / "summary.json"
        if path.exists() and path.stat().st_mtime >= summary.stat().st_mtime:
            return path
        try:
            counted = run.counted_seeds()
            settings = VideoSettings(seed=counted[0] if counted else None, episodes=3)
            with open_recorder(run, settings) as recorder:
                for number in range(1, recorder.plan.num_episodes + 1):
                    recorder.record(number)
                return recorder.write()
        except SelfpacedError:
            return None


def _flat(path: str, content: object) -> Iterator[tuple[str, Value]]:
    if isinstance(content, dict):
        for name, value in content.items():
            yield from _flat(f"{path}.{name}" if path else str(name), value)
    elif content is None or isinstance(content, str | int | float):
        yield path, content
    else:
        yield path, str(content)
