"""The first section: the verdict, the final numbers, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.reports.comparison_tables import FEW_SEEDS
from selfpaced.reports.page.markup import Cell, Html, Section, join, notes, number, paragraph, tag
from selfpaced.reports.page.markup import table as make_table
from selfpaced.reports.page.ranking import Standing, verdict
from selfpaced.reports.page.source import RunData
from selfpaced.statistics import Estimate

_HEADER = (
    "run",
    "return: mean",
    "interquartile mean [95 %]",
    "success [95 %]",
    "seeds",
    "iterations",
)


def summary(standings: Sequence[Standing], missing: Sequence[str]) -> Section:
    """Return the section that answers whether it worked."""
    runs = [each.run for each in standings]
    sentences = [paragraph(text, class_="verdict") for text in verdict(standings)]
    if not runs:
        sentences = [paragraph("There is no run to show.", class_="verdict")]
    rows = [_row(each) for each in standings]
    parts: list[Html] = [*sentences]
    if rows:
        parts.append(make_table("Final performance on the target", _HEADER, rows))
        parts.append(paragraph(_legend(standings), class_="quiet"))
    parts.append(notes(_failures(runs), "Failed seeds (they are in no number of this page)"))
    gaps = [*missing, *(f"{run.name}: {text}" for run in runs for text in run.missing)]
    parts.append(notes([*_mixture(runs), *gaps], "Missing, or to be read with care"))
    return Section("summary", "Summary", join(*parts))


def interval(estimate: Estimate, form: str = ".2f") -> str:
    """Return an estimate with its interval."""
    text = number(estimate.value, form)
    if number(estimate.low) == "–":
        return text
    return f"{text} [{number(estimate.low, form)}, {number(estimate.high, form)}]"


def state_of(run: RunData) -> str:
    """Return how far a run is."""
    if run.is_finished:
        return f"{run.planned}, finished"
    reached = int(run.iterations[-1]) if len(run.iterations) else 0
    return f"{reached} of {run.planned}"


def _row(standing: Standing) -> list[object]:
    run = standing.run
    name: object = run.name
    value = number(standing.mean)
    shown: object = Cell(value, standing.mean)
    if standing.is_best:
        name = join(tag("strong", run.name), " ★")
        shown = tag("strong", value)
    elif standing.is_highest:
        name = f"{run.name} (highest mean)"
    failed = len(run.failures)
    seeds = f"{len(run.counted_seeds)}" + (f" ({failed} failed)" if failed else "")
    return [
        name,
        shown,
        Cell(interval(standing.iqm), standing.iqm.value),
        Cell(interval(standing.success, ".0%"), standing.success.value),
        Cell(seeds, len(run.counted_seeds)),
        state_of(run),
    ]


def _legend(standings: Sequence[Standing]) -> str:
    text = (
        "Discounted return of the stochastic policy at the last evaluation that all seeds have. "
        "Intervals: bootstrap over the seeds. ★ and bold: better than every other run with the "
        "same problem and learner (Welch's test, p < 1 %, at least 5 seeds each)."
    )
    known = [len(each.returns) for each in standings if len(each.returns)]
    if known and min(known) < FEW_SEEDS:
        text += f" Intervals over fewer than {FEW_SEEDS} seeds are too narrow."
    return text


def _failures(runs: Sequence[RunData]) -> list[str]:
    return [
        f"{run.name}: seed {failure.get('seed')} in iteration {failure.get('iteration')}, "
        f"{failure.get('part', '')}: {failure.get('reason', 'no reason given')}"
        for run in runs
        for failure in run.failures
    ]


def _mixture(runs: Sequence[RunData]) -> list[str]:
    problems = dict.fromkeys(run.problem for run in runs)
    if len(problems) < 2:
        return []
    names = ", ".join(problems)
    return [f"The runs have different problems ({names}): returns of one are not those of another"]
