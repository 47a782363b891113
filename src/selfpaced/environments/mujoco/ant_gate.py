"""Many ants in front of many gates, simulated by MuJoCo and stepped together.

All ants share one model. The context is where the two halves of the wall stand: they are mocap
bodies of fixed size, slid along y, and their positions go into the simulation with the torques.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from selfpaced.environments.ant_gate import (
    BEHIND_WALL,
    GOAL,
    STATE_SIZE,
    WALL,
)
from selfpaced.environments.mujoco.library import load_model
from selfpaced.environments.mujoco.simulations import Simulations
from selfpaced.environments.mujoco.vector import Info, MujocoVector, Outcome
from selfpaced.records import Array

if TYPE_CHECKING:
    from selfpaced.environments.ant_gate import AntGate

FRAME_SKIP = 5
START_NOISE = 0.1
LOWEST, HIGHEST = 0.2, 1.0  # metres; outside, the ant has fallen or been thrown up
ACTION_COST = 0.3
MAX_SPEED = 30.0  # D7
VIEW = (0.766, 0.0, -0.643)  # of the camera: over the ant to the wall, 40 degrees down
SLOPE = 0.5  # half the width of the picture, in distances from the camera
MARGIN, CLOSEST = 2.5, 7.0  # metres
CONTROL = mujoco.mjtState.mjSTATE_CTRL.value | mujoco.mjtState.mjSTATE_MOCAP_POS.value


class AntGateVector(MujocoVector):
    """N ants; `info["x_position"]` says how far each has come."""

    def __init__(self, environment: AntGate, num_envs: int, num_threads: int = 1) -> None:
        model = load_model("ant_gate.xml")
        simulations = Simulations(model, num_envs, FRAME_SKIP, num_threads, CONTROL)
        super().__init__(environment, simulations)
        self._walls = np.zeros((num_envs, 6))

    def step(self, actions: ArrayLike) -> tuple[Array, Array, Array, Array, Info]:
        """Apply one action per row; rows whose episode is over stay as they are."""
        observation, reward, terminated, truncated, info = super().step(actions)
        info["x_position"] = observation[:, 0].copy()
        return observation, reward, terminated, truncated, info

    def _begin(self, rows: Array, rngs: Sequence[np.random.Generator]) -> None:
        model = self.simulations.model
        qpos = model.qpos0 + [rng.uniform(-START_NOISE, START_NOISE, model.nq) for rng in rngs]
        qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
        qvel = START_NOISE * np.array([rng.standard_normal(model.nv) for rng in rngs])
        self.simulations.place(rows, qpos, qvel)
        self._walls[rows] = wall_positions(self._context[rows])

    def _observe(self, rows: Array | slice) -> Array:
        state = self.simulations.states[rows, 1 : 1 + STATE_SIZE]  # without the clock
        return np.concatenate([state, self._context[rows]], axis=1)

    def _advance(self, rows: Array | None, actions: Array) -> Outcome:
        action = np.minimum(np.maximum(actions, -1.0), 1.0)  # D2
        walls = self._walls if rows is None else self._walls[rows]
        controls = np.concatenate([action, walls], axis=1)
        states, _, unstable = self.simulations.advance(rows, controls[:, None])
        x, _, height = states[:, -1, self.simulations.qpos][:, :3].T
        return Outcome(
            reward_of(x, action),
            terminated=~((height >= LOWEST) & (height <= HIGHEST)),
            success=x > BEHIND_WALL,
            unstable=unstable | self._is_too_fast(states),
        )

    def _is_too_fast(self, states: Array) -> Array:
        velocity = states[:, :, self.simulations.qvel][:, :, :3]
        with np.errstate(over="ignore", invalid="ignore"):  # of what is unstable anyway
            return (np.square(velocity).sum(axis=2) > MAX_SPEED**2).any(axis=1)

    def _saved(self) -> dict[str, Array]:
        return {"walls": self._walls}

    def _prepare_picture(self, row: int, data: mujoco.MjData) -> None:
        walls = self._walls[row]
        data.mocap_pos[:] = walls.reshape(2, 3)
        ant = self.simulations.states[row, self.simulations.qpos][:2]
        # the camera is no part of the physics, so the shared model may carry it
        self.simulations.model.cam_pos[0] = camera_position(ant, walls[[1, 4]])


def reward_of(x: Array, action: Array) -> Array:
    """The paper's reward: to stand, to be behind the wall, not to waste torque (Appendix C.2)."""
    missing = np.minimum(0.0, x - GOAL)
    return 1.0 + 5.0 * np.exp(-0.5 * missing**2) - ACTION_COST * np.square(action).sum(axis=1)


def wall_positions(contexts: Array) -> Array:
    """Where the halves of the wall end [n, 6]: x, y, z below the gate, x, y, z above it."""
    position, half_width = contexts[:, 0], 0.5 * contexts[:, 1]
    walls = np.zeros((len(contexts), 6))
    walls[:, [0, 3]] = WALL
    walls[:, 1] = position - half_width
    walls[:, 4] = position + half_width
    return walls


def camera_position(ant: Array, gate: Array) -> Array:
    """From where one sees the ant (x, y) and both ends of the gate (y, y), looking along VIEW."""
    left, right = max(ant[1], gate.max()), min(ant[1], gate.min())
    distance = max((0.5 * (left - right) + MARGIN) / SLOPE, CLOSEST)
    between = (0.5 * (ant[0] + BEHIND_WALL), 0.5 * (left + right), 0.0)
    return between - distance * np.array(VIEW)
