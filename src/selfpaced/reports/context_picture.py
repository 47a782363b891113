"""Small pictures of what a teacher draws contexts from, made in milliseconds for loggers.

Axes, labels and target are drawn once; the contexts of a moment are dots on a copy of that.
"""

from __future__ import annotations

import io
from itertools import combinations, islice
from threading import Lock
from typing import final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image, ImageDraw, ImageFont

from selfpaced.contexts import ContextSpace
from selfpaced.records import Array
from selfpaced.reports.curricula import target_points
from selfpaced.reports.style import BLUE, INK, QUIET, SMALL_SIZE, TARGET

_MAX_PANELS = 3  # pairs of components
_SIZE, _DOTS_PER_INCH = 2.6, 110  # of a panel, in inches
_DOT = 3.0  # radius in pixels
_DEVIATIONS = 2.0  # at which a Gaussian is outlined
_LOCK = Lock()  # matplotlib is not made for several threads


@final
class ContextPicture:
    """Draws contexts of one context space, with one panel per pair of components."""

    def __init__(self, contexts: ContextSpace) -> None:
        """Draw everything that stays the same."""
        self._pairs = _pairs(contexts.size)
        width = _SIZE * len(self._pairs)
        figure = Figure((width, _SIZE + 0.2), dpi=_DOTS_PER_INCH, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        panels = list(figure.subplots(1, len(self._pairs), squeeze=False)[0])
        panels[0].set_title(" ", size=SMALL_SIZE)  # room for the caption
        for axes, pair in zip(panels, self._pairs, strict=True):
            _frame(axes, contexts, pair)
        with _LOCK:
            canvas.draw()
        self._background = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())
        self._to_pixels = [axes.transData.transform for axes in panels]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._background.size

    def png(self, contexts: dict[str, Array], caption: str) -> bytes:
        """Return a picture of the `contexts` of a logger's row."""
        image = self._background.copy()
        pencil = ImageDraw.Draw(image)
        pencil.text((8, 4), caption, INK, ImageFont.load_default(13))
        dots = contexts.get("particles", contexts["samples"])
        for panel, (x, y) in enumerate(self._pairs):
            for left, top in self._pixels(panel, _plane(dots, x, y)):
                box = (left - _DOT, top - _DOT, left + _DOT, top + _DOT)
                pencil.ellipse(box, fill=BLUE)
            if y is not None and "mean" in contexts:
                outline = self._pixels(panel, _outline(contexts, [x, y]))
                pencil.line([tuple(point) for point in outline.tolist()], INK, 2)
        buffer = io.BytesIO()
        image.quantize(32, Image.Quantize.FASTOCTREE).save(buffer, "PNG", compress_level=3)
        return buffer.getvalue()

    def _pixels(self, panel: int, points: Array) -> Array:
        pixels = np.asarray(self._to_pixels[panel](points))
        pixels[:, 1] = self._background.height - pixels[:, 1]
        return pixels


def _pairs(size: int) -> list[tuple[int, int | None]]:
    """Pairs of components; a single component is alone."""
    if size == 1:
        return [(0, None)]
    return list(islice(combinations(range(size), 2), _MAX_PANELS))


def _plane(points: Array, x: int, y: int | None) -> Array:
    """Points [N, 2]; those of a single component are spread over the height."""
    heights = np.linspace(0.1, 0.9, len(points)) if y is None else points[:, y]
    return np.stack([points[:, x], heights], axis=1)


def _outline(contexts: dict[str, Array], pair: list[int]) -> Array:
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    cholesky = contexts["cholesky"]
    covariance = (cholesky @ cholesky.T)[np.ix_(pair, pair)]
    values, vectors = np.linalg.eigh(covariance)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    axes = vectors * np.sqrt(np.maximum(values, 0.0))
    outline: Array = contexts["mean"][pair] + _DEVIATIONS * circle @ axes.T
    return outline


def _frame(axes: Axes, contexts: ContextSpace, pair: tuple[int, int | None]) -> None:
    x, y = pair
    target = target_points(contexts)
    axes.set_xlim(contexts.lower[x], contexts.upper[x])
    axes.set_xlabel(contexts.labels[x], size=SMALL_SIZE, color=INK)
    if y is None:
        axes.set_ylim(0.0, 1.0)
        axes.set_yticks([])
    else:
        axes.set_ylim(contexts.lower[y], contexts.upper[y])
        axes.set_ylabel(contexts.labels[y], size=SMALL_SIZE, color=INK)
    size = 14 if len(target) == 1 else 5
    axes.plot(
        *_plane(target, x, y).T, "*", color=TARGET, markersize=size, markeredgewidth=0,
        clip_on=False,
    )  # fmt: skip
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if y is not None:
        axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(colors=QUIET, labelcolor=INK, labelsize=SMALL_SIZE, length=2, width=0.8)
    for spine in axes.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.8)
