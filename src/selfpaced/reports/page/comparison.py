"""All statistics of the runs in a table, and the probability of improvement as a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.reports.comparison_tables import MIN_SEEDS, format_p_value
from selfpaced.reports.page.markup import (
    Cell,
    Html,
    Section,
    csv_text,
    download,
    join,
    number,
    paragraph,
    table,
    tag,
)
from selfpaced.reports.page.ranking import Improvement, Standing, improvements, wall_minutes
from selfpaced.reports.page.summary import interval
from selfpaced.runs.tables import table_bytes

_HEADER = (
    "run", "mean", "standard error", "median", "interquartile mean [95 %]", "success [95 %]",
    "p against highest", "area under curve", "seeds", "failed", "iterations", "wall time [min]",
)  # fmt: skip
_FILE = (
    "problem", "teacher", "learner", "run", "seeds", "failed_seeds", "iterations", "mean",
    "standard_error", "median", "iqm", "iqm_low", "iqm_high", "success", "success_low",
    "success_high", "p_value_against_highest", "area_under_curve", "wall_minutes",
)  # fmt: skip
_HOW = (
    "Returns on the target at the last evaluation that all seeds have. p: Welch's test against "
    "the highest mean with the same problem and learner, two-sided, not corrected for the number "
    "of runs. Area under curve: mean of the return over all iterations. A click on a name of a "
    "column sorts."
)
_MATRIX = (
    "The probability that a seed of the row ends with a higher return than a seed of the column, "
    f"with the 95 % bootstrap interval. Shaded: the interval excludes one half, over at least "
    f"{MIN_SEEDS} seeds."
)


def comparison(standings: Sequence[Standing]) -> Section:
    """Return the section of all statistics."""
    rows = [_row(each) for each in standings]
    numbers = [_numbers(each) for each in standings]
    file = download("comparison.csv", csv_text(_FILE, numbers), "text/csv", "table as CSV")
    parts: list[Html] = [
        paragraph(_HOW, class_="quiet"),
        table("All statistics", _HEADER, rows),
        file,
    ]
    for standing in standings if len(standings) <= 12 else ():
        run = standing.run
        if run.evaluations:
            content = table_bytes(run.seeds, run.evaluations).decode()
            name = f"evaluations of {run.name}"
            parts.append(download(f"{run.folder.path.name}-evaluations.csv", content, "text/csv",
                                  name))  # fmt: skip
    pairs = improvements(standings)
    if pairs:
        parts += [tag("h3", "Probability of improvement"), paragraph(_MATRIX, class_="quiet")]
        parts.append(_matrix(standings, pairs))
    return Section("comparison", "All numbers", join(*parts))


def _row(standing: Standing) -> list[object]:
    run = standing.run
    minutes = wall_minutes(run)
    last = int(run.iterations[run.last]) if run.last is not None else 0
    return [
        run.name,
        *(Cell(number(value), value) for value in (standing.mean, standing.standard_error)),
        Cell(number(standing.median), standing.median),
        Cell(interval(standing.iqm), standing.iqm.value),
        Cell(interval(standing.success, ".0%"), standing.success.value),
        Cell(format_p_value(standing.p_value), standing.p_value),
        Cell(number(standing.area), standing.area),
        Cell(str(len(run.counted_seeds)), len(run.counted_seeds)),
        Cell(str(len(run.failures)), len(run.failures)),
        Cell(str(last), last),
        Cell(number(minutes, ".1f"), minutes),
    ]


def _numbers(standing: Standing) -> list[object]:
    run = standing.run
    last = int(run.iterations[run.last]) if run.last is not None else 0
    return [
        run.problem, run.teacher, run.learner, run.name, len(run.counted_seeds),
        len(run.failures), last, standing.mean, standing.standard_error, standing.median,
        *standing.iqm, *standing.success, standing.p_value, standing.area, wall_minutes(run),
    ]  # fmt: skip


def _matrix(standings: Sequence[Standing], pairs: Sequence[Improvement]) -> Html:
    known = {(pair.run, pair.other): pair for pair in pairs}
    names = [each.run.name for each in standings if any(each.run.name in pair for pair in known)]
    rows: list[list[object]] = []
    for name in names:
        cells: list[object] = [name]
        for other in names:
            pair = known.get((name, other))
            text = interval(pair.probability) if pair else ""
            cells.append(tag("mark", text) if pair and pair.is_certain else text)
        rows.append(cells)
    header = ("run", *(f"better than {name}" for name in names))
    content = [[p.run, p.other, *p.probability] for p in pairs]
    columns = ("run", "other", "probability", "low", "high")
    file = download(
        "probability_of_improvement.csv", csv_text(columns, content), "text/csv", "table as CSV"
    )
    return join(table("Probability of improvement", header, rows, sortable=False), file)
