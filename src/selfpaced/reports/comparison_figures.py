"""Figures of a comparison: curves, interquartile means, probabilities of improvement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from selfpaced.records import Array
from selfpaced.reports.comparison_tables import MIN_SEEDS, Improvement, Row
from selfpaced.reports.learning_curves import plot_curve
from selfpaced.reports.names import name_learner, name_teacher
from selfpaced.reports.style import (
    BLUE,
    FAINT,
    INK,
    QUIET,
    SMALL_SIZE,
    TEXT_SIZE,
    TITLE_SIZE,
    VERMILION,
    colour_of,
    dashes_of,
    new_figure,
    note,
    save,
    show_steps,
    tidy,
)
from selfpaced.statistics import count_seeds, standard_error
from selfpaced.studies.comparison import Outcome

_WINS = LinearSegmentedColormap.from_list("wins", [VERMILION, "white", BLUE]).with_extremes(
    bad="#F2F2F2"  # the diagonal
)


def draw_comparison(
    outcomes: Sequence[Outcome],
    rows: Sequence[Row],
    improvements: Sequence[Improvement],
    out: Path,
) -> list[Path]:
    """Draw all figures of a comparison; return their paths."""
    figures = {
        "learning_curves": draw_curves(outcomes),
        "interquartile_means": draw_interquartile_means(outcomes, rows),
    }
    if not any(np.isnan(outcome.successes).any() for outcome in outcomes):  # not reported
        figures["success_rates"] = draw_successes(outcomes)
    if improvements:
        figures["probability_of_improvement"] = draw_improvements(outcomes, improvements)
    return [save(figure, out / f"{name}.png") for name, figure in figures.items()]


def draw_curves(outcomes: Sequence[Outcome]) -> Figure:
    """Draw all learning curves without single seeds, one panel per learner."""
    returns = [outcome.returns for outcome in outcomes]
    return _draw_panels(outcomes, returns, "return on the target", _height(returns))


def draw_successes(outcomes: Sequence[Outcome]) -> Figure:
    """Draw all success rates without single seeds, one panel per learner."""
    successes = [outcome.successes for outcome in outcomes]
    figure = _draw_panels(outcomes, successes, "success rate on the target", (-0.04, 1.04))
    for axes in figure.axes:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return figure


def _draw_panels(
    outcomes: Sequence[Outcome],
    per_seed: Sequence[Array],
    label: str,
    height: tuple[float, float],
) -> Figure:
    """Draw one curve for each outcome: the mean of its seeds [E, S]."""
    learners, teachers = _learners(outcomes), _teachers(outcomes)
    width = 6.5 if len(learners) == 1 else min(4.2 * len(learners), 16.0)
    figure = new_figure(width, 4.4, _title(outcomes))
    panels = figure.subplots(1, len(learners), sharey=True, squeeze=False)[0]
    for axes, learner in zip(panels, learners, strict=True):
        _name_panel(axes, outcomes, learner, len(learners))
        here = [outcome for outcome in outcomes if outcome.cell.learner == learner]
        for outcome, values in zip(outcomes, per_seed, strict=True):
            if outcome.cell.learner != learner:
                continue
            look = teachers.index(outcome.cell.teacher)
            plot_curve(
                axes,
                outcome.iterations,
                values,
                colour_of(look),
                dashes_of(look),
                single_width=0.0,
            )
        axes.set_xlim(0, max(outcome.iterations[-1] for outcome in here))
        tidy(axes, y_label=label if axes is panels[0] else "")
        show_steps(axes, [outcome.cell.experiment.steps_per_iteration for outcome in here])
    panels[0].set_ylim(*height)
    _legend_of_teachers(figure, panels[0], outcomes)
    return figure


def draw_interquartile_means(outcomes: Sequence[Outcome], rows: Sequence[Row]) -> Figure:
    """Draw a dot with its interval for every cell, and the single seeds behind it."""
    learners, teachers = _learners(outcomes), _teachers(outcomes)
    width = 6.5 if len(learners) == 1 else min(2.0 + 3.2 * len(learners), 16.0)
    figure = new_figure(width, 1.7 + 0.42 * len(teachers), _title(outcomes))
    panels = figure.subplots(1, len(learners), sharey=True, sharex=True, squeeze=False)[0]
    for axes, learner in zip(panels, learners, strict=True):
        _name_panel(axes, outcomes, learner, len(learners))
        for outcome, row in zip(outcomes, rows, strict=True):
            if row.learner == learner:
                _plot_dot(axes, teachers.index(row.teacher), outcome, row)
        tidy(axes, "return on the target")
        axes.set_yticks(range(len(teachers)), _names(outcomes))
        axes.tick_params(axis="y", length=0, labelsize=TEXT_SIZE)
        axes.spines["left"].set_visible(False)
        axes.set_ylim(len(teachers) - 0.5, -0.5)
    note(figure, "large: interquartile mean · bar: 95 % interval · small: single seeds")
    return figure


def draw_improvements(outcomes: Sequence[Outcome], improvements: Sequence[Improvement]) -> Figure:
    """Draw the probability that the teacher of a row ends better than that of a column."""
    learners = [
        learner
        for learner in _learners(outcomes)
        if any(each.learner == learner for each in improvements)
    ]
    num = len(_teachers(outcomes))
    side = 0.62 * num + 0.4
    figure = new_figure(max(4.6, side * len(learners) + 1.4), side + 1.7, _title(outcomes))
    panels = figure.subplots(1, len(learners), sharey=True, squeeze=False)[0]
    for axes, learner in zip(panels, learners, strict=True):
        _name_panel(axes, outcomes, learner, len(learners))
        _plot_wins(axes, outcomes, [each for each in improvements if each.learner == learner])
    note(
        figure,
        "probability that a seed of the row ends better than one of the column\n"
        f"bold: the 95 % interval excludes 50 %, over at least {MIN_SEEDS} seeds",
    )
    return figure


def _height(per_seed: Sequence[Array]) -> tuple[float, float]:
    """Limits that fit the bands; single seeds are not drawn."""
    means = np.concatenate([values.mean(axis=1) for values in per_seed])
    margins = np.concatenate([2.0 * np.nan_to_num(standard_error(values)) for values in per_seed])
    low, high = float((means - margins).min()), float((means + margins).max())
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


def _plot_dot(axes: Axes, place: int, outcome: Outcome, row: Row) -> None:
    colour, returns = colour_of(place), outcome.final_returns
    axes.axhline(place, color=FAINT, linewidth=0.6, zorder=0)
    axes.plot(
        returns, np.full(len(returns), place - 0.24), "o", color=colour, markersize=3.5, alpha=0.4,
        markeredgewidth=0, zorder=1,
    )  # fmt: skip
    axes.plot([row.iqm_low, row.iqm_high], [place, place], color=colour, linewidth=3.5, zorder=2)
    axes.plot(
        row.iqm, place, "o", color=colour, markersize=9, markeredgecolor="white", zorder=3,
        label="interquartile mean",
    )  # fmt: skip


def _plot_wins(
    axes: Axes, outcomes: Sequence[Outcome], improvements: Sequence[Improvement]
) -> None:
    teachers, names = _teachers(outcomes), _names(outcomes)
    wins = np.full((len(teachers), len(teachers)), np.nan)
    for each in improvements:
        row, column = teachers.index(each.teacher), teachers.index(each.other)
        value = each.probability.value
        wins[row, column] = value
        axes.text(
            column, row, f"{value:.0%}", ha="center", va="center", size=SMALL_SIZE,
            weight="bold" if each.is_certain else "normal",
            color="white" if abs(value - 0.5) > 0.35 else INK,
        )  # fmt: skip
    axes.imshow(wins, cmap=_WINS, vmin=0.0, vmax=1.0)
    tidy(axes)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=TEXT_SIZE)
    axes.set_yticks(range(len(teachers)), names)
    axes.set_xticks(range(len(teachers)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xticks(np.arange(len(teachers) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(teachers) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)


def _learners(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.cell.learner for outcome in outcomes))


def _teachers(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.cell.teacher for outcome in outcomes))


def _names(outcomes: Sequence[Outcome]) -> list[str]:
    """Names of the teachers as in the other figures."""
    named = {outcome.cell.teacher: name_teacher(outcome.cell.experiment) for outcome in outcomes}
    return list(named.values())


def _title(outcomes: Sequence[Outcome]) -> str:
    experiment = outcomes[0].cell.experiment
    num = len(experiment.seeds)
    title = f"{experiment.resolved.name}, {count_seeds(num)}"
    learners = {name_learner(outcome.cell.experiment) for outcome in outcomes}
    return f"{title}, {learners.pop()}" if len(learners) == 1 else title


def _name_panel(axes: Axes, outcomes: Sequence[Outcome], learner: str, num: int) -> None:
    """Name the learner of a panel, unless it is the only one and in the title of the figure."""
    experiment = next(o.cell.experiment for o in outcomes if o.cell.learner == learner)
    if num > 1:
        title = name_learner(experiment)
        axes.set_title(title, loc="left", size=TITLE_SIZE, weight="bold", color=INK)


def _legend_of_teachers(figure: Figure, axes: Axes, outcomes: Sequence[Outcome]) -> None:
    handles = [
        axes.plot([], [], dashes_of(look), color=colour_of(look), linewidth=2.4, label=name)[0]
        for look, name in enumerate(_names(outcomes))
    ]
    legend = figure.legend(
        handles=handles, loc="outside lower left", frameon=False, alignment="left",
        ncols=min(len(handles), int(figure.get_figwidth() / 1.3)), fontsize=TEXT_SIZE,
        labelcolor=INK, title="line: mean of the seeds · band: two standard errors",
        title_fontsize=SMALL_SIZE,
    )  # fmt: skip
    legend.get_title().set_color(QUIET)
