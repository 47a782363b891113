"""Tables of a comparison, as CSV and as Markdown.

comparison.csv                  one row per finished cell
comparison.md                   the same as text
probability_of_improvement.csv  every pair of teachers with the same learner
figures/                        figures
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan, nan
from pathlib import Path

import numpy as np

from selfpaced.runs.storage import write_bytes, write_csv
from selfpaced.statistics import (
    Estimate,
    area_under_curve,
    count_seeds,
    interquartile_mean,
    mean_and_standard_error,
    median_time,
    percentage,
    plus_minus,
    probability_of_improvement,
    t_test,
    time_to_threshold,
)
from selfpaced.studies.comparison import Cell, Outcome

SIGNIFICANCE = 0.01  # as in the paper
FEW_SEEDS = 10  # with fewer, bootstrap intervals are too narrow
MIN_SEEDS = 5  # of each teacher, for a claim: with fewer, nothing is bold


@dataclass(frozen=True)
class Row:
    """A line of `comparison.csv`; the fields are its columns, NaN is an empty cell."""

    problem: str
    teacher: str
    learner: str
    seeds: int  # that have not failed; all statistics are over these
    iterations: int
    mean: float
    standard_error: float
    iqm: float
    iqm_low: float
    iqm_high: float
    success_rate: float
    best: bool  # among the teachers with this learner
    significantly_best: bool  # Welch's test against every other one below 1 %, with enough seeds
    p_value_against_best: float  # Welch
    p_value_equal_variances: float  # pooled t-test, as in the paper
    area_under_curve: float
    threshold: float
    share_reaching_threshold: float
    median_iterations_to_threshold: float
    wall_seconds: float
    failed_seeds: int = 0

    @property
    def name(self) -> str:
        """The teacher, with a mark if seeds have failed."""
        if not self.failed_seeds:
            return self.teacher
        return f"{self.teacher} ({self.failed_seeds} of {self.seeds + self.failed_seeds} failed)"


@dataclass(frozen=True)
class Improvement:
    """The probability that a seed of one teacher ends better than a seed of another."""

    learner: str
    teacher: str
    other: str
    probability: Estimate
    num_seeds: int  # the smaller of both numbers

    @property
    def is_certain(self) -> bool:
        """Whether the interval excludes one half, and rests on enough seeds."""
        return excludes_half(self.probability) and self.num_seeds >= MIN_SEEDS


def excludes_half(probability: Estimate) -> bool:
    """Return whether the interval of a probability is known and on one side of one half."""
    return probability.low > 0.5 or probability.high < 0.5


def tabulate(outcomes: Sequence[Outcome], threshold: float | None = None) -> list[Row]:
    """Return one row per outcome; the best teacher is that of each learner, as in the paper."""
    rows = []
    for outcome in outcomes:
        rivals = [other for other in outcomes if other.cell.learner == outcome.cell.learner]
        rows.append(_row(outcome, rivals, threshold))
    return rows


def compare_pairs(outcomes: Sequence[Outcome]) -> list[Improvement]:
    """Compare every ordered pair of teachers with the same learner."""
    improvements = []
    for one, two in combinations(outcomes, 2):
        if one.cell.learner != two.cell.learner:
            continue
        value, low, high = probability_of_improvement(one.final_returns, two.final_returns)
        learner, here, there = one.cell.learner, one.cell.teacher, two.cell.teacher
        num = min(len(one.final_returns), len(two.final_returns))
        improvements += [
            Improvement(learner, here, there, Estimate(value, low, high), num),
            Improvement(learner, there, here, Estimate(1 - value, 1 - high, 1 - low), num),
        ]
    return improvements


def is_bold(row: Row, rows: Sequence[Row]) -> bool:
    """Return whether a row is the best of its learner, and every row of that has enough seeds."""
    rivals = [other for other in rows if other.learner == row.learner]
    return row.best and min(rival.seeds for rival in rivals) >= MIN_SEEDS


def write_tables(
    out: Path,
    rows: Sequence[Row],
    improvements: Sequence[Improvement],
    text: str,
) -> list[Path]:
    """Write all tables, each of them atomically; return their paths."""
    paths = [
        out / name for name in ("comparison.md", "comparison.csv", "probability_of_improvement.csv")
    ]
    write_bytes(paths[0], text.encode())
    header = [field.name for field in dataclasses.fields(Row)]
    write_csv(paths[1], header, (dataclasses.astuple(row) for row in rows))
    write_csv(
        paths[2],
        ("learner", "teacher", "other", "probability", "low", "high"),
        ((each.learner, each.teacher, each.other, *each.probability) for each in improvements),
    )
    return paths


def describe(
    cells: Sequence[Cell], outcomes: Sequence[Outcome], rows: Sequence[Row], command: str
) -> str:
    """Return the content of `comparison.md`."""
    learners = list(dict.fromkeys(row.learner for row in rows))
    parts = [f"# Teachers compared on {cells[0].experiment.problem_name}"]
    if len(learners) > 1:
        parts.append(_overview(rows, learners))
    for learner in learners:
        chosen = [row for row in rows if row.learner == learner]
        parts += [f"## {learner}, {_extent(chosen)}", _details(chosen)]
    parts += [_legend(rows), "## Command", f"```\n{command}\n```"]
    parts.append(_origin(cells, outcomes))
    return "\n\n".join(parts) + "\n"


def format_return(row: Row) -> str:
    """Return mean and standard error, as in the paper."""
    return plus_minus(row.mean, row.standard_error)


def format_p_value(p_value: float) -> str:
    """Return a p-value with two digits, and a bound below 0.0001."""
    if isnan(p_value):
        return "–"
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.2g}"


def format_interval(row: Row) -> str:
    """Return the interquartile mean and its interval."""
    interval = "" if isnan(row.iqm_low) else f" [{row.iqm_low:.2f}, {row.iqm_high:.2f}]"
    return f"{row.iqm:.2f}{interval}"


def warn_of_few_seeds(rows: Sequence[Row]) -> str:
    """Return a warning about intervals over few seeds; empty if there are enough."""
    num = min(row.seeds for row in rows)
    if num >= FEW_SEEDS:
        return ""
    return (
        f"{num} seed{'s are' if num > 1 else ' is'} few: intervals over fewer than {FEW_SEEDS} are "
        "too narrow (over 3 seeds they contain the true value about three times in four)."
    )


def _row(outcome: Outcome, rivals: Sequence[Outcome], threshold: float | None) -> Row:
    """Statistics of one outcome; the rivals are all outcomes with the same learner."""
    cell, returns = outcome.cell, outcome.final_returns
    best = max(rivals, key=lambda rival: rival.final_returns.mean())
    is_best = outcome is best
    others = [rival for rival in rivals if rival is not outcome]
    mean, standard_error = mean_and_standard_error(returns)
    share, median = _speed(outcome, threshold)
    return Row(
        cell.experiment.problem_name,
        cell.teacher,
        cell.learner,
        len(returns),
        cell.experiment.iterations,
        mean,
        standard_error,
        *interquartile_mean(returns),
        outcome.final_success_rate,
        is_best,
        is_best
        and len(others) > 0
        and min(len(rival.final_returns) for rival in rivals) >= MIN_SEEDS
        and all(t_test(returns, other.final_returns) < SIGNIFICANCE for other in others),
        nan if is_best else t_test(best.final_returns, returns),
        nan if is_best else t_test(best.final_returns, returns, equal_variances=True),
        float(area_under_curve(outcome.iterations, outcome.returns).mean()),
        nan if threshold is None else threshold,
        share,
        median,
        outcome.wall_seconds,
        len(outcome.failed_seeds),
    )


def _speed(outcome: Outcome, threshold: float | None) -> tuple[float, float]:
    """The share of seeds that reach the threshold, and the time of the median seed."""
    if threshold is None:
        return nan, nan
    times = time_to_threshold(outcome.iterations, outcome.returns, threshold)
    return float(np.mean([time is not None for time in times])), median_time(times)


def _overview(rows: Sequence[Row], learners: Sequence[str]) -> str:
    """One row per teacher and one column per learner, as in the paper."""
    by_names = {(row.teacher, row.learner): row for row in rows}
    lines = [
        [teacher]
        + [
            _marked(by_names[teacher, learner], rows) if (teacher, learner) in by_names else ""
            for learner in learners
        ]
        for teacher in dict.fromkeys(row.teacher for row in rows)
    ]
    return _table(["return", *learners], lines)


def _details(rows: Sequence[Row]) -> str:
    header = ["teacher", "return", "interquartile mean [95 %]", "success", "p against best"]
    header += ["area under curve", "wall time"]
    with_threshold = not isnan(rows[0].threshold)
    if with_threshold:
        header += [f"seeds that reach {rows[0].threshold:g}", "median iterations to reach it"]
    lines = []
    for row in rows:
        line = [row.name, _marked(row, rows), format_interval(row), percentage(row.success_rate)]
        line += [format_p_value(row.p_value_against_best), f"{row.area_under_curve:.2f}"]
        line.append(f"{row.wall_seconds:.0f} s" if row.wall_seconds < 600 else _minutes(row))
        if with_threshold:
            median = row.median_iterations_to_threshold
            line += [f"{row.share_reaching_threshold:.0%}", "–" if isnan(median) else f"{median:g}"]
        lines.append(line)
    return _table(header, lines)


def _minutes(row: Row) -> str:
    return "–" if isnan(row.wall_seconds) else f"{row.wall_seconds / 60:.0f} min"


def _marked(row: Row, rows: Sequence[Row]) -> str:
    text = f"**{format_return(row)}**" if is_bold(row, rows) else format_return(row)
    return f"{text} ★" if row.significantly_best else text


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *lines))


def _extent(rows: Sequence[Row]) -> str:
    iterations = " or ".join(map(str, sorted({row.iterations for row in rows})))
    return f"{iterations} iterations, {count_seeds(rows[0].seeds + rows[0].failed_seeds)}"


def _legend(rows: Sequence[Row]) -> str:
    text = (
        "Discounted return on the target after the last iteration, with the stochastic policy: "
        "mean ± standard error over the seeds. **Bold**: the highest mean with this learner. "
        "★: better than every other teacher in this table, p < 1 % (Welch's t-test, two-sided, not "
        "corrected for the number of teachers). Both need at least "
        f"{MIN_SEEDS} seeds of each teacher. Intervals: bootstrap over the seeds. Area under "
        "curve: mean of the return over all iterations."
    )
    if not isnan(rows[0].threshold):
        text += " Median iterations: over all seeds, – if half of them never reach it."
    return text + (f"\n\n{warning}" if (warning := warn_of_few_seeds(rows)) else "")


def _origin(cells: Sequence[Cell], outcomes: Sequence[Outcome]) -> str:
    """Seeds, versions, and cells that are not finished."""
    seeds = cells[0].experiment.seeds
    lines = [f"- seeds: {seeds[0]}" + (f" to {seeds[-1]}" if len(seeds) > 1 else "")]
    versions = dict.fromkeys(
        ", ".join(f"{name} {version}" for name, version in outcome.versions.items())
        for outcome in outcomes
    )
    lines += [f"- versions: {text}" for text in versions]
    shown = {outcome.cell.path for outcome in outcomes}
    others = [cell for cell in cells if cell.path not in shown]
    lost = [cell for cell in others if cell.folder.is_finished]
    missing = [cell.path.name for cell in others if cell not in lost]
    failed = [(outcome.cell, outcome.failed_seeds) for outcome in outcomes if outcome.failed_seeds]
    lines += [
        f"- failed seeds of {cell.path.name}: {', '.join(map(str, seeds))} (they are in no number "
        f"above; reasons: summary.json; try again: `selfpaced resume {cell.path} --retry-failed`)"
        for cell, seeds in failed
    ]
    lines += [
        f"- all seeds of {cell.path.name} have failed (reasons: summary.json; try again: "
        f"`selfpaced resume {cell.path} --retry-failed`)"
        for cell in lost
    ]
    if missing:
        lines.append(f"- not finished yet: {', '.join(missing)} (repeat the command to continue)")
    return "\n".join(lines)
