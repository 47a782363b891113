"""Published learning curves beside ours: a table of their points, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from selfpaced.presets.neurips2020 import find_preset
from selfpaced.presets.preset import Curve
from selfpaced.records import Array
from selfpaced.reports.learning_curves import plot_curve
from selfpaced.reports.style import (
    SMALL_SIZE,
    TITLE_SIZE,
    colour_of,
    new_figure,
    note,
    save,
    tidy,
)
from selfpaced.statistics import mean_and_standard_error, plus_minus
from selfpaced.studies.comparison import Outcome

_LEGEND = (
    "Lines: ours, mean of the seeds with two standard errors. Points: published, read off a figure."
)
_MARKERS = "os^D"


def tabulate_curves(outcomes: Sequence[Outcome]) -> list[str]:
    """Return published points beside our means, as lines of Markdown; empty if there are none."""
    lines: list[str] = []
    for outcome in outcomes:
        curves = _curves_of(outcome)
        if not curves:
            continue
        measure = curves[0].measure
        moments = sorted({moment for curve in curves for moment, _ in curve.points})
        header = [f"{outcome.cell.teacher}: {measure} at", *map(str, moments)]
        rows = [["ours", *(_ours(outcome, measure, moment) for moment in moments)]]
        for curve in curves:
            points = dict(curve.points)
            shown = (f"{points[each]:.2f}" if each in points else "–" for each in moments)
            rows.append([f"{curve.source} (read off, ± {curve.reading_error:g})", *shown])
        rule = ["---"] * len(header)
        lines += [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
        lines.append("")
    return lines


def draw_curves(outcomes: Sequence[Outcome], path: Path) -> list[Path]:
    """Write a figure of all outcomes with the published points; none if there are no points."""
    curves = [curve for outcome in outcomes for curve in _curves_of(outcome)]
    if not curves:
        return []
    return [save(_draw(outcomes, curves), path)]


def _draw(outcomes: Sequence[Outcome], curves: Sequence[Curve]) -> Figure:
    figure = new_figure(8.0, 5.0)
    axes = figure.subplots()
    measure = curves[0].measure
    for index, outcome in enumerate(outcomes):
        colour = colour_of(index)
        plot_curve(axes, outcome.iterations, _measured(outcome, measure), colour, single_width=0.0)
        axes.lines[-1].set_label(outcome.cell.teacher)
        for marker, curve in zip(_MARKERS, _curves_of(outcome), strict=False):
            moments, values = zip(*curve.points, strict=True)
            axes.errorbar(
                moments,
                values,
                curve.reading_error,
                fmt=marker,
                color=colour,
                markerfacecolor="white",
                label=curve.source,
                zorder=4,
            )
    tidy(axes, "iteration", f"{measure} on the target")
    cell = outcomes[0].cell
    title = f"{cell.experiment.problem_name}, {cell.learner}"
    axes.set_title(title, loc="left", weight="bold", size=TITLE_SIZE)
    handles, labels = axes.get_legend_handles_labels()
    kept = [
        (handle, label) for handle, label in zip(handles, labels, strict=True) if label != "mean"
    ]
    axes.legend(*zip(*kept, strict=True), frameon=False, fontsize=SMALL_SIZE)
    note(figure, _LEGEND)
    return figure


def _curves_of(outcome: Outcome) -> tuple[Curve, ...]:
    cell = outcome.cell
    preset = find_preset(cell.experiment.resolved)
    return preset.curves.get(cell.learner, {}).get(cell.teacher, ())


def _measured(outcome: Outcome, measure: str) -> Array:
    return outcome.returns if measure == "return" else outcome.successes.astype(float)


def _ours(outcome: Outcome, measure: str, moment: int) -> str:
    places = (outcome.iterations == moment).nonzero()[0]
    if len(places) == 0:
        return "–"
    return plus_minus(*mean_and_standard_error(_measured(outcome, measure)[places[0]]))
