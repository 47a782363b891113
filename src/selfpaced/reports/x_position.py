"""How far the ant comes: its x-position over time, with the final policies (paper, Section 5.2)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from selfpaced.environments.ant_gate import BEHIND_WALL, GOAL, WALL
from selfpaced.records import Array
from selfpaced.reports.names import name_run, name_runs, title_run
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
from selfpaced.reports.target_episodes import run_target_episodes
from selfpaced.runs.folder import RunFolder

NUM_EPISODES = 200  # of all seeds together, or a few more to treat them alike
STEPS_PER_SECOND = 20
HEADER = ("run", "seed", "episodes", "median_final_x", "share_behind_wall", "share_at_goal")
_WALL_THICKNESS = 0.2
_COLUMNS = 4
_TITLE_WIDTH = 34  # characters above a small panel
_LEGEND = (
    "blue: single episodes on the target, to where they end\nblack: median, fallen ants stay "
    "where they fell"
)


@dataclass(frozen=True)
class Walks:
    """Episodes of all seeds: x-positions [T + 1, S, M], and how many steps each took [S, M]."""

    seeds: tuple[int, ...]
    x: Array  # the last position repeats after the end
    length: Array

    @property
    def final(self) -> Array:
        """Where the episodes ended [S, M]."""
        return self.x[-1]


def draw_x_position(folder: RunFolder) -> FigureWithTable:
    """The walks of one run."""
    walks = roll_out(folder)
    figure = new_figure(7.5, 4.6, title_run(folder))
    axes = figure.subplots()
    _plot_walks(axes, walks)
    _frame(axes, [walks])
    note(figure, _LEGEND)
    return FigureWithTable(figure, HEADER, tabulate(name_run(folder), walks))


def draw_x_positions(folders: list[RunFolder]) -> FigureWithTable:
    """The same for several runs, side by side."""
    columns = min(len(folders), _COLUMNS)
    rows = -(-len(folders) // columns)
    figure = new_figure(max(3.4 * columns, 5.0), 3.6 * rows + 0.3)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    several, table = [roll_out(folder) for folder in folders], []
    names = name_runs(folders, with_problem=False)
    for axes, walks, name in zip(panels, several, names, strict=False):
        _plot_walks(axes, walks)
        title = f"{textwrap.fill(name, _TITLE_WIDTH)}\n"  # a line for the shares
        axes.set_title(title, loc="left", size=TEXT_SIZE, weight="bold", color=INK)
        table += tabulate(name, walks)
    _frame(panels[0], several)  # the axes are shared
    for axes in panels[len(folders) :]:
        axes.set_axis_off()
    note(figure, _LEGEND)
    return FigureWithTable(figure, HEADER, table)


def roll_out(folder: RunFolder) -> Walks:
    """Let all final policies walk on the target, with their usual randomness."""
    seeds = folder.experiment().seeds
    episodes = run_target_episodes(folder, -(-NUM_EPISODES // len(seeds)), keep_path=True)
    return Walks(seeds, episodes.path[:, :, 0, :, 0], episodes.length[:, 0])


def shares(final: Array) -> tuple[float, float]:
    """How many of these positions are behind the wall, and how many are as far as it pays."""
    return float((final > BEHIND_WALL).mean()), float((final >= GOAL).mean())


def tabulate(run: str, walks: Walks) -> list[tuple[Any, ...]]:
    """A row for every seed and one for all of them."""
    rows: list[tuple[Any, ...]] = []
    groups: Sequence[tuple[Any, Array]] = [
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
    """Room for all walks, and for the goal even if nobody came there."""
    low = min(float(walks.x.min()) for walks in several)
    high = max(float(walks.x.max()) for walks in several)
    axes.set_ylim(min(low, -0.5), max(high, GOAL) + 0.3)
    axes.set_xlim(0.0, max(len(walks.x) - 1 for walks in several) / STEPS_PER_SECOND)
