"""Results of runs, comparisons and searches as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import nan

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from selfpaced.reports.comparison_tables import (
    MIN_SEEDS,
    Row,
    format_interval,
    format_p_value,
    format_return,
    is_bold,
    warn_of_few_seeds,
)
from selfpaced.runs.folder import RunFolder
from selfpaced.statistics import percentage, plus_minus

_NUM_RANKED = 10  # combinations shown of a search
_NAMES = ("teacher", "learner")  # columns that are aligned left


def show_run(console: Console, folder: RunFolder) -> None:
    """Print the outcome of a run, draw its figures, and print their paths."""
    summary = folder.summary()
    title = f"{summary['problem']}: on the target after {summary['iterations']} iterations"
    columns = (*_NAMES, "seeds", "return", "success", "wall time", "steps/s")
    table = _make_table(title, columns)
    final = summary.get("final_return") or {"mean": nan, "standard_error": None}
    failures = summary.get("failed_seeds", [])
    num = len(summary["seeds"])
    table.add_row(
        summary["teacher"],
        summary["learner"],
        f"{num - len(failures)} of {num}" if failures else str(num),
        plus_minus(final["mean"], final["standard_error"]),
        percentage(summary.get("final_success_rate")),
        f"{summary['wall_seconds']:.0f} s",
        f"{summary['steps_per_second'] or 0:,.0f}".replace(",", " "),
    )
    console.print(table)
    for failure in failures:
        text = f"seed {failure['seed']} failed in iteration {failure['iteration']} and is in no "
        text += f"statistic: {escape(failure['reason'])}"
        console.print(f"[yellow]warning:[/] {text}", highlight=False, soft_wrap=True)
    if len(failures) == num:
        return
    from selfpaced.reports.figures import draw_run  # matplotlib, after training

    print("figures: " + ", ".join(str(path) for path in draw_run(folder)))  # paths unwrapped


def show_comparison(console: Console, rows: Sequence[Row]) -> None:
    """Print the outcome of a comparison."""
    title = f"{rows[0].problem}: on the target after the last iteration"
    table = _make_table(title, (*_NAMES, "return", "interquartile mean", "success", "p"))
    for row, following in pairwise([*rows, None]):
        assert row is not None
        table.add_row(
            row.name,
            row.learner,
            format_return(row) + (" ★" if row.significantly_best else ""),
            escape(format_interval(row)),
            percentage(row.success_rate),
            format_p_value(row.p_value_against_best),
            style="bold" if is_bold(row, rows) else None,
            end_section=following is None or row.learner != following.learner,
        )
    console.print(table)
    console.print(
        "bold: best with this learner · ★ better than every other, p < 1 % · p: against the best, "
        f"Welch's t-test · bold and ★ need {MIN_SEEDS} seeds of each teacher",
        highlight=False,
        soft_wrap=True,
    )
    if warning := warn_of_few_seeds(rows):
        console.print(f"[yellow]warning:[/] {warning}", highlight=False, soft_wrap=True)


def _make_table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column in _NAMES else "right")
    return table
