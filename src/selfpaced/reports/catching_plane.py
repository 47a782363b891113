"""The contexts of ball catching as points that balls pass, beside the arm and its reach."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Arc, Polygon, Rectangle

from selfpaced.contexts import ContextSpace
from selfpaced.environments.ball_catching import passing_points
from selfpaced.records import Array
from selfpaced.reports.context_path import ContextPath
from selfpaced.reports.curricula import NUM_MOMENTS, explain_colours, shades, title_moment
from selfpaced.reports.names import name_runs, title_run
from selfpaced.reports.problem_figure import ProblemFigure
from selfpaced.reports.style import (
    FAINT,
    INK,
    QUIET,
    SMALL_SIZE,
    TEXT_SIZE,
    VERMILION,
    new_figure,
    note,
)
from selfpaced.runs.folder import RunFolder

MOMENTS = (0, 50, 80, 110, 150, 200)  # of the paper
NEAR = 10  # iterations, fewer than between two moments of the paper
MOST_POINTS = 240  # in one panel

# The initial pose of the arm in the plane (y, z): shoulder, elbow, wrist, net; metres.
ARM = ((0.0, 0.944), (-0.256, 1.433), (-0.270, 1.476), (-0.554, 1.379), (-0.696, 1.330))
REACH = 1.0  # of the centre of the net, from the shoulder
_NET_RADIUS = 0.06
_BASE = (-0.14, 0.6, 0.28, 0.16)  # left, bottom, width, height
_POST = (-0.05, 0.0, 0.10, 0.6)
_Y, _Z = (-1.25, 0.3), (0.0, 2.1)  # limits of the axes
_LEGEND = (
    "view along the throw · dots: points that balls of all seeds pass · outline: all possible "
    "contexts\narm: initial pose, with the net at its end · dashed: reach of the net"
)


def draw_catching_plane(folder: RunFolder) -> Figure:
    """Draw the contexts of one run at a few moments."""
    figure = new_figure(10.5, 3.5, title_run(folder))
    _plot_moments(figure, ContextPath.load(folder))
    note(figure, _LEGEND)
    return figure


def draw_catching_planes(folders: list[RunFolder]) -> Figure:
    """Draw the contexts of several runs, one row for each."""
    num = len(folders)
    figure = new_figure(10.5, 3.1 * num + 0.45)
    ratios = [3.1] * num + [0.45]
    *rows, below = figure.subfigures(num + 1, 1, squeeze=False, height_ratios=ratios)[:, 0]
    for row, folder, name in zip(rows, folders, name_runs(folders, True), strict=True):
        row.suptitle(name, x=0.012, ha="left", size=TEXT_SIZE, weight="bold", color=INK)
        _plot_moments(row, ContextPath.load(folder))
    below.text(0.012, 0.5, _LEGEND, va="center", size=SMALL_SIZE, color=QUIET, linespacing=1.4)
    return figure


CATCHING_PLANE = ProblemFigure("catching_plane", draw_catching_plane, draw_catching_planes)


def choose_moments(path: ContextPath) -> list[int]:
    """Return the rows nearest to the paper's iterations; others if a run has none that near."""
    distances = np.abs(path.iterations[:, None] - np.array(MOMENTS))
    rows = distances.argmin(axis=0).tolist()
    are_near = distances.min(axis=0).max() <= NEAR and len(set(rows)) == len(MOMENTS)
    return rows if are_near else path.choose_moments(NUM_MOMENTS)


def outline_of(contexts: ContextSpace, num: int = 40) -> Array:
    """Return the edge of the context space in the plane [N, 2], which is part of a ring."""
    (low, near, _), (high, far, _) = contexts.lower, contexts.upper
    angles = np.linspace(low, high, num)
    inner, outer = (np.stack([angles, np.full(num, radius)], axis=1) for radius in (near, far))
    return passing_points(np.concatenate([inner, outer[::-1]]))


def _plot_moments(figure: Figure | SubFigure, path: ContextPath) -> None:
    panels, moments = list(figure.subplots(1, NUM_MOMENTS)), choose_moments(path)
    for axes, row in zip(panels, moments, strict=False):
        _plot_scene(axes, path.contexts)
        samples = path.pooled(row, MOST_POINTS)
        y, z = passing_points(samples).T
        axes.scatter(
            y, z, c=samples[:, 2], s=9, alpha=0.8, linewidth=0, zorder=4, **shades(path.contexts)
        )
        title_moment(axes, path, row)
        axes.set_xlabel("y in m", size=SMALL_SIZE, color=INK)
        if axes is not panels[0]:
            axes.set_yticklabels([])
    panels[0].set_ylabel("height z in m", size=SMALL_SIZE, color=INK)
    for axes in panels[len(moments) :]:
        axes.set_axis_off()
    explain_colours(figure, panels[len(moments) - 1], path.contexts, "distance of the throw in m")


def _plot_scene(axes: Axes, contexts: ContextSpace) -> None:
    """The ground, the arm, its reach, and the region of possible contexts."""
    axes.add_patch(Polygon(outline_of(contexts), facecolor="none", edgecolor=QUIET, linewidth=0.8))
    (y, z), diameter = ARM[0], 2 * REACH
    axes.add_patch(
        Arc((y, z), diameter, diameter, theta1=0, theta2=180 + 71, color=VERMILION, linewidth=0.9,
            linestyle=(0, (4, 2)), zorder=2)
    )  # fmt: skip
    for left, bottom, width, height in (_BASE, _POST):
        axes.add_patch(Rectangle((left, bottom), width, height, color=FAINT, linewidth=0))
    axes.add_patch(Rectangle((-0.09, 0.76), 0.18, 0.2, color=FAINT, linewidth=0))
    joints = np.array(ARM)
    axes.plot(*joints.T, color="#A8A8A8", linewidth=3.5, solid_capstyle="round", zorder=1)
    along = (joints[-1] - joints[-2]) / np.linalg.norm(joints[-1] - joints[-2])
    net = np.stack([joints[-1] - _NET_RADIUS * along, joints[-1] + _NET_RADIUS * along])
    axes.plot(*net.T, color="#12858C", linewidth=4.0, solid_capstyle="butt", zorder=1)
    axes.axhline(0.0, color=QUIET, linewidth=1.6)
    axes.set(xlim=_Y, ylim=_Z, aspect="equal", xticks=(-1, 0), yticks=(0, 1, 2))
    axes.tick_params(colors=QUIET, labelcolor=INK, labelsize=SMALL_SIZE, length=2, width=0.8)
    for spine in axes.spines.values():
        spine.set_color(FAINT)
