"""A picture of the goal maze seen from above, drawn in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from selfpaced.environments.goal_maze import INNER, OUTER, PICTURE_SIZE, GoalMazeState

Colour = tuple[int, int, int]

HALF = 9.5  # half the width of the picture, in units of the maze
OUTSIDE: Colour = (250, 249, 247)
FLOOR: Colour = (226, 237, 246)
GOAL: Colour = (38, 150, 96)
TRAIL: Colour = (226, 88, 34)
TRAIL_RADIUS, POINT_RADIUS, LEAST_GOAL_RADIUS = 0.12, 0.35, 0.25
TOLERANCE_OPACITY = 0.25

_X = ((np.arange(PICTURE_SIZE) + 0.5) / PICTURE_SIZE * 2.0 - 1.0)[None, :] * HALF
_Y = -_X.T  # the first row is at the top


def draw_goal_maze(path: Sequence[GoalMazeState], terminated: bool) -> NDArray[np.uint8]:
    """Draw the ring, the goal with its tolerance, the point and its trail."""
    image = np.full((PICTURE_SIZE, PICTURE_SIZE, 3), OUTSIDE, np.float64)
    farthest = np.maximum(np.abs(_X), np.abs(_Y))
    _paint(image, (farthest <= OUTER) & (farthest >= INNER), FLOOR)
    x, y, tolerance = np.asarray(path[-1].context).tolist()
    _paint(image, _disc(x, y, tolerance), GOAL, TOLERANCE_OPACITY)
    _paint(image, _disc(x, y, LEAST_GOAL_RADIUS), GOAL)
    points = np.array([np.asarray(state.position) for state in path])
    for trail_x, trail_y in points.tolist():
        _paint(image, _disc(trail_x, trail_y, TRAIL_RADIUS), TRAIL, 0.5)
    x, y = points[-1].tolist()
    _paint(image, _disc(x, y, POINT_RADIUS), GOAL if terminated else TRAIL)
    return (image + 0.5).astype(np.uint8)


def _disc(x: float, y: float, radius: float) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (_X - x) ** 2 + (_Y - y) ** 2 <= radius**2
    return inside


def _paint(
    image: NDArray[np.float64], where: NDArray[np.bool_], colour: Colour, opacity: float = 1.0
) -> None:
    image[where] += opacity * (np.array(colour) - image[where])
