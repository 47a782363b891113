"""Curricula: the path of the training contexts to the target (paper, figures of Section 5)."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TypedDict

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Ellipse
from matplotlib.ticker import MaxNLocator

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.records import Array
from selfpaced.reports.context_path import ContextPath
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
    show_steps,
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
_NUM_TARGETS = 32  # draws that show a target without a mean
_MARGIN = 0.05  # around the box, as a share of its width


class Shades(TypedDict):
    """Arguments that map numbers to colours."""

    cmap: Colormap
    norm: Normalize


def draw_contexts(folder: RunFolder) -> Figure:
    """Draw the contexts of one run: at a few moments, and each component over all iterations."""
    path = ContextPath.load(folder)
    size = path.contexts.size
    if size == 1:
        figure = new_figure(8.0, 3.6, title_run(folder))
        _plot_strip(figure.subplots(), path, folder.experiment().steps_per_iteration)
        return figure
    figure = new_figure(10.5, 5.2, title_run(folder))
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.0, 1.3), squeeze=False)[:, 0]
    moments = path.choose_moments(NUM_MOMENTS)
    _plot_moments(upper, list(upper.subplots(1, NUM_MOMENTS)), path, moments)
    for component, axes in enumerate(lower.subplots(1, size)):
        _plot_component(axes, path, component, moments)
        show_steps(axes, [folder.experiment().steps_per_iteration])
    distance, floor = path.distance_to_target((0, -1))
    legend = (
        f"{_ABOVE}{'' if path.mean is None else _OUTLINES}\n{_BELOW}\n"
        f"W2 to the target in box widths: {distance[0]:.2f} at first, {distance[-1]:.2f} at last; "
        f"two draws from the target: {floor:.2f}; "
        f"{_arrival_text(path)}"
    )
    note(lower, legend)
    return figure


def draw_contexts_together(folders: list[RunFolder]) -> Figure:
    """Draw the contexts of several runs at a few moments, one row for each."""
    figure = new_figure(10.5, 2.35 * len(folders))
    rows = figure.subfigures(len(folders), 1, squeeze=False)[:, 0]
    names = name_runs(folders, with_problem=True)
    for row, folder, name in zip(rows, folders, names, strict=True):
        row.suptitle(name, x=0.012, ha="left", size=TEXT_SIZE, weight="bold", color=INK)
        path = ContextPath.load(folder)
        if path.contexts.size == 1:
            _plot_strip(row.subplots(), path, folder.experiment().steps_per_iteration)
        else:
            moments = path.choose_moments(NUM_MOMENTS)
            panels = row.subplots(1, NUM_MOMENTS)
            _plot_moments(row, list(panels), path, moments)
    return figure


def _plot_moments(
    figure: Figure | SubFigure, panels: list[Axes], path: ContextPath, moments: list[int]
) -> None:
    """One panel per moment; only the first has a label, only the last a colour bar."""
    contexts = path.contexts
    for axes, row in zip(panels, moments, strict=False):
        _plot_plane(axes, path, row)
        title_moment(axes, path, row)
        axes.set_xlabel(contexts.labels[0], size=SMALL_SIZE, color=INK)
        if axes is not panels[0]:
            axes.set_yticklabels([])
    panels[0].set_ylabel(contexts.labels[1], size=SMALL_SIZE, color=INK)
    for axes in panels[len(moments) :]:
        axes.set_axis_off()
    if contexts.size > 2:
        explain_colours(figure, panels[len(moments) - 1], contexts, contexts.labels[2])


def title_moment(axes: Axes, path: ContextPath, row: int) -> None:
    """Name the iteration of a panel, and say if the contexts arrive at the target then."""
    is_arrival = row == path.arrival and row > 0
    axes.set_title(
        f"iteration {path.iterations[row]}{' (arrival)' if is_arrival else ''}",
        size=SMALL_SIZE, color=TARGET if is_arrival else INK,
    )  # fmt: skip


def explain_colours(
    figure: Figure | SubFigure, axes: Axes, contexts: ContextSpace, label: str
) -> None:
    """Draw a colour bar of the third component beside a panel."""
    beside = axes.inset_axes((1.1, 0.0, 0.08, 1.0))
    bar = figure.colorbar(ScalarMappable(**shades(contexts)), cax=beside, ticks=MaxNLocator(4))
    bar.set_label(label, size=SMALL_SIZE, color=INK)
    bar.ax.tick_params(labelsize=SMALL_SIZE, length=2, color=QUIET)
    bar.outline.set_visible(False)


def _plot_plane(axes: Axes, path: ContextPath, row: int) -> None:
    """The first two components at one evaluation, coloured by the third if there is one."""
    contexts = path.contexts
    samples = path.pooled(row, _MOST_POINTS)
    x, y = samples[:, 0], samples[:, 1]
    scatter = partial(axes.scatter, x, y, s=9, alpha=0.7, linewidth=0, zorder=3, clip_on=False)
    if contexts.size > 2:
        scatter(c=samples[:, 2], **shades(contexts))
    else:
        scatter(color=BLUE)
    if path.mean is not None and path.cholesky is not None:
        gaussians = zip(path.mean[row], path.cholesky[row], strict=True)
        for mean, cholesky in islice(gaussians, 1 if row == 0 else _MOST_ELLIPSES):
            axes.add_patch(ellipse_of(mean[:2], cholesky[:2, :2]))
    _mark_target(axes, target_points(contexts)[:, :2])
    _frame(axes, contexts)


def shades(contexts: ContextSpace) -> Shades:
    """Return colours of the third component: viridis without its end, which is faint on white."""
    colours = colormaps["viridis"](np.linspace(0, 0.88))
    return {
        "cmap": LinearSegmentedColormap.from_list("shades", colours),
        "norm": Normalize(contexts.lower[2], contexts.upper[2]),
    }


def ellipse_of(mean: Array, cholesky: Array) -> Ellipse:
    """Return the outline of a Gaussian at two standard deviations."""
    values, vectors = np.linalg.eigh(cholesky @ cholesky.T)
    width, height = 2.0 * _ELLIPSE_RADIUS * np.sqrt(np.maximum(values, 0.0))
    angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
    return Ellipse(
        (mean[0], mean[1]), width, height, angle=angle, fill=False, edgecolor=INK, linewidth=0.6,
        alpha=0.35, zorder=1,
    )  # fmt: skip


def _mark_target(axes: Axes, target: Array) -> None:
    size = 15 if len(target) == 1 else 5
    axes.plot(
        *target.T, "*", color=TARGET, markersize=size, markeredgewidth=0, zorder=2.5, clip_on=False
    )  # fmt: skip


def target_points(contexts: ContextSpace) -> Array:
    """Return the mean of a Gaussian target, draws [N, C] from any other target."""
    if isinstance(contexts.target, Gaussian):
        return contexts.clip(contexts.target.mean)[None]
    return contexts.sample_target(np.random.default_rng(0), _NUM_TARGETS)


def _frame(axes: Axes, contexts: ContextSpace) -> None:
    """Set the limits of the axes to the box of contexts."""
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


def _plot_component(axes: Axes, path: ContextPath, component: int, moments: list[int]) -> None:
    """Mean and standard deviation of one component over all iterations."""
    contexts, x = path.contexts, path.iterations
    samples = path.samples[..., component]
    mean, std = samples.mean(axis=(1, 2)), samples.std(axis=(1, 2))
    axes.fill_between(x, mean - std, mean + std, color=BLUE, alpha=0.18, linewidth=0)
    if samples.shape[1] > 1:
        axes.plot(x, samples.mean(axis=2), color=BLUE, linewidth=0.6, alpha=0.35)
    axes.plot(x, mean, color=BLUE, linewidth=2.2, label="mean")
    axes.plot(
        x[moments], mean[moments], "o", color=BLUE, markersize=5, markeredgecolor="white",
        clip_on=False, zorder=4,
    )  # fmt: skip
    tidy(axes, "iteration", contexts.labels[component])
    _target_line(axes, path, component)
    _arrival_line(axes, path)


def _plot_strip(axes: Axes, path: ContextPath, steps_per_iteration: int) -> None:
    """Contexts with a single component, in one panel over all iterations."""
    most = max(_MOST_POINTS * NUM_MOMENTS // len(path.iterations), 20)
    for row, iteration in enumerate(path.iterations):
        points = path.pooled(row, most)[:, 0]
        axes.scatter(
            np.full(len(points), iteration),
            points,
            s=6,
            color=BLUE,
            alpha=0.35,
            linewidth=0,
            clip_on=False,
        )
    axes.plot(path.iterations, path.samples.mean(axis=(1, 2, 3)), color=INK, linewidth=1.8)
    tidy(axes, "iteration", path.contexts.labels[0])
    title = f"{_STRIP} · {_arrival_text(path)}"
    axes.set_title(title, loc="left", size=SMALL_SIZE, color=QUIET)
    _target_line(axes, path, 0)
    _arrival_line(axes, path)
    show_steps(axes, [steps_per_iteration])


def _arrival_line(axes: Axes, path: ContextPath) -> None:
    if path.arrival:
        x = path.iterations[path.arrival]
        axes.axvline(x, color=TARGET, linewidth=1.0, linestyle=":", zorder=2)


def _arrival_text(path: ContextPath) -> str:
    if path.arrival is None:
        return "not arrived"
    if path.arrival == 0:
        return "at the target from the start"
    return f"dotted: arrival, iteration {path.iterations[path.arrival]}"


def _target_line(axes: Axes, path: ContextPath, component: int) -> None:
    """Mark the target, and set the limits of the axis to the bounds of the component."""
    contexts = path.contexts
    targets = target_points(contexts)[:, component]
    low, high = contexts.lower[component], contexts.upper[component]
    margin = _MARGIN * (high - low)
    axes.set(ylim=(low - margin, high + margin), xlim=(0, max(int(path.iterations[-1]), 1)))
    opacity = 1.0 if len(targets) == 1 else 0.15
    for target in targets:
        axes.axhline(
            target, color=TARGET, linewidth=1.4, linestyle=(0, (4, 2)), zorder=3, alpha=opacity
        )  # fmt: skip
    axes.annotate(
        "target", (1.0, targets[0]), (5, 0), xycoords=("axes fraction", "data"),
        textcoords="offset points", va="center", size=SMALL_SIZE, color=TARGET,
    )  # fmt: skip
