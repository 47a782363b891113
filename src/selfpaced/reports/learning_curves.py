"""Learning curves: performance on the target over the environment steps of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import PercentFormatter

from selfpaced.errors import require
from selfpaced.records import Array
from selfpaced.reports.names import by_problem, name_runs, title_run
from selfpaced.reports.style import (
    BLUE,
    INK,
    QUIET,
    SMALL_SIZE,
    TEXT_SIZE,
    TITLE_SIZE,
    colour_of,
    dashes_of,
    new_figure,
    note,
    show_steps,
    tidy,
)
from selfpaced.runs.folder import RunFolder
from selfpaced.statistics import standard_error

_LEGEND = "thick: mean of the seeds · band: two standard errors · thin: single seeds"
_FAILED = " · ×: a seed failed, and counts no more"


def draw_learning_curve(folder: RunFolder) -> Figure:
    """Draw return and success rate of one run."""
    figure = new_figure(8.0, 5.0, title_run(folder))
    upper, lower = _two_panels(figure, 1)[:, 0]
    evaluations = _evaluations(folder)
    for axes, column in ((upper, "return"), (lower, "success")):
        plot_curve(axes, evaluations["iteration"], evaluations[column], BLUE, single_width=0.8)
        _mark_failures(axes, folder, column)
    _finish(upper, lower, [evaluations])
    show_steps(lower, [folder.experiment().steps_per_iteration])
    last = _end_of_mean(evaluations)[1]
    _label_ends(upper, [evaluations], [BLUE], [f"{last:.2f}"])
    if len(folder.experiment().seeds) > 1:
        legend = _LEGEND + (_FAILED if folder.failed_seeds() else "")
        upper.set_title(legend, loc="left", size=SMALL_SIZE, color=QUIET)
    return figure


def draw_learning_curves(folders: list[RunFolder]) -> Figure:
    """Draw several runs, with common axes for runs of the same problem."""
    problems = by_problem(folders)
    names = name_runs(folders, with_problem=False)
    looks = {name: place for place, name in enumerate(dict.fromkeys(names))}  # equal in all panels
    figure = new_figure(min(8.0 + 4.5 * (len(problems) - 1), 17.0), 5.0)
    panels = _two_panels(figure, len(problems))
    for places, (upper, lower) in zip(problems.values(), panels.T, strict=True):
        runs = [_evaluations(folders[place]) for place in places]
        here = [names[place] for place in places]
        for run, name in zip(runs, here, strict=True):
            colour, dashes = colour_of(looks[name]), dashes_of(looks[name])
            for axes, column in ((upper, "return"), (lower, "success")):
                plot_curve(axes, run["iteration"], run[column], colour, dashes, single_width=0.4)
        _finish(upper, lower, runs)
        show_steps(lower, [folders[place].experiment().steps_per_iteration for place in places])
        _label_ends(upper, runs, [colour_of(looks[name]) for name in here], here)
        problem = folders[places[0]].experiment().resolved.name
        title = f"{problem}, {_num_seeds(folders, places)}"
        upper.set_title(title, loc="left", weight="bold", size=TITLE_SIZE, color=INK)
    note(figure, _LEGEND)
    return figure


def plot_curve(
    axes: Axes,
    iterations: Array,
    per_seed: Array,
    colour: str,
    dashes: str = "-",
    single_width: float = 0.8,
) -> None:
    """Plot the mean of the seeds [E, S] with two standard errors, up to the first missing seed."""
    complete = np.isfinite(per_seed).all(axis=1)
    x, rows = iterations[complete], per_seed[complete]
    num = per_seed.shape[1]
    if num > 1:
        axes.plot(iterations, per_seed, color=colour, linewidth=single_width, alpha=0.35, zorder=1)
        mean, margin = rows.mean(axis=1), 2.0 * standard_error(rows)
        axes.fill_between(
            x, mean - margin, mean + margin, color=colour, alpha=0.18, linewidth=0, zorder=2
        )
    axes.plot(
        x,
        rows.mean(axis=1),
        dashes,
        color=colour,
        linewidth=2.4,
        marker="o" if len(x) == 1 else "",
        label="mean",
        zorder=3,
    )


def _evaluations(folder: RunFolder) -> dict[str, Array]:
    evaluations = folder.of_counted_seeds(folder.evaluations())
    path = folder.path / "evaluations.csv"
    for column in ("return", "success"):
        require(column in evaluations, f"{path} is damaged (no column {column!r}); run again")
    evaluated = np.isfinite(evaluations["return"]).all(axis=1)
    require(bool(evaluated.any()), f"{path} has no evaluation of every seed yet; resume the run")
    return evaluations


def _mark_failures(axes: Axes, folder: RunFolder, column: str) -> None:
    """Draw the seeds that failed, with a cross at their end; no mean contains them."""
    seeds, evaluations = folder.experiment().seeds, folder.evaluations()
    for seed in folder.failed_seeds():
        heights = evaluations[column][:, seeds.index(seed)]
        known = np.isfinite(heights)
        x, y = evaluations["iteration"][known], heights[known]
        axes.plot(x, y, ":", color=QUIET, linewidth=0.8, zorder=1)
        axes.plot(x[-1:], y[-1:], "x", color=QUIET, markersize=7, zorder=4)


def _two_panels(figure: Figure, columns: int) -> Array:
    """Axes [2, columns]: the return above, the success rate below."""
    return figure.subplots(
        2, columns, sharex="col", squeeze=False, gridspec_kw={"height_ratios": (3, 1)}
    )


def _finish(upper: Axes, lower: Axes, runs: list[dict[str, Array]]) -> None:
    """Set limits that fit the single seeds; a wide band may exceed them."""
    tidy(upper, y_label="return on the target")
    tidy(lower, y_label="success rate")
    upper.set_xlim(0, max(1, *(int(run["iteration"].max()) for run in runs)))
    low = min(float(np.nanmin(run["return"])) for run in runs)
    high = max(float(np.nanmax(run["return"])) for run in runs)
    margin = 0.05 * (high - low) or 0.5
    upper.set_ylim(0.0 if low >= 0 else low - margin, high + margin)
    lower.set_ylim(-0.04, 1.04)
    lower.set_yticks((0.0, 0.5, 1.0))
    lower.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    upper.get_figure().align_ylabels()  # type: ignore[union-attr]


def _end_of_mean(run: dict[str, Array]) -> tuple[int, float]:
    """The last iteration at which all seeds were evaluated, and their mean return."""
    last = np.flatnonzero(np.isfinite(run["return"]).all(axis=1))[-1]
    return int(run["iteration"][last]), float(run["return"][last].mean())


def _num_seeds(folders: list[RunFolder], places: list[int]) -> str:
    nums = sorted({len(folders[place].experiment().seeds) for place in places})
    text = " or ".join(map(str, nums))
    return f"{text} seed{'s' if nums[-1] > 1 else ''}"


def _label_ends(
    axes: Axes, runs: list[dict[str, Array]], colours: list[str], names: list[str]
) -> None:
    """Write each name at the end of its curve, in its colour and without overlap."""
    low, high = axes.get_ylim()
    ends = [_end_of_mean(run) for run in runs]
    heights = spread([y for _, y in ends], 0.065 * (high - low))
    for (x, _), y, colour, name in zip(ends, heights, colours, names, strict=True):
        axes.annotate(
            name, (x, y), (7, 0), textcoords="offset points", color=colour, size=TEXT_SIZE,
            weight="bold", va="center", annotation_clip=False, zorder=5,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip


def spread(heights: Sequence[float], gap: float) -> Array:
    """Return heights at least a gap apart, moved as little as possible."""
    order = np.argsort(heights, kind="stable")
    clusters: list[list[float]] = []  # [centre, number of labels], from bottom to top
    for height in np.asarray(heights)[order]:
        clusters.append([float(height), 1])
        while len(clusters) > 1 and _overlap(clusters[-2], clusters[-1], gap):
            (upper, many), (lower, few) = clusters.pop(), clusters.pop()
            clusters.append([(upper * many + lower * few) / (many + few), many + few])
    moved = np.empty(len(order))
    moved[order] = np.concatenate(
        [centre + gap * (np.arange(num) - (num - 1) / 2) for centre, num in clusters]
    )
    return moved


def _overlap(lower: list[float], upper: list[float], gap: float) -> bool:
    return upper[0] - lower[0] < gap * (upper[1] + lower[1]) / 2
