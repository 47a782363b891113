"""Trajectories of the point mass in target contexts, with the final policies."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle

from selfpaced.environments.point_mass import ARENA, GOAL, GOAL_RADIUS, START
from selfpaced.records import Array
from selfpaced.reports.curricula import target_points
from selfpaced.reports.names import name_runs, title_run
from selfpaced.reports.problem_figure import ProblemFigure, final_episodes
from selfpaced.reports.style import BLUE, INK, QUIET, SMALL_SIZE, TEXT_SIZE, VERMILION, new_figure
from selfpaced.runs.folder import RunFolder

# outcome -> colour, and the mark at the end of the path
OUTCOMES = {
    "reached the goal": (BLUE, "o"),
    "hit the wall": (VERMILION, "x"),
    "ended elsewhere": (QUIET, "o"),
}
_COLUMNS = 4
_TITLE_WIDTH = 32  # characters above a small panel
_WALL = 0.16  # drawn thickness; the simulated wall has none


@dataclass(frozen=True)
class Trajectory:
    """The positions [T, 2] of one episode and its outcome."""

    positions: Array
    outcome: str


def draw_trajectories(folder: RunFolder) -> Figure:
    """Draw one episode of every seed of a run."""
    figure = new_figure(5.2, 5.6, title_run(folder, "\n"))
    axes = figure.subplots()
    trajectories = roll_out(folder)
    _plot_arena(axes, folder)
    _plot_trajectories(axes, trajectories)
    _count(axes, trajectories, columns=len(OUTCOMES))
    return figure


def draw_trajectories_together(folders: list[RunFolder]) -> Figure:
    """Draw one episode of every seed of several runs, side by side."""
    columns = min(len(folders), _COLUMNS)
    rows = -(-len(folders) // columns)
    figure = new_figure(max(2.9 * columns, 5.0), 3.7 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    names = name_runs(folders, with_problem=True, separator="\n")
    for axes, folder, name in zip(panels, folders, names, strict=False):
        trajectories = roll_out(folder)
        _plot_arena(axes, folder)
        _plot_trajectories(axes, trajectories)
        lines = "\n".join(textwrap.fill(line, _TITLE_WIDTH) for line in name.splitlines())
        axes.set_title(lines, loc="left", size=TEXT_SIZE, weight="bold", color=INK)
        _count(axes, trajectories, columns=1)
    for axes in panels[len(folders) :]:
        axes.set_axis_off()
    return figure


TRAJECTORIES = ProblemFigure("trajectories", draw_trajectories, draw_trajectories_together)


def roll_out(folder: RunFolder) -> list[Trajectory]:
    """Run one stochastic episode of every final policy in a target context."""
    episodes = final_episodes(folder, 1, iteration=0, keep_path=True)
    assert episodes.path is not None
    paths = zip(episodes.path[:, 0, 0], episodes.length[:, 0, 0], strict=True)
    return [judge(path[: length + 1]) for path, length in paths]


def judge(observations: Array) -> Trajectory:
    """Return positions and outcome of an episode from its observations [T, O]."""
    positions = observations[:, (0, 2)]
    last, velocity = positions[-1], observations[-1, (1, 3)]
    if last[1] == 0.0 and not velocity.any():  # a crash freezes the mass at the wall
        return Trajectory(positions, "hit the wall")
    at_goal = np.linalg.norm(last - np.array(GOAL)) < GOAL_RADIUS
    return Trajectory(positions, "reached the goal" if at_goal else "ended elsewhere")


def walls(gates: Array) -> list[tuple[float, float]]:
    """Return left and right end of the walls between gates, given as rows (position, width)."""
    edges = [-ARENA]
    for position, width in sorted(gates.tolist()):
        left, right = position - width / 2, position + width / 2
        if left < edges[-1]:  # overlaps the gate before
            edges[-1] = max(edges[-1], right)
        else:
            edges += [left, right]
    return list(zip(edges[::2], [*edges[1::2], ARENA], strict=True))


def _plot_arena(axes: Axes, folder: RunFolder) -> None:
    contexts = folder.experiment().resolved.contexts
    for low, high in walls(target_points(contexts)[:, :2]):
        axes.add_patch(Rectangle((low, -_WALL / 2), high - low, _WALL, color=INK, linewidth=0))
    axes.add_patch(Circle(GOAL, GOAL_RADIUS, facecolor="none", edgecolor=INK, linewidth=1.0))
    axes.plot(*START, "s", color=INK, markersize=6, zorder=4)
    (x, y), space = START, 0.2
    axes.text(x, y + space, "start", size=SMALL_SIZE, color=INK, ha="center", va="bottom")
    (x, y), space = GOAL, GOAL_RADIUS + 0.1
    axes.text(x, y - space, "goal", size=SMALL_SIZE, color=INK, ha="center", va="top")
    axes.set(xlim=(-ARENA, ARENA), ylim=(-ARENA, ARENA), aspect="equal", xticks=(), yticks=())
    for spine in axes.spines.values():
        spine.set_color(QUIET)


def _plot_trajectories(axes: Axes, trajectories: list[Trajectory]) -> None:
    for trajectory in trajectories:
        colour, mark = OUTCOMES[trajectory.outcome]
        x, y = trajectory.positions.T
        axes.plot(x, y, color=colour, linewidth=1.2, alpha=0.7, zorder=2)
        axes.plot(
            x[-1], y[-1], mark, color=colour, markersize=7 if mark == "x" else 3.5,
            markeredgewidth=2.0 if mark == "x" else 0, clip_on=False, zorder=5,
        )  # fmt: skip


def _count(axes: Axes, trajectories: list[Trajectory], columns: int) -> None:
    """Count the outcomes below the arena."""
    outcomes = [trajectory.outcome for trajectory in trajectories]
    entries = [
        Line2D(
            [], [], color=colour, marker=mark, linewidth=1.6, markersize=6 if mark == "x" else 4,
            markeredgewidth=2.0 if mark == "x" else 0, label=f"{outcomes.count(outcome)} {outcome}",
        )
        for outcome, (colour, mark) in OUTCOMES.items()
        if outcome in outcomes
    ]  # fmt: skip
    axes.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(0.0, 0.0), borderaxespad=0.3,
        borderpad=0.2, frameon=False, ncols=columns, fontsize=SMALL_SIZE, labelcolor=INK,
        handlelength=1.6, columnspacing=1.4,
    )  # fmt: skip
