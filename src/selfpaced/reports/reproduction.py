"""The report of a reproduction: our results beside the published ones.

NAME.md   tables with mean, standard error, and the distance to the paper; published curves
NAME.csv  one row per cell, with the final return of every seed
NAME/     figures of each problem

Cells of other editions of results than that of now are in tables of their own.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from selfpaced.presets.neurips2020 import find_preset, neurips2020
from selfpaced.presets.preset import MeanAndError
from selfpaced.reports.figures import draw_run, draw_together
from selfpaced.reports.published_curves import draw_curves, tabulate_curves
from selfpaced.reports.result_rows import ResultRow, edition_text, row_of, write_rows
from selfpaced.runs.folder import folder_name
from selfpaced.runs.storage import write_bytes
from selfpaced.statistics import plus_minus, t_test
from selfpaced.studies.comparison import Outcome
from selfpaced.studies.reproduction import Result

_WITH_OWN_FIGURES = "spdl"  # the paper shows how its contexts change
_ROUNDING = 0.05  # the paper rounds its errors to one digit: 0.0 may be anything below this


def write_report(
    name: str,
    result: Result,
    outcomes: Sequence[Outcome],
    out: Path,
    others: Sequence[ResultRow] = (),
    missing: Sequence[str] = (),
) -> tuple[str, list[Path]]:
    """Write tables and figures.

    Args:
        name: name of the result, and of its files.
        result: what was reproduced.
        outcomes: the finished cells.
        out: folder of the files.
        others: rows of cells without an outcome.
        missing: lines about what is missing.

    Returns:
        The report as Markdown, and the paths of the figures.
    """
    lines = [f"# {result.summary}", ""]
    figures: list[Path] = []
    rows = _ordered(result, [*map(row_of, outcomes), *others])
    for problem in result.problems:
        ours = [outcome for outcome in outcomes if outcome.cell.experiment.problem == problem]
        for learner in dict.fromkeys(row.learner for row in rows if row.problem == problem):
            column = [row for row in rows if (row.problem, row.learner) == (problem, learner)]
            lines += [f"## {problem}, {learner}", "", *_tables(column)]
            measured = [outcome for outcome in ours if outcome.cell.learner == learner]
            lines += tabulate_curves(measured)
            if measured:
                path = out / name / problem / f"published_{learner}.png"
                figures += draw_curves(measured, path)
        if not ours:
            continue
        drawn = draw_together([outcome.cell.folder for outcome in ours], out / name / problem)
        for path in drawn:
            if path.suffix == ".csv":
                lines += [f"### {path.stem.replace('_', ' ')}", "", *_table_of_figure(path), ""]
        figures += drawn
        for outcome in ours:
            if outcome.cell.teacher == _WITH_OWN_FIGURES:
                place = out / name / problem / folder_name(_WITH_OWN_FIGURES, outcome.cell.learner)
                figures += draw_run(outcome.cell.folder, place)
    if missing:
        lines += ["## Missing", "", "```text", *missing, "```"]
    text = "\n".join(lines)
    write_bytes(out / f"{name}.md", (text.rstrip() + "\n").encode())
    write_rows(out / f"{name}.csv", rows)
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


def _ordered(result: Result, rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return rows in the order of the paper's tables; equal places keep their order."""
    return sorted(
        rows,
        key=lambda row: (result.problems.index(row.problem), result.teachers.index(row.teacher)),
    )


def _tables(column: Sequence[ResultRow]) -> list[str]:
    """Return tables of one problem and learner: of this edition of results, and of earlier ones."""
    is_current = [row.is_of(_current_edition(row)) for row in column]
    current = [row for row, is_one in zip(column, is_current, strict=True) if is_one]
    earlier = [row for row, is_one in zip(column, is_current, strict=True) if not is_one]
    lines = [*_table(current), ""] if current else []
    if earlier:
        lines += ["Earlier revisions:", "", *_table(earlier), ""]
    return lines


def _current_edition(row: ResultRow) -> str:
    return edition_text(neurips2020(*row.key))


def _table(column: Sequence[ResultRow]) -> list[str]:
    """Return our results beside the paper's, as lines of Markdown."""
    best = max(column, key=lambda row: row.mean)
    header = ("teacher", "ours", "seeds", "paper", "difference / joint error")
    lines = [
        f"| {' | '.join((*header, 'p against the best', 'minutes', 'revision'))} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in column:
        p_value = t_test(best.final_returns, row.final_returns)
        published = find_preset(row.problem).published.get(row.learner, {}).get(row.teacher)
        cells = [
            row.teacher,
            plus_minus(row.mean, row.standard_error),
            str(len(row.seeds)),
            *compare_with_paper(published, row.mean, row.standard_error),
            "best" if row is best else "–" if math.isnan(p_value) else f"{p_value:.2g}",
            f"{row.wall_seconds / 60:.1f}",
            " ".join(_short(revision) for revision in row.revision.split()) or "unknown",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _short(revision: str) -> str:
    """Return a commit as Git abbreviates it, with its mark; versions as they are."""
    commit, mark, rest = revision.partition("+")
    return (commit[:7] if len(commit) == 40 else commit) + mark + rest


def _table_of_figure(path: Path) -> list[str]:
    """Return the numbers behind a figure, as lines of Markdown."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    shown = [[f"{float(cell):.2f}" if "." in cell else cell for cell in row] for row in rows]
    names = [name.replace("_", " ") for name in header]
    return [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *shown)]
