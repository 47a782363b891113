"""Settings as files: what `selfpaced search` writes, and `train` and `compare` take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.runs.storage import read_json


def with_preset_files(experiment: Experiment, paths: Sequence[Path]) -> Experiment:
    """The experiment with the settings of the preset files that are meant for it.

    `selfpaced search` writes such files; each is for one problem, teacher and learner.
    """
    for path in paths:
        preset = _read_preset(path)
        if _kind(preset) == _kind(experiment):
            experiment = replace(experiment, teacher=preset.teacher, learner=preset.learner)
    return experiment


def require_use(path: Path, experiments: Sequence[Experiment]) -> None:
    """A preset file that fits no experiment is a mistake."""
    preset = _read_preset(path)
    require(
        any(_kind(preset) == _kind(experiment) for experiment in experiments),
        f"{path} is a preset for {' + '.join(_kind(preset))}, which is not what is to be run",
    )


def _read_preset(path: Path) -> Experiment:
    require(path.is_file(), f"there is no preset file {path}; `selfpaced search` writes such files")
    plain = read_json(path)
    require(
        isinstance(plain, dict) and "teacher" in plain,
        f"{path} is no preset, as `selfpaced search` writes them",
    )
    try:
        return Experiment.from_dict(plain)
    except SelfpacedError as error:
        raise SelfpacedError(f"{path}: {error}") from error


def _kind(experiment: Experiment) -> tuple[str, str, str]:
    return experiment.problem, experiment.teacher_name, experiment.learner_name
