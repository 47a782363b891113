"""All figures of a run, or of several runs together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from selfpaced.errors import MissingPartError, require
from selfpaced.reports.curricula import draw_contexts, draw_contexts_together
from selfpaced.reports.learning_curves import draw_learning_curve, draw_learning_curves
from selfpaced.reports.problem_figure import find_figure
from selfpaced.reports.style import Drawing, FigureWithTable, save
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.storage import write_csv

NamedDrawing = tuple[str, Callable[[], Drawing]]


def draw_run(folder: RunFolder, out: Path | None = None) -> list[Path]:
    """Draw every figure of one run; return the paths of the files.

    Args:
        folder: the run.
        out: folder for the files; None takes the run's own `figures`.

    Raises:
        MissingPartError: an optional dependency of some figures is missing; the others are drawn.
        SelfpacedError: a file of the run is missing or damaged; nothing is drawn.
    """
    drawings: list[NamedDrawing] = [
        ("learning_curve", partial(draw_learning_curve, folder)),
        ("contexts", partial(draw_contexts, folder)),
    ]
    for figure in map(find_figure, folder.experiment().resolved.figures):
        drawings.append((figure.name, partial(figure.draw, folder)))
    return _draw_all(drawings, out or folder.figures)


def draw_together(folders: list[RunFolder], out: Path) -> list[Path]:
    """Draw several runs on common axes, and the figures of their problems side by side.

    Args:
        folders: the runs, at least one.
        out: folder for the files.

    Raises:
        MissingPartError: an optional dependency of some figures is missing; the others are drawn.
        SelfpacedError: a file of a run is missing or damaged; nothing is drawn.
    """
    require(len(folders) > 0, "folders must hold at least one run folder, got none")
    drawings: list[NamedDrawing] = [
        ("learning_curves", partial(draw_learning_curves, folders)),
        ("contexts", partial(draw_contexts_together, folders)),
    ]
    for place, runs in by_figure(folders).items():
        figure = find_figure(place)
        drawings.append((figure.name, partial(figure.draw_together, runs)))
    return _draw_all(drawings, out)


def by_figure(folders: list[RunFolder]) -> dict[str, list[RunFolder]]:
    """Return the runs whose problems have a figure, for each figure."""
    runs: dict[str, list[RunFolder]] = {}
    for folder in folders:
        for place in folder.experiment().resolved.figures:
            runs.setdefault(place, []).append(folder)
    return runs


def _draw_all(drawings: list[NamedDrawing], out: Path) -> list[Path]:
    """Write the files after everything is drawn, except figures that lack a dependency."""
    names = [name for name, _ in drawings]
    twice = sorted({name for name in names if names.count(name) > 1})
    require(not twice, f"names of figures must differ, got {', '.join(twice)} more than once")
    figures: dict[str, Drawing] = {}
    lacking = []
    for name, draw in drawings:
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
