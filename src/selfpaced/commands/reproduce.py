"""The command `selfpaced reproduce`: the paper's results, each with one command."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.markdown import Markdown

from selfpaced.commands.progress import Progress, announcer
from selfpaced.experiment import seeds_from
from selfpaced.presets.neurips2020 import NUM_SEEDS
from selfpaced.presets.published import RESULTS, TABLE_1, Result
from selfpaced.reports import draw_run, draw_together
from selfpaced.runs.storage import write_bytes, write_csv
from selfpaced.statistics import mean_and_standard_error, plus_minus, t_test
from selfpaced.studies.comparison import (
    Cell,
    Outcome,
    plan_cells,
    read_outcomes,
    run_cells,
    split_names,
)
from selfpaced.validation import require_choice, require_positive


@dataclass(frozen=True)
class ReproduceOptions:
    """Without a result: list them. Results share their runs, and finished runs are kept."""

    result: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="RESULT")] = None
    """what to make again; None: list what there is"""
    teachers: str | None = None
    """only these, with commas; None: all that the paper shows"""
    seeds: int = NUM_SEEDS
    """how many seeds of each experiment; the paper has 20"""
    first_seed: int = 1
    """the first seed; the others follow"""
    workers: int | None = None
    """processes; None: one per core"""
    out: Path = Path("runs/reproduce")
    """folder for runs, tables and figures"""

    def __post_init__(self) -> None:
        require_positive(self, "seeds")
        require_positive(self, "workers", none_allowed=True)


def reproduce_command(arguments: list[str]) -> None:
    """Make one of the paper's results again, and put it next to the paper's."""
    options = tyro.cli(
        ReproduceOptions,
        args=arguments,
        prog="selfpaced reproduce",
        description=reproduce_command.__doc__,
    )
    console = Console(highlight=False, emoji=False)
    if options.result is None:
        for name, result in RESULTS.items():
            console.print(f"  [bold]{name:<19}[/]{result.summary}", soft_wrap=True)
        return
    require_choice("result", options.result, RESULTS)
    result = RESULTS[options.result]
    cells = plan_result(result, options)
    run_cells(cells, options.workers, Progress(console), announcer(console, len(cells)))
    text, pictures = report(options.result, result, read_outcomes(cells), options.out)
    console.print(Markdown(text))
    print("pictures: " + ", ".join(map(str, pictures)))  # paths as they are


def plan_result(result: Result, options: ReproduceOptions) -> list[Cell]:
    """The experiments of a result, every problem in a folder of its own."""
    seeds = seeds_from(options.first_seed, options.seeds)
    teachers = result.teachers
    if options.teachers is not None:
        teachers = tuple(split_names(options.teachers.replace("-star", "*")))
        for teacher in teachers:
            require_choice("teacher", teacher, result.teachers)
    return [
        cell
        for problem in result.problems
        for cell in plan_cells(problem, teachers, result.learners, seeds, options.out / problem)
    ]


def report(
    name: str, result: Result, outcomes: Sequence[Outcome], out: Path
) -> tuple[str, list[Path]]:
    """The text, also written to `out`, and the pictures."""
    lines = [f"# {result.summary}", ""]
    pictures: list[Path] = []
    for problem in result.problems:
        for learner in dict.fromkeys(outcome.cell.learner for outcome in outcomes):
            column = [
                outcome
                for outcome in outcomes
                if (outcome.cell.experiment.problem, outcome.cell.learner) == (problem, learner)
            ]
            if column:
                lines += [f"## {problem}, {learner}", "", *_table(problem, learner, column), ""]
        ours = [outcome.cell for outcome in outcomes if outcome.cell.experiment.problem == problem]
        drawn = draw_together([cell.folder for cell in ours], out / name / problem)
        for path in drawn:
            if path.suffix == ".csv":
                lines += [f"### {path.stem.replace('_', ' ')}", "", *_numbers_of(path), ""]
        pictures += drawn
        for cell in ours:
            if cell.teacher == "spdl":
                pictures += draw_run(cell.folder, out / name / problem / cell.path.name)
    text = "\n".join(lines)
    write_bytes(out / f"{name}.md", (text + "\n").encode())
    write_csv(out / f"{name}.csv", _COLUMNS, map(_row, outcomes))
    return text, pictures


_COLUMNS = (
    *("problem", "teacher", "learner", "first_seed", "seeds", "iterations", "mean"),
    *("standard_error", "success_rate", "wall_seconds", "final_returns"),
)


def _row(outcome: Outcome) -> list[Any]:
    """A cell for other tools; the final return of every seed in one column."""
    experiment, returns = outcome.cell.experiment, outcome.final_returns
    return [
        *(experiment.problem, outcome.cell.teacher, outcome.cell.learner),
        *(experiment.seeds[0], len(experiment.seeds), experiment.iterations),
        *mean_and_standard_error(returns),
        outcome.successes[-1].mean(),
        outcome.wall_seconds,
        " ".join(f"{value:.4g}" for value in returns),
    ]


def _table(problem: str, learner: str, column: Sequence[Outcome]) -> list[str]:
    """Ours beside the paper's, and how far apart they are in joint standard errors."""
    published = TABLE_1.get((problem, learner), {})
    best = max(column, key=lambda outcome: outcome.final_returns.mean())
    lines = [
        "| teacher | ours | paper | difference / joint error | p against the best | minutes |",
        "|---|---|---|---|---|---|",
    ]
    for outcome in column:
        mean, error = mean_and_standard_error(outcome.final_returns)
        p_value = t_test(best.final_returns, outcome.final_returns)
        cells = [
            outcome.cell.teacher,
            plus_minus(mean, error),
            *_against(published.get(outcome.cell.teacher), mean, error),
            "best" if outcome is best else "–" if math.isnan(p_value) else f"{p_value:.2g}",
            f"{outcome.wall_seconds / 60:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _numbers_of(path: Path) -> list[str]:
    """The table that belongs to a figure."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    shown = [[f"{float(cell):.2f}" if "." in cell else cell for cell in row] for row in rows]
    names = [name.replace("_", " ") for name in header]
    return [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *shown)]


def _against(paper: tuple[float, float] | None, mean: float, error: float) -> tuple[str, str]:
    if paper is None:
        return "–", "–"
    published = f"{paper[0]:.2f} ± {paper[1]:.1f}"
    if math.isnan(error):  # of a single seed
        return published, "–"
    # the paper rounds its errors to one digit: 0.0 may be anything below 0.05
    return published, f"{(mean - paper[0]) / math.hypot(error, max(paper[1], 0.05)):+.1f}"
