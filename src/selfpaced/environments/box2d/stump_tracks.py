"""Gymnasium's bipedal walker among stumps; `environments/stump_tracks.py` has the rules."""

from __future__ import annotations

from typing import Any

import Box2D
import gymnasium
import numpy as np
from gymnasium.envs.box2d import bipedal_walker
from gymnasium.envs.box2d.bipedal_walker import (
    TERRAIN_HEIGHT,
    TERRAIN_LENGTH,
    TERRAIN_STARTPAD,
    TERRAIN_STEP,
)

from selfpaced.records import Array

ID = "SelfpacedStumpTracks-v0"

HEIGHT_STD = 0.1  # of the stumps of one track, in steps of the terrain
LEAST_HEIGHT, LEAST_SPACING = 0.05, 0.01
SUCCESS_RETURN = 230.0
GRASS, DARK_GRASS, GROUND = (76, 255, 76), (76, 204, 76), (102, 153, 76)
STUMP, STUMP_EDGE = (255, 255, 255), (153, 153, 153)


class StumpTracks(bipedal_walker.BipedalWalker):
    """A walker on flat ground with stumps of about one height, at equal distances."""

    def __init__(self, time_limit: int) -> None:
        super().__init__()
        self.time_limit = time_limit
        self.stump_height, self.stump_spacing = 0.0, 6.0  # the context
        self.total_reward, self.time = 0.0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Build a new track, and place the walker at its start."""
        self._destroy()
        self.world = Box2D.b2World()  # a used one simulates the same episode differently
        observation, info = super().reset(seed=seed, options=options)  # which takes a step
        self.total_reward, self.time = 0.0, 0
        return observation, info

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Apply an action; success is a high return at the end of the episode."""
        observation, reward, terminated, truncated, info = super().step(action)
        self.total_reward += float(reward)
        self.time += 1
        ends = terminated or self.time >= self.time_limit
        info["success"] = bool(ends and self.total_reward > SUCCESS_RETURN)
        return observation, float(reward), terminated, truncated, info

    def render(self) -> Array:
        """Return a picture that follows the walker."""
        self.render_mode = "rgb_array"
        picture: Array = super().render()
        return picture

    def _generate_terrain(self, hardcore: bool) -> None:
        """Build ground and stumps; the parent class calls this in `reset`."""
        del hardcore
        self.terrain, self.terrain_poly = [], []
        length = TERRAIN_LENGTH * TERRAIN_STEP
        x = TERRAIN_STARTPAD * TERRAIN_STEP
        while x + TERRAIN_STEP < length:
            drawn = self.stump_height + HEIGHT_STD * self.np_random.standard_normal()
            self._add_stump(x, max(LEAST_HEIGHT, drawn) * TERRAIN_STEP)
            x += TERRAIN_STEP + max(LEAST_SPACING, self.stump_spacing)
        for index in range(TERRAIN_LENGTH - 1):
            self._add_ground(index)

    def _add_stump(self, x: float, height: float) -> None:
        left, right, top = x, x + TERRAIN_STEP, TERRAIN_HEIGHT + height
        corners = [(left, TERRAIN_HEIGHT), (right, TERRAIN_HEIGHT), (right, top), (left, top)]
        self.fd_polygon.shape.vertices = corners
        body = self.world.CreateStaticBody(fixtures=self.fd_polygon)
        body.color1, body.color2 = STUMP, STUMP_EDGE
        self.terrain.append(body)

    def _add_ground(self, index: int) -> None:
        left, right = index * TERRAIN_STEP, (index + 1) * TERRAIN_STEP
        edge = [(left, TERRAIN_HEIGHT), (right, TERRAIN_HEIGHT)]
        self.fd_edge.shape.vertices = edge
        body = self.world.CreateStaticBody(fixtures=self.fd_edge)
        body.color1 = body.color2 = DARK_GRASS if index % 2 else GRASS
        self.terrain.append(body)
        self.terrain_poly.append(([*edge, (right, 0.0), (left, 0.0)], GROUND))

    def stumps(self) -> Array:
        """Return the left end and the height of every stump [N, 2], above the ground."""
        bodies = [body for body in self.terrain if body.color1 == STUMP]
        corners = np.array([body.fixtures[0].shape.vertices for body in bodies])  # [N, 4, 2]
        return np.stack([corners[..., 0].min(1), corners[..., 1].max(1) - TERRAIN_HEIGHT], axis=1)


gymnasium.register(ID, f"{__name__}:StumpTracks")
