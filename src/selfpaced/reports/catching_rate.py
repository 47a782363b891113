"""Catching rate: the share of 200 balls that a final policy catches (paper, Section 5.3)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from selfpaced.errors import require
from selfpaced.records import Array
from selfpaced.reports.names import name_run, name_runs, title_run
from selfpaced.reports.problem_figure import ProblemFigure, final_episodes
from selfpaced.reports.style import (
    BLUE,
    TEXT_SIZE,
    colour_of,
    new_figure,
    note,
    tidy,
)
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.kept import final_values
from selfpaced.statistics import mean_and_standard_error, plus_minus

NUM_THROWS = 200
_LEGEND = (
    f"at least {NUM_THROWS} throws of every seed on the target, final stochastic policies\n"
    "bar: mean of the seeds · line: one standard error · dots: single seeds"
)


def draw_catching_rate(folder: RunFolder) -> Figure:
    """Draw the catching rate of one run."""
    figure = new_figure(7.0, 2.3, title_run(folder))
    _plot_bars(figure, [catching_rates(folder)], [name_run(folder)], [BLUE])
    return figure


def draw_catching_rates(folders: list[RunFolder]) -> Figure:
    """Draw the catching rates of several runs."""
    title = folders[0].experiment().resolved.name
    figure = new_figure(7.5, 1.5 + 0.5 * len(folders), title)
    rates = [catching_rates(folder) for folder in folders]
    colours = [colour_of(place) for place in range(len(folders))]
    _plot_bars(figure, rates, name_runs(folders, with_problem=False), colours)
    return figure


CATCHING_RATE = ProblemFigure("catching_rate", draw_catching_rate, draw_catching_rates)


def catching_rates(folder: RunFolder) -> Array:
    """Return the share of balls caught by each seed [S], from the evaluations if these suffice."""
    if folder.experiment().evaluation_episodes < NUM_THROWS:
        shares: Array = final_episodes(folder, NUM_THROWS).success[:, 0].mean(axis=1)
        return shares
    columns = folder.of_counted_seeds(folder.evaluations())
    complete = np.isfinite(columns["success"]).all(axis=1)
    require(
        bool(complete.any()),
        f"{folder.path} has no evaluation of every seed yet; resume the run",
    )
    return final_values({name: column[complete] for name, column in columns.items()}, "success")


def _plot_bars(figure: Figure, rates: list[Array], names: list[str], colours: list[str]) -> None:
    """One bar per run, with its name to the left and its numbers to the right."""
    axes = figure.subplots()
    for place, (per_seed, colour) in enumerate(zip(rates, colours, strict=True)):
        mean, error = mean_and_standard_error(per_seed)
        axes.barh(place, mean, height=0.62, color=colour, alpha=0.3, linewidth=0)
        axes.errorbar(mean, place, xerr=error, color=colour, linewidth=2.4, capsize=4, capthick=2.4)
        heights = place + np.linspace(-0.18, 0.18, len(per_seed))
        if len(per_seed) > 1:
            axes.plot(
                per_seed, heights, "o", color=colour, markersize=3.5, alpha=0.7,
                markeredgewidth=0, clip_on=False,
            )  # fmt: skip
        axes.annotate(
            plus_minus(mean, error, ".1%"), (1.0, place), (8, 0),
            xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
            size=TEXT_SIZE, weight="bold", color=colour,
        )  # fmt: skip
    tidy(axes, "balls caught")
    axes.set(xlim=(0.0, 1.0), ylim=(len(rates) - 0.5, -0.5))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_yticks(range(len(rates)), names)
    axes.tick_params(axis="y", length=0, labelsize=TEXT_SIZE)
    note(figure, _LEGEND)
