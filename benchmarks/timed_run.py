"""Run an experiment and return how long it took."""

import tempfile
from pathlib import Path
from typing import NamedTuple

from selfpaced import Experiment, run

WARM = 30  # iterations until every program is compiled


class Timing(NamedTuple):
    """Speed of the slowest block of seeds once compiled, and time of the whole command."""

    steps_per_second: float
    seconds_per_iteration: float
    teacher_share: float  # of those seconds
    whole_seconds: float


def timed_run(experiment: Experiment) -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        finished = run(experiment, Path(folder) / "run")
        summary, metrics = finished.summary(), finished.metrics()
    training, teacher = (
        (metrics[name][-1] - metrics[name][WARM - 1]).max()
        for name in ("time/training_seconds", "time/teacher_seconds")
    )
    num_warm = experiment.iterations - WARM
    return Timing(
        steps_per_second=experiment.environment_steps * num_warm / experiment.iterations / training,
        seconds_per_iteration=training / num_warm,
        teacher_share=teacher / training,
        whole_seconds=summary["wall_seconds"],
    )


def verdict(ratio: float, required: float, met: bool) -> str:
    digits = 2 if required < 10 else 0
    return f"{ratio:.{digits}f}x (required {required:g}x: {'met' if met else 'MISSED'})"
