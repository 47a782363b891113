"""The common style of all figures: colours, sizes and axes, and how a figure is saved."""

from __future__ import annotations

import io
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import EngFormatter, MaxNLocator

from selfpaced.runs.storage import write_bytes

# Okabe and Ito's palette: its colours can be told apart by colour-blind readers.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#AA4D86"
ORANGE, SKY, BLACK = "#D98C00", "#3D9FDB", "#333333"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
INK, QUIET, FAINT = "#222222", "#6B6B6B", "#D9D9D9"
TARGET = VERMILION  # the target looks the same in every figure

TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 12.0, 10.0, 9.0
DOTS_PER_INCH = 150


class FigureWithTable(NamedTuple):
    """A figure and its numbers, which are written as a table beside it."""

    figure: Figure
    header: tuple[str, ...]
    rows: list[tuple[object, ...]]


Drawing = Figure | FigureWithTable


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return an empty figure with a left-aligned title; sizes are in inches."""
    figure = Figure((width, height), dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    if title:
        figure.suptitle(title, x=0.012, ha="left", size=TITLE_SIZE, weight="bold", color=INK)
    return figure


def note(figure: FigureBase, text: str) -> None:
    """Explain the marks below everything else."""
    figure.supxlabel(text, x=0.012, ha="left", size=SMALL_SIZE, color=QUIET, linespacing=1.4)


def tidy(axes: Axes, x_label: str = "", y_label: str = "") -> None:
    """Label the axes, and remove lines that carry no data."""
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.8)
    axes.tick_params(colors=QUIET, labelcolor=INK, labelsize=SMALL_SIZE, length=3, width=0.8)
    axes.set_xlabel(x_label, size=TEXT_SIZE, color=INK)
    axes.set_ylabel(y_label, size=TEXT_SIZE, color=INK)


def show_steps(axes: Axes, steps_per_iteration: Collection[int]) -> None:
    """Label an axis of iterations by environment steps, if all runs on it have as many in each."""
    if len(set(steps_per_iteration)) != 1:
        axes.set_xlabel("iteration", size=TEXT_SIZE, color=INK)
        return
    steps = next(iter(steps_per_iteration))
    low, high = steps * axes.get_xlim()[0], steps * axes.get_xlim()[1]
    nearby = MaxNLocator(6, steps=(1, 2, 5, 10)).tick_values(low, high)
    ticks = [tick for tick in nearby if low <= tick <= high]
    axes.set_xticks([tick / steps for tick in ticks], [EngFormatter(sep="")(t) for t in ticks])
    axes.set_xlabel("environment steps of a seed", size=TEXT_SIZE, color=INK)


def colour_of(index: int) -> str:
    """Return the colour of the run with this index in a comparison."""
    return PALETTE[index % len(PALETTE)]


def dashes_of(index: int) -> str:
    """Return a solid line; other lines follow once the colours are used up."""
    return ("-", "--", ":", "-.")[index // len(PALETTE) % 4]


def save(figure: Figure, path: Path) -> Path:
    """Write the figure atomically; return the path."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    write_bytes(path, buffer.getvalue())
    return path
