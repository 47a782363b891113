"""The command `selfpaced search`: the paper's grids, selected by area under the learning curve."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from selfpaced.commands.progress import Progress, announcer
from selfpaced.experiment import Experiment, seeds_from
from selfpaced.presets.neurips2020 import neurips2020
from selfpaced.presets.published import GRIDS, grid_of
from selfpaced.runs.folder import folder_name
from selfpaced.runs.storage import write_csv, write_json
from selfpaced.statistics import area_under_curve, mean_and_standard_error, plus_minus
from selfpaced.studies.comparison import Cell, Outcome, read_outcomes, run_cells
from selfpaced.validation import require_choice, require_positive


@dataclass(frozen=True)
class SearchOptions:
    """Every combination of the paper's grid; finished ones are kept, the search can go on later."""

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """what to learn (see `selfpaced list`), or your own as module:PROBLEM"""
    teacher: str = "alp-gmm"
    """whose settings to search"""
    learner: str = "ppo"
    """who improves the policy"""
    seeds: int = 5
    """how many seeds of each combination"""
    first_seed: int = 1001
    """not among the seeds that results are reported for"""
    iterations: int | None = None
    """how long to train; None: as in the paper"""
    workers: int | None = None
    """processes; None: one per core"""
    out: Path | None = None
    """folder of the search; None: runs/search-PROBLEM-TEACHER-LEARNER"""

    def __post_init__(self) -> None:
        require_positive(self, "seeds")
        require_positive(self, "workers", "iterations", none_allowed=True)
        require_choice("teacher with a grid", self.teacher, GRIDS)

    @property
    def folder(self) -> Path:
        """Where everything goes."""
        names = ("search", self.problem, self.teacher, self.learner)
        return self.out or Path("runs") / folder_name(*names)

    def experiment(self) -> Experiment:
        """The paper's experiment, from which every combination deviates."""
        seeds = seeds_from(self.first_seed, self.seeds)
        preset = neurips2020(self.problem, self.teacher, self.learner, seeds)
        iterations = self.iterations or preset.iterations
        return dataclasses.replace(preset, iterations=iterations)


def search_command(arguments: list[str]) -> None:
    """Search a teacher's settings over the paper's grid; writes a preset for train and compare."""
    options = tyro.cli(
        SearchOptions, args=arguments, prog="selfpaced search", description=search_command.__doc__
    )
    cells, console = plan_search(options), Console(emoji=False)
    run_cells(cells, options.workers, Progress(console), announcer(console, len(cells)))
    ranked = rank(read_outcomes(cells))
    _write(options, ranked)
    _show(console, options, ranked)


def plan_search(options: SearchOptions) -> list[Cell]:
    """One cell per combination of the grid."""
    experiment, grid = options.experiment(), grid_of(options.problem, options.teacher)
    cells = []
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        teacher = dataclasses.replace(experiment.teacher, **settings)  # type: ignore[type-var]
        name = ",".join(f"{key}={value:g}" for key, value in settings.items())
        cell = dataclasses.replace(experiment, teacher=teacher)
        cells.append(Cell(options.teacher, options.learner, cell, options.folder / name))
    return cells


def rank(outcomes: Sequence[Outcome]) -> list[tuple[float, float, Outcome]]:
    """Mean area under the curve, its standard error, and the outcome; the best first."""
    areas = (
        (*mean_and_standard_error(area_under_curve(outcome.iterations, outcome.returns)), outcome)
        for outcome in outcomes
    )
    return sorted(areas, key=lambda entry: -entry[0])


def _write(options: SearchOptions, ranked: Sequence[tuple[float, float, Outcome]]) -> None:
    grid = grid_of(options.problem, options.teacher)
    rows = (
        [*_values(outcome, grid), area, error, outcome.final_returns.mean()]
        for area, error, outcome in ranked
    )
    header = [*grid, "area_under_curve", "standard_error", "final_return"]
    write_csv(options.folder / "search.csv", header, rows)
    write_json(options.folder / "preset.json", ranked[0][2].cell.experiment.to_dict())


def _show(
    console: Console, options: SearchOptions, ranked: Sequence[tuple[float, float, Outcome]]
) -> None:
    table = Table(title=f"{options.problem}: {options.teacher} + {options.learner}")
    for column in (
        *grid_of(options.problem, options.teacher),
        "area under the curve",
        "final return",
    ):
        table.add_column(column, justify="right")
    for area, error, outcome in ranked[:10]:
        values = (
            f"{value:g}" for value in _values(outcome, grid_of(options.problem, options.teacher))
        )
        table.add_row(*values, plus_minus(area, error), f"{outcome.final_returns.mean():.2f}")
    console.print(table)
    preset = options.folder / "preset.json"
    console.print(
        f"use the best with: selfpaced train {options.problem} --teacher {options.teacher} "
        f"--learner {options.learner} --preset {preset}",
        highlight=False,
        soft_wrap=True,
    )


def _values(outcome: Outcome, names: Any) -> list[Any]:
    return [getattr(outcome.cell.experiment.teacher, name) for name in names]
