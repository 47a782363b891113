"""A search for a teacher's settings: the paper's grids, ranked by area under the learning curve."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from selfpaced.experiment import Experiment
from selfpaced.presets.neurips2020 import GRIDS, grid_of
from selfpaced.presets.preset import Grid
from selfpaced.runs.storage import write_csv, write_json
from selfpaced.statistics import area_under_curve, mean_and_standard_error
from selfpaced.studies.comparison import Cell, Outcome
from selfpaced.validation import require_choice


class Ranked(NamedTuple):
    """A combination of settings, with mean and standard error of its area under the curve."""

    area: float
    error: float
    outcome: Outcome

    def values(self, grid: Grid) -> list[float]:
        """Return the values of the searched settings."""
        teacher = self.outcome.cell.experiment.method.parts["teacher"]
        return [getattr(teacher, name) for name in grid]


def find_grid(problem: str, teacher: str) -> Grid:
    """Return the values to try for each setting.

    Raises:
        SelfpacedError: the paper has no grid for the teacher.
    """
    require_choice("teacher with a grid", teacher, GRIDS)
    return grid_of(problem, teacher)


def plan_search(experiment: Experiment, out: Path) -> list[Cell]:
    """Return one cell for each combination of the grid.

    Args:
        experiment: all settings that are not searched.
        out: folder of the run folders.

    Raises:
        SelfpacedError: the paper has no grid for the teacher.
    """
    teacher, learner = experiment.teacher_name, experiment.learner_name
    grid = find_grid(experiment.problem, teacher)
    cells = []
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        name = ",".join(f"{key}={value:g}" for key, value in settings.items())
        cells.append(Cell(teacher, learner, _with_settings(experiment, settings), out / name))
    return cells


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


def write_search(out: Path, grid: Grid, ranked: Sequence[Ranked]) -> Path:
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


def _with_settings(experiment: Experiment, settings: dict[str, float]) -> Experiment:
    teacher = experiment.method.parts["teacher"]
    assert dataclasses.is_dataclass(teacher)
    assert not isinstance(teacher, type)
    return experiment.with_parts(teacher=dataclasses.replace(teacher, **settings))
