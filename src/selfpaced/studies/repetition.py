"""The commands that run an experiment again."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.presets.neurips2020 import neurips2020
from selfpaced.problems import Problem
from selfpaced.registry import PROBLEMS

_STAR = "*"


def train_commands(experiment: Experiment, out: str) -> list[str]:
    """Return the shell commands that run an experiment again, with what its preset does not have.

    Seeds that do not follow each other take a command for each range of them, and one that merges
    the runs.

    Args:
        experiment: the experiment.
        out: folder of the new run.

    Raises:
        SelfpacedError: flags cannot give a setting.

    Examples:
        >>> from selfpaced import SPDL, neurips2020
        >>> from selfpaced.studies.repetition import train_commands
        >>> experiment = neurips2020("point-mass-2d").with_parts(teacher=SPDL(zeta=2.0))
        >>> train_commands(experiment, "runs/again")[0].partition(" --teacher.")[0]
        'selfpaced train point-mass-2d --teacher spdl --learner ppo --seeds 20'
    """
    ranges = list(_consecutive(experiment.seeds))
    outs = [out] if len(ranges) == 1 else [f"{out}-{number + 1}" for number in range(len(ranges))]
    commands = [
        shlex.join(["selfpaced", "train", *_arguments(experiment, seeds), "--out", folder])
        for seeds, folder in zip(ranges, outs, strict=True)
    ]
    merge = [shlex.join(["selfpaced", "merge", *outs, "--out", out])] if len(outs) > 1 else []
    return commands + merge


def _consecutive(seeds: Sequence[int]) -> Iterator[range]:
    """Ranges of seeds that follow each other, in their order."""
    breaks = [place + 1 for place, (one, two) in enumerate(pairwise(seeds)) if two != one + 1]
    for start, end in pairwise([0, *breaks, len(seeds)]):
        yield range(seeds[start], seeds[end - 1] + 1)


def _arguments(experiment: Experiment, seeds: range) -> list[str]:
    problem, preset = _problem(experiment), _preset(experiment)
    teacher = experiment.teacher_name.replace(_STAR, "-star")
    words = [problem, "--teacher", teacher, "--learner", experiment.learner_name]
    words += ["--seeds", str(len(seeds))]
    words += ["--first-seed", str(seeds.start)] if seeds.start != 1 else []
    words += _changes("", experiment.budget, None if preset is None else preset.budget)
    for role, part in experiment.method.parts.items():
        own = None if preset is None else preset.method.parts[role]
        words += _changes(f"{role}.", part, own)
    if experiment.environment is not None:
        require(
            experiment.resolved.is_hosted and experiment.problem_name in PROBLEMS,
            f"settings of the environment of {problem} must be given in Python; it has no flags",
        )
        own_environment = PROBLEMS[experiment.problem_name].environment
        words += _changes("environment.", experiment.environment, own_environment)
    return words


def _problem(experiment: Experiment) -> str:
    problem = experiment.problem
    if not isinstance(problem, Problem):
        return problem
    require(
        problem.source is not None,
        f"problem must be named to be run by a command, got the object {problem.name!r}",
    )
    assert problem.source is not None
    return problem.source.file


def _preset(experiment: Experiment) -> Experiment | None:
    """What the flags change; None if it cannot be found here, and all flags have to be given."""
    names = (experiment.teacher_name, experiment.learner_name)
    try:
        return neurips2020(_problem(experiment), *names)
    except SelfpacedError:
        require(not experiment.variant, f"variant must have a preset, got {experiment.variant!r}")
        return None


def _changes(prefix: str, settings: Any, preset: Any) -> list[str]:
    """The flags of the settings that a preset of the same type does not have."""
    is_known = type(settings) is type(preset)
    words: list[str] = []
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if not is_known or value != getattr(preset, field.name):
            words += _flag(prefix, field.name.replace("_", "-"), value)
    return words


def _flag(prefix: str, name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{prefix}{'' if value else 'no-'}{name}"]
    values = value if isinstance(value, tuple) else (value,)
    return [f"--{prefix}{name}", *map(str, values)]
