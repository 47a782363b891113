"""Settings of teachers, learners and environments, as flags and in grids."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Annotated, TypeVar, get_type_hints

import tyro

from selfpaced.commands.options import StudyOptions, Words, parse
from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Budget, Experiment, find_part, make_method, part_names
from selfpaced.registry import PROBLEMS, TEACHERS
from selfpaced.studies.search import SearchGrid
from selfpaced.validation import require_choice

T = TypeVar("T")

GridFlags = Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="S=V,V")]


def parts_of(experiment: Experiment) -> dict[str, object]:
    """Return everything that has settings, which become flags like `--teacher.zeta`."""
    parts = dict(experiment.method.parts)
    if experiment.resolved.is_hosted and experiment.problem_name in PROBLEMS:
        # the settings of a user's environment may have any type
        parts["environment"] = experiment.resolved.environment
    return {role: part for role, part in parts.items() if _names(part)}


def options_with(
    base: type[T], parts: dict[str, object], *more: tuple[str, object, object]
) -> type[T]:
    """Return options that also have the settings of all parts, and more fields."""
    settings = (
        (_field(role), Annotated[type(part), tyro.conf.arg(name=role)], part)
        for role, part in parts.items()
    )
    return dataclasses.make_dataclass("PartOptions", [*more, *settings], bases=(base,), frozen=True)


def with_options(experiment: Experiment, budget: Budget, options: object) -> Experiment:
    """Return the experiment with a budget and the settings in the options, which must fit it."""
    chosen = {
        role: getattr(options, _field(role))
        for role in parts_of(experiment)
        if hasattr(options, _field(role))
    }
    environment = chosen.pop("environment", experiment.environment)
    method = make_method(experiment.method.parts | chosen)
    return dataclasses.replace(
        experiment, method=method, environment=environment, **dataclasses.asdict(budget)
    )


def with_changes(
    command: str, experiments: Sequence[Experiment], options: StudyOptions
) -> list[Experiment]:
    """Return the experiments with the budget and the settings of the options.

    A setting applies to every experiment that has it.

    Raises:
        SelfpacedError: no experiment has a setting, or a value is wrong.
    """
    known = [flag for experiment in experiments for flag in _flags(experiment)]
    for flag, *_ in options.settings:
        if not _is_among(flag, known):
            teachers = ", ".join(dict.fromkeys(each.teacher_name for each in experiments))
            require_choice(f"setting of a cell ({teachers})", flag, dict.fromkeys(known))
    return [
        with_options(
            experiment,
            options.budget.applied_to(experiment.budget),
            _parse_parts(command, experiment, options.settings),
        )
        for experiment in experiments
    ]


def parse_grid(command: str, experiment: Experiment, texts: Sequence[str]) -> SearchGrid:
    """Return the values in texts like `teacher.zeta=0.5,1,2`, with the types of the settings.

    Raises:
        SelfpacedError: a text has another form, a setting is unknown, or a value is wrong.
    """
    parts, known = experiment.method.parts, _settings(experiment)
    grid: dict[str, tuple[object, ...]] = {}
    for text in texts:
        name, listed = _setting_in(text), text.partition("=")[2]
        require(
            bool(name and listed),
            f"--grid must be SETTING=VALUE,VALUE, got {text!r}; for example teacher.zeta=0.5,1,2",
        )
        _require_setting(experiment, name, known)
        key = name.removeprefix("teacher.")  # as in the paper's grids
        require(key not in grid, f"duplicate setting {name!r} in --grid")
        role, _, setting = name.partition(".")
        kind = get_type_hints(type(parts[role]), include_extras=True)[setting]
        values = tuple(_parse_value(command, name, kind, value) for value in listed.split(","))
        require(len({*values}) == len(values), f"values of --grid must differ, got {text!r}")
        grid[key] = values
    return grid


def split_grid(experiments: Sequence[Experiment], texts: Sequence[str]) -> list[list[str]]:
    """Return, for each experiment, those texts of a grid whose setting it has.

    Raises:
        SelfpacedError: no experiment has a setting.
    """
    known = [_settings(experiment) for experiment in experiments]
    everything = dict.fromkeys(name for names in known for name in names)
    for text in texts:
        require_choice("setting of --grid in a cell", _setting_in(text), everything)
    return [[text for text in texts if _setting_in(text) in names] for names in known]


def _setting_in(text: str) -> str:
    return text.partition("=")[0].replace("-", "_")


def _settings(experiment: Experiment) -> list[str]:
    parts = experiment.method.parts
    return [f"{role}.{name}" for role, part in parts.items() for name in _names(part)]


def _require_setting(experiment: Experiment, name: str, known: Sequence[str]) -> None:
    """The message names those teachers that have the setting."""
    role, _, setting = name.partition(".")
    owners = [
        other
        for other in (part_names("teacher") if role == "teacher" and name not in known else [])
        if other in TEACHERS and setting in _names(find_part("teacher", other))
    ]
    ours = f"{experiment.teacher_name} and {experiment.learner_name}"
    require(
        not owners,
        f"setting of --grid must be one of {ours}, got {name!r}, which belongs to "
        f"{' or '.join(owners)}; add --teacher {owners[0] if owners else ''}",
    )
    require_choice(f"setting of --grid with {ours}", name, known)


def _names(part: object) -> list[str]:
    return [field.name for field in dataclasses.fields(part)] if is_dataclass(part) else []


def _field(role: str) -> str:
    return f"{role}_settings"  # `teacher` is the flag for its name


def _flags(experiment: Experiment) -> list[str]:
    parts = parts_of(experiment)
    names = (f"{role}.{name}" for role, part in parts.items() for name in _names(part))
    return [f"--{name.replace('_', '-')}" for name in names]


def _is_among(flag: str, known: Sequence[str]) -> bool:
    """Whether a flag is known; a switch is also known with `no-` before its name."""
    return flag in known or flag.replace(".no-", ".") in known


def _parse_parts(command: str, experiment: Experiment, settings: Sequence[Words]) -> object:
    """Options with those of the settings that the experiment has."""
    known = _flags(experiment)
    words = [word for setting in settings if _is_among(setting[0], known) for word in setting]
    return parse(command, options_with(_NoOptions, parts_of(experiment)), words) if words else None


@dataclasses.dataclass(frozen=True)
class _NoOptions:
    """Options of a parser that has settings of parts only."""


def _parse_value(command: str, name: str, kind: object, text: str) -> object:
    field = ("value", Annotated[kind, tyro.conf.arg(name=name)])
    options = dataclasses.make_dataclass("ValueOptions", [field], frozen=True)
    try:
        value: object = parse(command, options, [f"--{name}", *text.split()]).value
    except SelfpacedError as error:
        raise SelfpacedError(f"--grid: {error}") from None
    return value
