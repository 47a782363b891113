"""A search over a grid of settings, ranked by area under the learning curve."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.presets.neurips2020 import GRIDS, grid_of
from selfpaced.runs.folder import folder_name
from selfpaced.runs.storage import write_csv, write_json
from selfpaced.statistics import area_under_curve, mean_and_standard_error
from selfpaced.studies.comparison import Cell, Outcome
from selfpaced.teachers.spdl import SPDL
from selfpaced.validation import require_choice

SearchGrid = Mapping[str, Sequence[object]]
"""The values to try for each setting: of the teacher, or of the learner as `learner.NAME`."""

_REMEDY = "give values to try, as in --grid teacher.SETTING=VALUE,VALUE"


class Ranked(NamedTuple):
    """A combination of settings, with mean and standard error of its area under the curve."""

    area: float
    error: float
    outcome: Outcome

    def values(self, grid: SearchGrid) -> list[str]:
        """Return the values of the searched settings."""
        parts = self.outcome.cell.experiment.method.parts
        places = (_split(name) for name in grid)
        return [show_value(getattr(parts[role], setting)) for role, setting in places]


def find_grid(experiment: Experiment, preset: str | None = None) -> SearchGrid:
    """Return a paper's values to try for each setting of the teacher.

    Args:
        experiment: has problem and teacher.
        preset: name of published settings of the problem; None is the first paper.

    Raises:
        SelfpacedError: the paper has no grid for the teacher.
    """
    try:
        require_choice("teacher with a grid", experiment.teacher_name, GRIDS)
    except SelfpacedError as error:
        raise SelfpacedError(f"{error}; {_REMEDY}") from None
    teacher = experiment.method.parts["teacher"]
    require(
        not (isinstance(teacher, SPDL) and teacher.pacing == "mastery"),
        f'the grid of spdl is for pacing="tradeoff", got "mastery" for '
        f"{experiment.problem_name}; {_REMEDY}",
    )
    return grid_of(experiment.resolved, experiment.teacher_name, preset)


def plan_search(experiment: Experiment, out: Path, grid: SearchGrid | None = None) -> list[Cell]:
    """Return one cell for each combination of the grid.

    Args:
        experiment: all settings that are not searched.
        out: folder of the run folders.
        grid: the values to try for each setting; None takes the paper's.

    Raises:
        SelfpacedError: the paper has no grid for the teacher, or a value is wrong.
    """
    teacher, learner = experiment.teacher_name, experiment.learner_name
    grid = find_grid(experiment) if grid is None else grid
    return [
        Cell(teacher, learner, changed, out / folder_name(name))
        for name, changed in combinations(experiment, grid)
    ]


def combinations(experiment: Experiment, grid: SearchGrid) -> Iterator[tuple[str, Experiment]]:
    """Give the experiment with each combination of the grid, and the combination's short name."""
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        name = ",".join(f"{key}={show_value(value)}" for key, value in settings.items())
        yield name, _with_settings(experiment, settings)


def rank(outcomes: Sequence[Outcome]) -> list[Ranked]:
    """Return the outcomes by their area under the learning curve, the best first."""
    ranked = [
        Ranked(
            *mean_and_standard_error(area_under_curve(outcome.iterations, outcome.returns)),
            outcome,
        )
        for outcome in outcomes
    ]
    return sorted(ranked, key=lambda entry: -entry.area)


def write_search(out: Path, grid: SearchGrid, ranked: Sequence[Ranked]) -> Path:
    """Write `search.csv` and the best settings as `preset.json`; return the path of the latter."""
    rows = (
        [*entry.values(grid), entry.area, entry.error, entry.outcome.final_returns.mean()]
        for entry in ranked
    )
    header = [*grid, "area_under_curve", "standard_error", "final_return"]
    write_csv(out / "search.csv", header, rows)
    preset = out / "preset.json"
    write_json(preset, ranked[0].outcome.cell.experiment.to_dict())
    return preset


def show_value(value: object) -> str:
    """Return the value of a setting as short text, for tables and names of folders.

    Examples:
        >>> from selfpaced.studies.search import show_value
        >>> show_value(2.0), show_value((64, 32)), show_value("bootstrap")
        ('2', '64x32', 'bootstrap')
    """
    if isinstance(value, tuple):
        return "x".join(map(show_value, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else str(value)


def _split(name: str) -> tuple[str, str]:
    """Role and setting of a name in a grid."""
    role, _, setting = name.rpartition(".")
    return role or "teacher", setting


def _with_settings(experiment: Experiment, settings: dict[str, object]) -> Experiment:
    changes: dict[str, dict[str, object]] = {}
    for name, value in settings.items():
        role, setting = _split(name)
        changes.setdefault(role, {})[setting] = value
    parts: dict[str, Any] = experiment.method.parts
    return experiment.with_parts(
        **{role: dataclasses.replace(parts[role], **own) for role, own in changes.items()}
    )
