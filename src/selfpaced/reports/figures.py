"""All pictures of a run, or of several runs together."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from selfpaced.reports.curricula import draw_contexts, draw_contexts_together
from selfpaced.reports.learning_curves import draw_learning_curve, draw_learning_curves
from selfpaced.reports.style import save
from selfpaced.reports.trajectories import (
    draw_trajectories,
    draw_trajectories_together,
    has_trajectories,
)
from selfpaced.run_folder import RunFolder
from selfpaced.settings import require


def draw_run(folder: RunFolder, out: Path | None = None) -> list[Path]:
    """Draw every figure of one run; returns where they are."""
    figures = {
        "learning_curve": draw_learning_curve(folder),
        "contexts": draw_contexts(folder),
    }
    if has_trajectories(folder):
        figures["trajectories"] = draw_trajectories(folder)
    return _save_all(figures, out or folder.figures)


def draw_together(folders: list[RunFolder], out: Path) -> list[Path]:
    """Draw several runs on one axis, and their contexts and trajectories side by side."""
    require(len(folders) > 0, "a comparison wants at least one run folder, got none")
    figures = {
        "learning_curves": draw_learning_curves(folders),
        "contexts": draw_contexts_together(folders),
    }
    moving = [folder for folder in folders if has_trajectories(folder)]
    if moving:
        figures["trajectories"] = draw_trajectories_together(moving)
    return _save_all(figures, out)


def _save_all(figures: dict[str, Figure], out: Path) -> list[Path]:
    """Nothing is written before everything could be drawn."""
    return [save(figure, out / f"{name}.png") for name, figure in figures.items()]
