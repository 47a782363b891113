"""All pictures of a run, or of several runs together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.environments.point_mass import PointMass
from selfpaced.errors import MissingPartError, require
from selfpaced.problems import find_problem
from selfpaced.reports.catching_plane import draw_catching_plane, draw_catching_planes
from selfpaced.reports.catching_rate import draw_catching_rate, draw_catching_rates
from selfpaced.reports.curricula import draw_contexts, draw_contexts_together
from selfpaced.reports.learning_curves import draw_learning_curve, draw_learning_curves
from selfpaced.reports.style import FigureWithTable, save
from selfpaced.reports.trajectories import draw_trajectories, draw_trajectories_together
from selfpaced.reports.x_position import draw_x_position, draw_x_positions
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.storage import write_csv

Drawing = Figure | FigureWithTable


class Special(NamedTuple):
    """A figure that only one kind of environment has."""

    name: str
    draw: Callable[[RunFolder], Drawing]
    draw_together: Callable[[list[RunFolder]], Drawing]


SPECIAL: dict[type, tuple[Special, ...]] = {
    PointMass: (Special("trajectories", draw_trajectories, draw_trajectories_together),),
    BallCatching: (
        Special("catching_plane", draw_catching_plane, draw_catching_planes),
        Special("catching_rate", draw_catching_rate, draw_catching_rates),
    ),
    AntGate: (Special("x_position", draw_x_position, draw_x_positions),),
}


def draw_run(folder: RunFolder, out: Path | None = None) -> list[Path]:
    """Draw every figure of one run; returns where they are."""
    drawers: dict[str, Callable[[], Drawing]] = {
        "learning_curve": partial(draw_learning_curve, folder),
        "contexts": partial(draw_contexts, folder),
    }
    for special in SPECIAL.get(_kind(folder), ()):
        drawers[special.name] = partial(special.draw, folder)
    return _draw_all(drawers, out or folder.figures)


def draw_together(folders: list[RunFolder], out: Path) -> list[Path]:
    """Draw several runs on one axis, and what is special about each environment side by side."""
    require(len(folders) > 0, "a comparison wants at least one run folder, got none")
    drawers: dict[str, Callable[[], Drawing]] = {
        "learning_curves": partial(draw_learning_curves, folders),
        "contexts": partial(draw_contexts_together, folders),
    }
    for kind, specials in SPECIAL.items():
        concerned = [folder for folder in folders if _kind(folder) is kind]
        for special in specials if concerned else ():
            drawers[special.name] = partial(special.draw_together, concerned)
    return _draw_all(drawers, out)


def _kind(folder: RunFolder) -> type:
    return type(find_problem(folder.experiment().problem).environment)


def _draw_all(drawers: dict[str, Callable[[], Drawing]], out: Path) -> list[Path]:
    """Nothing is written before everything could be drawn that this computer has the parts for."""
    figures, lacking = {}, []
    for name, draw in drawers.items():
        try:
            figures[name] = draw()
        except MissingPartError as error:
            lacking.append(f"{name}.png is left out: {error}")
    paths = [path for name, drawing in figures.items() for path in _save(drawing, out / name)]
    if lacking:
        drawn = ", ".join(map(str, paths))
        raise MissingPartError("\n".join([*lacking, f"drawn: {drawn}"]))
    return paths


def _save(drawing: Drawing, path: Path) -> list[Path]:
    picture = path.with_suffix(".png")
    if not isinstance(drawing, FigureWithTable):
        return [save(drawing, picture)]
    table = path.with_suffix(".csv")
    save(drawing.figure, picture)
    write_csv(table, drawing.header, drawing.rows)
    return [picture, table]
