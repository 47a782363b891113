"""Presets of `--preset`: names of published settings, and files that `selfpaced search` writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Budget, Experiment
from selfpaced.registry import find_problem, only_known_code
from selfpaced.runs.storage import read_json
from selfpaced.validation import suggestion

_FIELDS = (*(field.name for field in dataclasses.fields(Budget)), "environment")


class _PresetFile(NamedTuple):
    experiment: Experiment
    fields: tuple[str, ...]  # budget and environment, as far as the file has them


class Presets(NamedTuple):
    """What `--preset` selects: published settings by name, and files with other settings."""

    name: str | None
    files: tuple[Path, ...]


def split_presets(problem: str, given: Sequence[str | Path]) -> Presets:
    """Tell names of the problem's presets from paths of files.

    Raises:
        SelfpacedError: there are several names, or a word is neither a name nor a file.

    Examples:
        >>> from selfpaced.studies.preset_files import split_presets
        >>> split_presets("point-mass-2d", ["jmlr2021", "runs/preset.json"])
        Presets(name='jmlr2021', files=(PosixPath('runs/preset.json'),))
    """
    known = dict(find_problem(problem).presets)
    names = [str(each) for each in given if str(each) in known]
    require(
        len(names) <= 1,
        f"--preset must have at most one name of published settings, got {', '.join(names)}",
    )
    files = tuple(Path(each) for each in given if str(each) not in known)
    for path in files:
        require(
            bool(path.suffix) or len(path.parts) > 1 or path.exists(),
            f"preset of {problem} must be {', '.join([*known, ''])}or a file that `selfpaced "
            f"search` has written, got {str(path)!r}{suggestion(str(path), known)}",
        )
    return Presets(names[0] if names else None, files)


def with_preset_files(experiment: Experiment, paths: Sequence[Path]) -> Experiment:
    """Return the experiment with the settings of those preset files that are for it.

    A file is for one problem, teacher and learner. Everything in it is taken, except the seeds:
    the settings of the parts, the budget and the environment. What the file lacks of budget and
    environment is kept.
    """
    for path in paths:
        preset, fields = _read_preset(path)
        if _kind(preset) == _kind(experiment):
            changes = {name: getattr(preset, name) for name in fields}
            experiment = dataclasses.replace(experiment, method=preset.method, **changes)
    return experiment


def require_use(path: Path, experiments: Sequence[Experiment]) -> None:
    """Raise `SelfpacedError` if a preset file is for none of the experiments."""
    preset, _ = _read_preset(path)
    planned = "; ".join(" + ".join(_kind(experiment)) for experiment in experiments)
    require(
        any(_kind(preset) == _kind(experiment) for experiment in experiments),
        f"{path} is a preset for {' + '.join(_kind(preset))}, which is not among: {planned}",
    )


def _read_preset(path: Path) -> _PresetFile:
    require(
        not path.is_dir(), f"preset must be a file, got the folder {path}; name its preset.json"
    )
    require(path.is_file(), f"preset file {path} does not exist; `selfpaced search` writes one")
    plain = read_json(path)
    require(
        isinstance(plain, dict) and "teacher" in plain,
        f"{path} must be a preset as `selfpaced search` writes it",
    )
    try:
        with only_known_code():  # what it is used for has been imported already
            experiment = Experiment.from_dict({"seeds": (0,)} | plain)
    except SelfpacedError as error:
        raise SelfpacedError(f"{path}: {error}") from error
    return _PresetFile(experiment, tuple(name for name in _FIELDS if name in plain))


def _kind(experiment: Experiment) -> tuple[str, str, str]:
    return experiment.problem_name, experiment.teacher_name, experiment.learner_name
