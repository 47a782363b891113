"""Settings as files: written by `selfpaced search`, read by `train` and `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.runs.storage import read_json


def with_preset_files(experiment: Experiment, paths: Sequence[Path]) -> Experiment:
    """Return the experiment with the settings of those preset files that are for it.

    A file is for one problem, teacher and learner.
    """
    for path in paths:
        preset = _read_preset(path)
        if _kind(preset) == _kind(experiment):
            experiment = experiment.with_parts(**preset.method.parts)
    return experiment


def require_use(path: Path, experiments: Sequence[Experiment]) -> None:
    """Raise `SelfpacedError` if a preset file is for none of the experiments."""
    preset = _read_preset(path)
    planned = "; ".join(" + ".join(_kind(experiment)) for experiment in experiments)
    require(
        any(_kind(preset) == _kind(experiment) for experiment in experiments),
        f"{path} is a preset for {' + '.join(_kind(preset))}, which is not among: {planned}",
    )


def _read_preset(path: Path) -> Experiment:
    require(path.is_file(), f"preset file {path} does not exist; `selfpaced search` writes one")
    plain = read_json(path)
    require(
        isinstance(plain, dict) and "teacher" in plain,
        f"{path} must be a preset as `selfpaced search` writes it",
    )
    try:
        return Experiment.from_dict(plain)
    except SelfpacedError as error:
        raise SelfpacedError(f"{path}: {error}") from error


def _kind(experiment: Experiment) -> tuple[str, str, str]:
    return experiment.problem, experiment.teacher_name, experiment.learner_name
