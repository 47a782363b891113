"""The command `selfpaced train`: one experiment, with every setting as a flag."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from selfpaced.commands.options import (
    NO_LOGS,
    PAPER_REPETITIONS,
    THIS_COMPUTER,
    EngineFlags,
    LogFlags,
    ProblemName,
    RepetitionFlags,
    default_folder,
    first_argument,
    parse,
    parse_known,
)
from selfpaced.commands.part_settings import options_with, parts_of, with_options
from selfpaced.commands.progress import Progress
from selfpaced.commands.tables import show_run
from selfpaced.experiment import Budget, Experiment
from selfpaced.presets.neurips2020 import published
from selfpaced.registry import PROBLEMS
from selfpaced.runs.policies import load_policy
from selfpaced.runs.supervisor import run
from selfpaced.studies.preset_files import require_use, split_presets, with_preset_files

_BUDGET = Budget()  # until the preset's is known


@dataclass(frozen=True)
class MethodOptions:
    """Teacher and learner, which determine the flags below."""

    teacher: str | None = None
    """teacher, which chooses the contexts: a name from `selfpaced list`, NAME-star for the paper's
    starred variant, or your own as module:Class; None is spdl, or currot if a distribution of the
    problem is not a Gaussian"""
    learner: str | None = None
    """learner, which improves the policy, or your own as module:Class; None is ppo, or episodic
    with sprl"""
    preset: str | None = None
    """settings by their name, as jmlr2021 (published) or robust (ours), or a file with other
    settings, written by `selfpaced search`"""


@dataclass(frozen=True)
class Options:
    """Train a learner with a teacher on a problem, several seeds at once."""

    problem: ProblemName
    out: Path | None = None
    """run folder; None is runs/PROBLEM-TEACHER-LEARNER"""
    overwrite: bool = False
    """replace an existing run folder"""
    start_from: Path | None = None
    """run folder whose policy all seeds start from, that of its first seed; it needs the same
    learner and sizes of observations and actions"""
    repetitions: RepetitionFlags = PAPER_REPETITIONS
    engine: EngineFlags = THIS_COMPUTER
    logs: LogFlags = NO_LOGS
    method: tyro.conf.OmitArgPrefixes[MethodOptions] = MethodOptions()
    budget: tyro.conf.OmitArgPrefixes[Budget] = _BUDGET


def main(arguments: list[str]) -> None:
    """Run the command."""
    options, experiment = parse_train(arguments)
    names = (experiment.problem_name, experiment.teacher_name, experiment.learner_name)
    out = options.out or default_folder(*names)
    console = Console(emoji=False)
    start = None if options.start_from is None else load_policy(options.start_from)
    workers, progress = options.repetitions.workers, Progress(console)
    engine = options.engine.make()
    loggers = options.logs.make()
    folder = run(experiment, out, workers, options.overwrite, progress, start, engine, loggers)
    show_run(console, folder)


def parse_train(arguments: Sequence[str]) -> tuple[Options, Experiment]:
    """Return options and experiment.

    The flags are those of the problem, teacher and learner, their defaults those of the preset.

    Raises:
        SelfpacedError: PROBLEM is not first, a name is unknown, or a setting is wrong.
    """
    problem = first_argument("train", arguments) or next(iter(PROBLEMS))
    preset = _find_preset(problem, parse_known("train", MethodOptions, arguments))
    budget = ("budget", tyro.conf.OmitArgPrefixes[Budget], preset.budget)
    kind = options_with(Options, parts_of(preset), budget)
    options = parse("train", kind, arguments, _describe(preset))
    preset = dataclasses.replace(preset, seeds=options.repetitions.all_seeds)
    return options, with_options(preset, options.budget, options)


def _find_preset(problem: str, method: MethodOptions) -> Experiment:
    name, files = split_presets(problem, [] if method.preset is None else [method.preset])
    preset = published(problem, method.teacher, method.learner, name=name)
    for path in files:
        require_use(path, [preset])
    return with_preset_files(preset, files)


def _describe(preset: Experiment) -> str:
    names = f"{preset.teacher_name} and {preset.learner_name} on {preset.problem_name}"
    return (
        f"{Options.__doc__} Flags and defaults are those of {names}; for others, name them: "
        "`selfpaced train ball-catching --teacher goal-gan --help`."
    )
