"""The x-position of the ant over time with the final policies (paper, Section 5.2)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from selfpaced.environments.ant_gate import BEHIND_WALL, GOAL, WALL
from selfpaced.records import Array
from selfpaced.reports.names import name_run, name_runs, title_run
from selfpaced.reports.problem_figure import ProblemFigure, final_episodes
from selfpaced.reports.style import (
    BLUE,
    FAINT,
    INK,
    QUIET,
    SMALL_SIZE,
    TARGET,
    TEXT_SIZE,
    FigureWithTable,
    new_figure,
    note,
    tidy,
)
from selfpaced.runs.folder import RunFolder

NUM_EPISODES = 200  # of all seeds together, rounded up to equally many of each
STEPS_PER_SECOND = 20
HEADER = ("run", "seed", "episodes", "median_final_x", "share_behind_wall", "share_at_goal")
_WALL_THICKNESS = 0.2
_COLUMNS = 4
_TITLE_WIDTH = 34  # characters above a small panel
_LEGEND = (
    "blue: single episodes on the target, up to their end\nblack: median, with fallen ants at "
    "their last position"
)


@dataclass(frozen=True)
class Walks:
    """Episodes of all seeds: x-positions [T + 1, S, M] and numbers of steps [S, M]."""

    seeds: tuple[int, ...]
    x: Array  # the last position repeats after the end
    length: Array

    @property
    def final(self) -> Array:
        """The last positions [S, M]."""
        last: Array = self.x[-1]
        return last


def draw_x_position(folder: RunFolder) -> FigureWithTable:
    """Draw the episodes of one run."""
    walks = roll_out(folder)
    figure = new_figure(7.5, 4.6, title_run(folder))
    axes = figure.subplots()
    _plot_walks(axes, walks)
    _frame(axes, [walks])
    note(figure, _LEGEND)
    return FigureWithTable(figure, HEADER, tabulate(name_run(folder), walks))


def draw_x_positions(folders: list[RunFolder]) -> FigureWithTable:
    """Draw the episodes of several runs side by side."""
    columns = min(len(folders), _COLUMNS)
    rows = -(-len(folders) // columns)
    figure = new_figure(max(3.4 * columns, 5.0), 3.6 * rows + 0.3)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    several = [roll_out(folder) for folder in folders]
    table: list[tuple[object, ...]] = []
    names = name_runs(folders, with_problem=False)
    for axes, walks, name in zip(panels, several, names, strict=False):
        _plot_walks(axes, walks)
        title = f"{textwrap.fill(name, _TITLE_WIDTH)}\n"  # the empty line is for the shares
        axes.set_title(title, loc="left", size=TEXT_SIZE, weight="bold", color=INK)
        table += tabulate(name, walks)
    _frame(panels[0], several)  # the axes are shared
    for axes in panels[len(folders) :]:
        axes.set_axis_off()
    note(figure, _LEGEND)
    return FigureWithTable(figure, HEADER, table)


X_POSITION = ProblemFigure("x_position", draw_x_position, draw_x_positions)


def roll_out(folder: RunFolder) -> Walks:
    """Run stochastic episodes of all final policies on the target."""
    seeds = folder.counted_seeds()
    episodes = final_episodes(folder, -(-NUM_EPISODES // len(seeds)), keep_path=True)
    assert episodes.path is not None
    x = np.moveaxis(episodes.path[:, 0, :, :, 0], -1, 0)
    return Walks(seeds, x, episodes.length[:, 0])


def shares(final: Array) -> tuple[float, float]:
    """Return the shares of positions behind the wall, and of those with full reward."""
    return float((final > BEHIND_WALL).mean()), float((final >= GOAL).mean())


def tabulate(run: str, walks: Walks) -> list[tuple[object, ...]]:
    """Return a row for every seed and one for all of them."""
    rows: list[tuple[object, ...]] = []
    groups: Sequence[tuple[int | str, Array]] = [
        *zip(walks.seeds, walks.final, strict=True),
        ("all", walks.final),
    ]
    for seed, final in groups:
        rows.append((run, seed, final.size, float(np.median(final)), *shares(final)))
    return rows


def _plot_walks(axes: Axes, walks: Walks) -> None:
    time = np.arange(len(walks.x)) / STEPS_PER_SECOND
    every_x = walks.x.reshape(len(time), -1)
    ends = walks.length.ravel()
    lines = [np.stack([time, x], axis=1)[: end + 1] for x, end in zip(every_x.T, ends, strict=True)]
    axes.add_collection(LineCollection(lines, colors=BLUE, linewidths=0.5, alpha=0.4, zorder=2))
    axes.plot(time, np.median(every_x, axis=1), color=INK, linewidth=2.4, label="median", zorder=3)
    half = _WALL_THICKNESS / 2
    axes.axhspan(WALL - half, WALL + half, color=FAINT, linewidth=0, zorder=1)
    axes.axhline(GOAL, color=TARGET, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    for x, word, colour in ((WALL, "wall", QUIET), (GOAL, "full reward", TARGET)):
        axes.annotate(
            word, (1.0, x), (4, 0), xycoords=("axes fraction", "data"), va="center",
            textcoords="offset points", size=SMALL_SIZE, color=colour,
        )  # fmt: skip
    behind, at_goal = shares(walks.final)
    axes.text(
        0.0, 1.02, f"{behind:.0%} end at x > {BEHIND_WALL}, {at_goal:.0%} at x ≥ {GOAL}",
        transform=axes.transAxes, size=SMALL_SIZE, color=INK, va="bottom",
    )  # fmt: skip
    tidy(axes, "time in s", "x-position in m")


def _frame(axes: Axes, several: list[Walks]) -> None:
    """Set limits that fit all walks and the goal."""
    low = min(float(walks.x.min()) for walks in several)
    high = max(float(walks.x.max()) for walks in several)
    axes.set_ylim(min(low, -0.5), max(high, GOAL) + 0.3)
    axes.set_xlim(0.0, max(len(walks.x) - 1 for walks in several) / STEPS_PER_SECOND)
