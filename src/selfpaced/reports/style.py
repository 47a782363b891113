"""What all figures have in common: colours, sizes, quiet axes, and how a picture is saved."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase

from selfpaced.runs.storage import write_bytes

# Okabe and Ito's palette, which colour-blind people can tell apart.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#AA4D86"
ORANGE, SKY, BLACK = "#D98C00", "#3D9FDB", "#333333"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
INK, QUIET, FAINT = "#222222", "#6B6B6B", "#D9D9D9"
TARGET = VERMILION  # the target looks the same in every figure

TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 12.0, 10.0, 9.0
DOTS_PER_INCH = 150


class FigureWithTable(NamedTuple):
    """A figure and the numbers in it, for those who want to go on calculating."""

    figure: Figure
    header: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """An empty figure, sizes in inches, the title flush left."""
    figure = Figure((width, height), dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    if title:
        figure.suptitle(title, x=0.012, ha="left", size=TITLE_SIZE, weight="bold", color=INK)
    return figure


def note(figure: FigureBase, text: str) -> None:
    """What the marks mean, below everything."""
    figure.supxlabel(text, x=0.012, ha="left", size=SMALL_SIZE, color=QUIET, linespacing=1.4)


def tidy(axes: Axes, x_label: str = "", y_label: str = "") -> None:
    """Take away what is not data."""
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.8)
    axes.tick_params(colors=QUIET, labelcolor=INK, labelsize=SMALL_SIZE, length=3, width=0.8)
    axes.set_xlabel(x_label, size=TEXT_SIZE, color=INK)
    axes.set_ylabel(y_label, size=TEXT_SIZE, color=INK)


def colour_of(index: int) -> str:
    """The colour of the run with this place in a comparison."""
    return PALETTE[index % len(PALETTE)]


def dashes_of(index: int) -> str:
    """Solid; other lines only for runs beyond the number of colours."""
    return ("-", "--", ":", "-.")[index // len(PALETTE) % 4]


def save(figure: Figure, path: Path) -> Path:
    """Write the picture, all of it or nothing; returns the path."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    write_bytes(path, buffer.getvalue())
    return path
