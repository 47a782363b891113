"""Curricula: the training contexts on their way to the target (paper, figures of Section 5)."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Ellipse
from matplotlib.ticker import MaxNLocator

from selfpaced.contexts import ContextSpace
from selfpaced.records import Array
from selfpaced.reports.context_path import Travel
from selfpaced.reports.names import name_runs, title_run
from selfpaced.reports.style import (
    BLUE,
    INK,
    QUIET,
    SMALL_SIZE,
    TARGET,
    TEXT_SIZE,
    new_figure,
    note,
    tidy,
)
from selfpaced.runs.folder import RunFolder

NUM_MOMENTS = 6
_ABOVE = "above, dots: contexts of all seeds · star: the target"
_OUTLINES = " · outlines: two standard deviations of a seed's Gaussian"
_STRIP = "dots: contexts of all seeds · line: their mean"
_BELOW = (
    "below, thick: mean · band: one standard deviation · thin: single seeds · "
    "points: the moments above"
)
_MOST_POINTS = 320  # in one panel
_ELLIPSE_RADIUS = 2.0  # standard deviations
_MOST_ELLIPSES = 8
_MARGIN = 0.05  # around the box, in parts of its width


def draw_contexts(folder: RunFolder) -> Figure:
    """Above the contexts at a few moments, below their components over all iterations."""
    travel = Travel.load(folder)
    size = travel.contexts.size
    if size == 1:
        figure = new_figure(8.0, 3.6, title_run(folder))
        _plot_strip(figure.subplots(), travel)
        return figure
    figure = new_figure(10.5, 5.2, title_run(folder))
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.0, 1.3), squeeze=False)[:, 0]
    moments = travel.choose_moments(NUM_MOMENTS)
    _plot_moments(upper, list(upper.subplots(1, NUM_MOMENTS)), travel, moments)
    for component, axes in enumerate(lower.subplots(1, size)):
        _plot_component(axes, travel, component, moments)
    legend = f"{_ABOVE}{'' if travel.mean is None else _OUTLINES}\n{_BELOW}"
    note(lower, legend)
    return figure


def draw_contexts_together(folders: list[RunFolder]) -> Figure:
    """The contexts of several runs at a few moments, one row for each."""
    figure = new_figure(10.5, 2.35 * len(folders))
    rows = figure.subfigures(len(folders), 1, squeeze=False)[:, 0]
    names = name_runs(folders, with_problem=True)
    for row, folder, name in zip(rows, folders, names, strict=True):
        row.suptitle(name, x=0.012, ha="left", size=TEXT_SIZE, weight="bold", color=INK)
        travel = Travel.load(folder)
        if travel.contexts.size == 1:
            _plot_strip(row.subplots(), travel)
        else:
            moments = travel.choose_moments(NUM_MOMENTS)
            panels = row.subplots(1, NUM_MOMENTS)
            _plot_moments(row, list(panels), travel, moments)
    return figure


def _plot_moments(
    figure: Figure | SubFigure, panels: list[Axes], travel: Travel, moments: list[int]
) -> None:
    """Small multiples; the first one carries the labels, the colours are explained once."""
    contexts = travel.contexts
    for axes, row in zip(panels, moments, strict=False):
        _plot_plane(axes, travel, row)
        axes.set_title(f"iteration {travel.iterations[row]}", size=SMALL_SIZE, color=INK)
        axes.set_xlabel(_words(contexts.names[0]), size=SMALL_SIZE, color=INK)
        if axes is not panels[0]:
            axes.set_yticklabels([])
    panels[0].set_ylabel(_words(contexts.names[1]), size=SMALL_SIZE, color=INK)
    for axes in panels[len(moments) :]:
        axes.set_axis_off()
    if contexts.size > 2:
        explain_colours(figure, panels[len(moments) - 1], contexts, _words(contexts.names[2]))


def explain_colours(
    figure: Figure | SubFigure, axes: Axes, contexts: ContextSpace, label: str
) -> None:
    """What the colours of the third component mean, beside the last panel."""
    beside = axes.inset_axes((1.1, 0.0, 0.08, 1.0))
    bar = figure.colorbar(ScalarMappable(**shades(contexts)), cax=beside, ticks=MaxNLocator(4))
    bar.set_label(label, size=SMALL_SIZE, color=INK)
    bar.ax.tick_params(labelsize=SMALL_SIZE, length=2, color=QUIET)
    bar.outline.set_visible(False)


def _plot_plane(axes: Axes, travel: Travel, row: int) -> None:
    """The first two components at one evaluation; the third, if there is one, as colour."""
    contexts = travel.contexts
    samples = travel.pooled(row, _MOST_POINTS)
    style: dict[str, Any] = {"color": BLUE}
    if contexts.size > 2:
        style = {"c": samples[:, 2], **shades(contexts)}
    axes.scatter(
        samples[:, 0], samples[:, 1], s=9, alpha=0.7, linewidth=0, zorder=3, clip_on=False, **style
    )
    if travel.mean is not None and travel.cholesky is not None:
        gaussians = zip(travel.mean[row], travel.cholesky[row], strict=True)
        for mean, cholesky in islice(gaussians, 1 if row == 0 else _MOST_ELLIPSES):
            axes.add_patch(ellipse_of(mean[:2], cholesky[:2, :2]))
    _mark_target(axes, contexts.clip(contexts.target.mean)[:2])
    _frame(axes, contexts)


def shades(contexts: ContextSpace) -> dict[str, Any]:
    """Colours of the third component: viridis without its end, which is hard to see on white."""
    colours = colormaps["viridis"](np.linspace(0, 0.88))
    return {
        "cmap": LinearSegmentedColormap.from_list("shades", colours),
        "norm": Normalize(contexts.lower[2], contexts.upper[2]),
    }


def ellipse_of(mean: Array, cholesky: Array) -> Ellipse:
    """Where a Gaussian has most of its mass."""
    values, vectors = np.linalg.eigh(cholesky @ cholesky.T)
    width, height = 2.0 * _ELLIPSE_RADIUS * np.sqrt(np.maximum(values, 0.0))
    angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
    return Ellipse(
        (mean[0], mean[1]), width, height, angle=angle, fill=False, edgecolor=INK, linewidth=0.6,
        alpha=0.35, zorder=1,
    )  # fmt: skip


def _mark_target(axes: Axes, target: Array) -> None:
    axes.plot(
        *target, "*", color=TARGET, markersize=15, markeredgewidth=0, zorder=2.5, clip_on=False
    )  # fmt: skip


def _frame(axes: Axes, contexts: ContextSpace) -> None:
    """The box of contexts is the frame."""
    axes.set(
        xlim=(contexts.lower[0], contexts.upper[0]),
        ylim=(contexts.lower[1], contexts.upper[1]),
        box_aspect=1.0,
    )
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=(1, 2, 4, 5, 10)))
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=(1, 2, 4, 5, 10)))
    axes.tick_params(colors=QUIET, labelcolor=INK, labelsize=SMALL_SIZE, length=2, width=0.8)
    for spine in axes.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.8)


def _plot_component(axes: Axes, travel: Travel, component: int, moments: list[int]) -> None:
    """Mean and standard deviation of one component over all iterations."""
    contexts, x = travel.contexts, travel.iterations
    samples = travel.samples[..., component]
    mean, std = samples.mean(axis=(1, 2)), samples.std(axis=(1, 2))
    axes.fill_between(x, mean - std, mean + std, color=BLUE, alpha=0.18, linewidth=0)
    if samples.shape[1] > 1:
        axes.plot(x, samples.mean(axis=2), color=BLUE, linewidth=0.6, alpha=0.35)
    axes.plot(x, mean, color=BLUE, linewidth=2.2, label="mean")
    axes.plot(
        x[moments], mean[moments], "o", color=BLUE, markersize=5, markeredgecolor="white",
        clip_on=False, zorder=4,
    )  # fmt: skip
    tidy(axes, "iteration", _words(contexts.names[component]))
    _target_line(axes, travel, component)


def _plot_strip(axes: Axes, travel: Travel) -> None:
    """Contexts with a single component fit into one panel over all iterations."""
    most = max(_MOST_POINTS * NUM_MOMENTS // len(travel.iterations), 20)
    for row, iteration in enumerate(travel.iterations):
        points = travel.pooled(row, most)[:, 0]
        axes.scatter(
            np.full(len(points), iteration),
            points,
            s=6,
            color=BLUE,
            alpha=0.35,
            linewidth=0,
            clip_on=False,
        )
    axes.plot(travel.iterations, travel.samples.mean(axis=(1, 2, 3)), color=INK, linewidth=1.8)
    tidy(axes, "iteration", _words(travel.contexts.names[0]))
    axes.set_title(_STRIP, loc="left", size=SMALL_SIZE, color=QUIET)
    _target_line(axes, travel, 0)


def _target_line(axes: Axes, travel: Travel, component: int) -> None:
    """Where the contexts should arrive, and the bounds as the ends of the axis."""
    contexts = travel.contexts
    target = contexts.clip(contexts.target.mean)[component]
    low, high = contexts.lower[component], contexts.upper[component]
    margin = _MARGIN * (high - low)
    axes.set(ylim=(low - margin, high + margin), xlim=(0, max(int(travel.iterations[-1]), 1)))
    axes.axhline(target, color=TARGET, linewidth=1.4, linestyle=(0, (4, 2)), zorder=3)
    axes.annotate(
        "target", (1.0, target), (5, 0), xycoords=("axes fraction", "data"),
        textcoords="offset points", va="center", size=SMALL_SIZE, color=TARGET,
    )  # fmt: skip


def _words(name: str) -> str:
    return name.replace("_", " ")
