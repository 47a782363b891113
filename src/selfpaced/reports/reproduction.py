"""The report of a reproduction: our results beside the published ones.

NAME.md   tables with mean, standard error, and the distance to the paper; published curves
NAME.csv  one row per cell, with the final return of every seed
NAME/     figures of each problem
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from selfpaced.presets.neurips2020 import find_preset
from selfpaced.presets.preset import MeanAndError
from selfpaced.reports.figures import draw_run, draw_together
from selfpaced.reports.published_curves import draw_curves, tabulate_curves
from selfpaced.runs.storage import write_bytes, write_csv
from selfpaced.statistics import mean_and_standard_error, plus_minus, t_test
from selfpaced.studies.comparison import Outcome
from selfpaced.studies.reproduction import Result

_WITH_OWN_FIGURES = "spdl"  # the paper shows how its contexts change
_ROUNDING = 0.05  # the paper rounds its errors to one digit: 0.0 may be anything below this
_COLUMNS = (
    *("problem", "teacher", "learner", "first_seed", "seeds", "iterations", "mean"),
    *("standard_error", "success_rate", "wall_seconds", "final_returns"),
)


def write_report(
    name: str, result: Result, outcomes: Sequence[Outcome], out: Path
) -> tuple[str, list[Path]]:
    """Write tables and figures.

    Args:
        name: name of the result, and of its files.
        result: what was reproduced.
        outcomes: the finished cells.
        out: folder of the files.

    Returns:
        The report as Markdown, and the paths of the figures.
    """
    lines = [f"# {result.summary}", ""]
    figures: list[Path] = []
    for problem in result.problems:
        ours = [outcome for outcome in outcomes if outcome.cell.experiment.problem == problem]
        for learner in dict.fromkeys(outcome.cell.learner for outcome in ours):
            column = [outcome for outcome in ours if outcome.cell.learner == learner]
            lines += [f"## {problem}, {learner}", "", *_table(problem, learner, column), ""]
            lines += tabulate_curves(column)
            figures += draw_curves(column, out / name / problem / f"published_{learner}.png")
        drawn = draw_together([outcome.cell.folder for outcome in ours], out / name / problem)
        for path in drawn:
            if path.suffix == ".csv":
                lines += [f"### {path.stem.replace('_', ' ')}", "", *_table_of_figure(path), ""]
        figures += drawn
        for cell in (outcome.cell for outcome in ours):
            if cell.teacher == _WITH_OWN_FIGURES:
                figures += draw_run(cell.folder, out / name / problem / cell.path.name)
    text = "\n".join(lines)
    write_bytes(out / f"{name}.md", (text + "\n").encode())
    write_csv(out / f"{name}.csv", _COLUMNS, map(_row, outcomes))
    return text, figures


def compare_with_paper(
    published: MeanAndError | None, mean: float, error: float
) -> tuple[str, str]:
    """Return the published result, and our distance from it in joint standard errors.

    Args:
        published: mean and standard error in the paper; None if it has none.
        mean: our mean.
        error: our standard error; NaN for a single seed.

    Examples:
        >>> from selfpaced.reports.reproduction import compare_with_paper
        >>> compare_with_paper((9.0, 0.3), 10.0, 0.4)
        ('9.00 ± 0.3', '+2.0')
    """
    if published is None:
        return "–", "–"
    text = f"{published[0]:.2f} ± {published[1]:.1f}"
    if math.isnan(error):
        return text, "–"
    return text, f"{(mean - published[0]) / math.hypot(error, max(published[1], _ROUNDING)):+.1f}"


def _table(problem: str, learner: str, column: Sequence[Outcome]) -> list[str]:
    """Return our results beside the paper's, as lines of Markdown."""
    published = find_preset(problem).published.get(learner, {})
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
            *compare_with_paper(published.get(outcome.cell.teacher), mean, error),
            "best" if outcome is best else "–" if math.isnan(p_value) else f"{p_value:.2g}",
            f"{outcome.wall_seconds / 60:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _table_of_figure(path: Path) -> list[str]:
    """Return the numbers behind a figure, as lines of Markdown."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    shown = [[f"{float(cell):.2f}" if "." in cell else cell for cell in row] for row in rows]
    names = [name.replace("_", " ") for name in header]
    return [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *shown)]


def _row(outcome: Outcome) -> Iterable[object]:
    """Return the row of a cell; the final returns of all seeds are in one column."""
    experiment, returns = outcome.cell.experiment, outcome.final_returns
    return [
        *(experiment.problem, outcome.cell.teacher, outcome.cell.learner),
        *(experiment.seeds[0], len(experiment.seeds), experiment.iterations),
        *mean_and_standard_error(returns),
        outcome.successes[-1].mean(),
        outcome.wall_seconds,
        " ".join(f"{value:.4g}" for value in returns),
    ]
