"""The command `selfpaced train`: one experiment, with every setting as a flag."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from selfpaced.commands.options import (
    PAPER_REPETITIONS,
    ProblemName,
    RepetitionFlags,
    default_folder,
    first_argument,
    parse,
    parse_known,
)
from selfpaced.commands.progress import Progress
from selfpaced.commands.tables import show_run
from selfpaced.experiment import Budget, Experiment, make_method
from selfpaced.presets.neurips2020 import neurips2020
from selfpaced.registry import PROBLEMS
from selfpaced.runs.supervisor import run
from selfpaced.studies.preset_files import require_use, with_preset_files

_BUDGET = Budget()  # until the preset's is known


@dataclass(frozen=True)
class MethodOptions:
    """Teacher and learner, which determine the flags below."""

    teacher: str = "spdl"
    """teacher, which chooses the contexts: a name from `selfpaced list`, NAME-star for the paper's
    starred variant, or your own as module:Class"""
    learner: str | None = None
    """learner, which improves the policy, or your own as module:Class; None is ppo, or episodic
    with sprl"""
    preset: Path | None = None
    """file with other settings than the paper's, written by `selfpaced search`"""


@dataclass(frozen=True)
class Options:
    """Train a learner with a teacher on a problem, several seeds at once."""

    problem: ProblemName
    out: Path | None = None
    """run folder; None is runs/PROBLEM-TEACHER-LEARNER"""
    overwrite: bool = False
    """replace an existing run folder"""
    repetitions: RepetitionFlags = PAPER_REPETITIONS
    method: tyro.conf.OmitArgPrefixes[MethodOptions] = MethodOptions()
    budget: tyro.conf.OmitArgPrefixes[Budget] = _BUDGET


def main(arguments: list[str]) -> None:
    """Run the command."""
    options, experiment = parse_train(arguments)
    names = (experiment.problem, experiment.teacher_name, experiment.learner_name)
    out = options.out or default_folder(*names)
    console = Console(emoji=False)
    workers = options.repetitions.workers
    show_run(console, run(experiment, out, workers, options.overwrite, Progress(console)))


def parse_train(arguments: Sequence[str]) -> tuple[Options, Experiment]:
    """Return options and experiment.

    The flags are those of the problem, teacher and learner, their defaults those of the preset.

    Raises:
        SelfpacedError: PROBLEM is not first, a name is unknown, or a setting is wrong.
    """
    problem = first_argument("train", arguments) or next(iter(PROBLEMS))
    preset = _find_preset(problem, parse_known("train", MethodOptions, arguments))
    parts = _parts(preset)
    kind = _options_with(preset.budget, parts)
    options = parse("train", kind, arguments, _describe(preset))
    chosen = {role: getattr(options, _field(role)) for role in parts}
    environment = chosen.pop("environment", preset.environment)
    experiment = dataclasses.replace(
        preset,
        method=make_method(preset.method.parts | chosen),
        seeds=options.repetitions.all_seeds,
        environment=environment,
        **dataclasses.asdict(options.budget),
    )
    return options, experiment


def _find_preset(problem: str, method: MethodOptions) -> Experiment:
    preset = neurips2020(problem, method.teacher, method.learner)
    if method.preset is None:
        return preset
    require_use(method.preset, [preset])
    return with_preset_files(preset, [method.preset])


def _parts(preset: Experiment) -> dict[str, object]:
    """Everything that has settings, which become flags like `--teacher.zeta`."""
    parts = dict(preset.method.parts)
    if preset.resolved.is_hosted and preset.problem in PROBLEMS:
        # the settings of a user's environment may have any type
        parts["environment"] = preset.resolved.environment
    return {role: part for role, part in parts.items() if _has_settings(part)}


def _has_settings(part: object) -> bool:
    return dataclasses.is_dataclass(part) and len(dataclasses.fields(part)) > 0


def _options_with(budget: Budget, parts: dict[str, object]) -> type[Options]:
    """Options with the settings of all parts."""
    settings = (
        (_field(role), Annotated[type(part), tyro.conf.arg(name=role)], part)
        for role, part in parts.items()
    )
    own_budget = ("budget", tyro.conf.OmitArgPrefixes[Budget], budget)
    return dataclasses.make_dataclass(
        "TrainOptions", [own_budget, *settings], bases=(Options,), frozen=True
    )


def _field(role: str) -> str:
    return f"{role}_settings"  # `teacher` is the flag for its name


def _describe(preset: Experiment) -> str:
    names = f"{preset.teacher_name} and {preset.learner_name} on {preset.problem}"
    return (
        f"{Options.__doc__} Flags and defaults are those of {names}; for others, name them: "
        "`selfpaced train ball-catching --teacher goal-gan --help`."
    )
