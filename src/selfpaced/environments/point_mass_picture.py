"""A picture of the point mass seen from above, drawn in NumPy with smooth edges.

The colour of the ground shows the friction, from icy blue (none) to sand (most).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.environments.point_mass import (
    ARENA,
    GOAL,
    GOAL_RADIUS,
    PICTURE_SIZE,
    START,
    PointMassState,
)

Floats = NDArray[np.floating]
Colour = tuple[int, int, int]

SIZE = PICTURE_SIZE
MARGIN = 0.35  # around the arena, in its units
PIXELS_PER_UNIT = SIZE / (2 * (ARENA + MARGIN))

MASS_RADIUS = 0.15
MASS_COLOUR: Colour = (226, 88, 34)
CRASHED_COLOUR: Colour = (150, 22, 40)
TRAIL_WIDTH = 0.07
OLDEST_OPACITY = 0.25  # the trail fades towards its start

OUTSIDE: Colour = (250, 249, 247)
ICE: Colour = (226, 237, 246)
SAND: Colour = (240, 221, 186)
MOST_FRICTION = 4.0
GRID: Colour = (255, 255, 255)
WALL: Colour = (52, 62, 78)
WALL_WIDTH = 0.14
RIM_WIDTH = 0.04
START_COLOUR: Colour = (128, 138, 150)
GOAL_COLOUR: Colour = (38, 150, 96)

# coordinates of the pixels; the first row is at the top
_X = ((np.arange(SIZE, dtype=np.float32) + 0.5) / PIXELS_PER_UNIT - (ARENA + MARGIN))[None, :]
_Y = -_X.T


def draw_point_mass(
    path: Sequence[PointMassState], terminated: bool, wall: float = WALL_WIDTH
) -> NDArray[np.uint8]:
    """Draw the arena, the mass and its trail; mark a crash by a cross."""
    points = [tuple(np.asarray(state.position).tolist()) for state in path]
    gate, width, friction = np.asarray(path[-1].context).tolist()
    image = _draw_arena(gate, width, friction, wall).copy()
    _paint_trail(image, points)
    x, y = points[-1]
    _paint(image, _disc(x + 0.03, y - 0.05, MASS_RADIUS + 0.02), (0, 0, 0), 0.16)  # shadow
    if terminated:
        for slope in (-1.0, 1.0):
            cross = _line((x - 0.3, y - 0.3 * slope), (x + 0.3, y + 0.3 * slope), 0.1)
            _paint(image, cross, CRASHED_COLOUR)
    _paint(image, _disc(x, y, MASS_RADIUS), CRASHED_COLOUR if terminated else MASS_COLOUR)
    _paint(image, _disc(x - 0.05, y + 0.05, 0.04), (255, 255, 255), 0.5)  # highlight
    return (image + 0.5).astype(np.uint8)


def pixel_of(x: float, y: float) -> tuple[int, int]:
    """Return row and column of a point in the arena."""
    half = ARENA + MARGIN
    return int((half - y) * PIXELS_PER_UNIT), int((x + half) * PIXELS_PER_UNIT)


@lru_cache(maxsize=8)  # the same throughout an episode
def _draw_arena(gate: float, width: float, friction: float, wall: float) -> Floats:
    image = np.full((SIZE, SIZE, 3), OUTSIDE, np.float32)
    share = min(max(friction / MOST_FRICTION, 0.0), 1.0)
    rim, ground = (_box(-half, half, -half, half) for half in (ARENA + RIM_WIDTH, ARENA))
    _paint(image, rim, WALL, 0.45)
    _paint(image, ground, ICE)
    _paint(image, ground, SAND, share)
    for at in np.arange(-ARENA + 1, ARENA).tolist():
        _paint(image, _box(-ARENA, ARENA, at - 0.012, at + 0.012), GRID, 0.6)
        _paint(image, _box(at - 0.012, at + 0.012, -ARENA, ARENA), GRID, 0.6)
    _paint(image, _disc(*START, 0.25), START_COLOUR)
    _paint(image, _disc(*START, 0.20), OUTSIDE)
    _paint(image, _disc(*GOAL, 2.2 * GOAL_RADIUS), GOAL_COLOUR, 0.2)
    _paint(image, _disc(*GOAL, GOAL_RADIUS), GOAL_COLOUR, 0.85)
    for left, right in ((-ARENA, gate - 0.5 * width), (gate + 0.5 * width, ARENA)):
        if left < right:
            _paint(image, _box(left, right, -0.5 * wall, 0.5 * wall), WALL)
    return image


def _paint_trail(image: Floats, points: Sequence[tuple[float, float]]) -> None:
    """Paint the trail in one go: translucent pieces would show as beads where they overlap."""
    cover = np.zeros((SIZE, SIZE, 1), np.float32)
    opacities = np.linspace(OLDEST_OPACITY, 0.9, len(points))
    for (start, end), opacity in zip(pairwise(points), opacities[1:].tolist(), strict=True):
        line = _line(start, end, TRAIL_WIDTH)
        window = line.window()
        cover[window] = np.maximum(cover[window], opacity * line.cover(window))
    touched = cover[:, :, 0] > 0  # blending only these is several times as fast
    below = image[touched]
    image[touched] = below + cover[touched] * (np.array(MASS_COLOUR, np.float32) - below)


class _Shape(NamedTuple):
    """A shape to paint: its bounding box and the signed distance to its edge."""

    left: float
    right: float
    bottom: float
    top: float
    distance: Callable[[Floats, Floats], Floats]  # of points x, y; negative inside

    def window(self) -> tuple[slice, slice]:
        """Return rows and columns of its pixels, with one more on each side for the smooth edge."""
        first_row, first_column = pixel_of(self.left, self.top)
        last_row, last_column = pixel_of(self.right, self.bottom)
        rows = slice(max(first_row - 1, 0), max(last_row + 2, 0))
        return rows, slice(max(first_column - 1, 0), max(last_column + 2, 0))

    def cover(self, window: tuple[slice, slice]) -> Floats:
        """Return the covered share of each pixel, from 0 to 1."""
        rows, columns = window
        distance = self.distance(_X[:, columns], _Y[rows])
        share: Floats = np.clip(0.5 - PIXELS_PER_UNIT * distance, 0.0, 1.0)[:, :, None]
        return share


def _paint(image: Floats, shape: _Shape, colour: Colour, opacity: float = 1.0) -> None:
    window = shape.window()
    below = image[window]
    below += opacity * shape.cover(window) * (np.array(colour, np.float32) - below)


def _disc(x: float, y: float, radius: float) -> _Shape:
    def distance(px: Floats, py: Floats) -> Floats:
        signed: Floats = np.hypot(px - x, py - y) - radius
        return signed

    return _Shape(x - radius, x + radius, y - radius, y + radius, distance)


def _box(left: float, right: float, bottom: float, top: float) -> _Shape:
    def distance(px: Floats, py: Floats) -> Floats:
        across = np.maximum(left - px, px - right)
        signed: Floats = np.maximum(across, np.maximum(bottom - py, py - top))
        return signed

    return _Shape(left, right, bottom, top, distance)


def _line(start: tuple[float, float], end: tuple[float, float], width: float) -> _Shape:
    (x, y), radius = start, 0.5 * width
    along_x, along_y = end[0] - x, end[1] - y
    squared_length = max(along_x**2 + along_y**2, 1e-12)  # a mass at rest draws a dot

    def distance(px: Floats, py: Floats) -> Floats:
        px, py = px - x, py - y
        share = np.clip((px * along_x + py * along_y) / squared_length, 0.0, 1.0)
        return np.hypot(px - share * along_x, py - share * along_y) - radius

    (left, right), (bottom, top) = sorted((x, end[0])), sorted((y, end[1]))
    return _Shape(left - radius, right + radius, bottom - radius, top + radius, distance)
