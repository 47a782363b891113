"""Ants in front of gates, simulated by MuJoCo and stepped together.

All ants share one model. The two halves of the wall are mocap bodies of fixed size. The context
sets their positions along y, which are inputs of the simulation beside the torques.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from selfpaced.environments.ant_gate import BEHIND_WALL, GOAL, STATE_SIZE, WALL, AntGate
from selfpaced.environments.mujoco.library import load_model
from selfpaced.environments.mujoco.simulations import Simulations
from selfpaced.environments.mujoco.vector import Info, MujocoVector, Outcome
from selfpaced.records import Array

FRAME_SKIP = 5
START_NOISE = 0.1
LOWEST, HIGHEST = 0.2, 1.0  # metres; the ant has fallen below, and been thrown up above
ACTION_COST = 0.3
MAX_SPEED = 30.0  # D7
VIEW = (0.766, 0.0, -0.643)  # direction of the camera: over the ant to the wall, 40 degrees down
SLOPE = 0.5  # half the width of the picture over the distance from the camera
MARGIN, CLOSEST = 2.5, 7.0  # metres
CONTROL = mujoco.mjtState.mjSTATE_CTRL.value | mujoco.mjtState.mjSTATE_MOCAP_POS.value


@final
class AntGateVector(MujocoVector):
    """N ants; `info["x_position"]` is the x-position of each torso."""

    def __init__(self, environment: AntGate, num_envs: int, num_threads: int = 1) -> None:
        model = load_model("ant_gate.xml")
        simulations = Simulations(model, num_envs, FRAME_SKIP, num_threads, CONTROL)
        super().__init__(environment, simulations)
        self._walls = np.zeros((num_envs, 6))

    def step(self, actions: ArrayLike) -> tuple[Array, Array, Array, Array, Info]:
        """Apply one action per row; rows whose episode is over do not change."""
        observation, reward, terminated, truncated, info = super().step(actions)
        info["x_position"] = observation[:, 0].copy()
        return observation, reward, terminated, truncated, info

    def _start(self, rows: Array, rngs: Sequence[np.random.Generator]) -> None:
        model = self.simulations.model
        qpos = model.qpos0 + [rng.uniform(-START_NOISE, START_NOISE, model.nq) for rng in rngs]
        qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
        qvel = START_NOISE * np.array([rng.standard_normal(model.nv) for rng in rngs])
        self.simulations.place(rows, qpos, qvel)
        self._walls[rows] = wall_positions(self._context[rows])

    def _observe(self, rows: Array | slice) -> Array:
        state = self.simulations.states[rows, 1 : 1 + STATE_SIZE]  # without the time
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
        first = self.simulations.qvel.start
        velocity = states[:, :, first : first + 3]
        if np.abs(velocity).max() < 0.5 * MAX_SPEED:  # almost always; not so if one is not a number
            return np.zeros(len(states), bool)
        with np.errstate(over="ignore", invalid="ignore"):  # unstable rows
            too_fast: Array = (np.square(velocity).sum(axis=2) > MAX_SPEED**2).any(axis=1)
        return too_fast

    def _saved(self) -> dict[str, Array]:
        return {"walls": self._walls}

    def _prepare_picture(self, row: int, data: mujoco.MjData) -> None:
        walls = self._walls[row]
        data.mocap_pos[:] = walls.reshape(2, 3)
        ant = self.simulations.states[row, self.simulations.qpos][:2]
        # the camera is not part of the physics, so the shared model can hold it
        self.simulations.model.cam_pos[0] = camera_position(ant, walls[[1, 4]])


def reward_of(x: Array, action: Array) -> Array:
    """Reward standing and being behind the wall, charge the action (paper, Appendix C.2)."""
    missing = np.minimum(0.0, x - GOAL)
    reward: Array = (
        1.0 + 5.0 * np.exp(-0.5 * missing**2) - ACTION_COST * np.square(action).sum(axis=1)
    )
    return reward


def wall_positions(contexts: Array) -> Array:
    """Return the ends of the wall at the gate [n, 6]: x, y, z below it, x, y, z above it."""
    position, half_width = contexts[:, 0], 0.5 * contexts[:, 1]
    walls = np.zeros((len(contexts), 6))
    walls[:, [0, 3]] = WALL
    walls[:, 1] = position - half_width
    walls[:, 4] = position + half_width
    return walls


def camera_position(ant: Array, gate: Array) -> Array:
    """Return where a camera along VIEW shows the ant (x, y) and both ends of the gate (y, y)."""
    left, right = max(ant[1], gate.max()), min(ant[1], gate.min())
    distance = max((0.5 * (left - right) + MARGIN) / SLOPE, CLOSEST)
    between = (0.5 * (ant[0] + BEHIND_WALL), 0.5 * (left + right), 0.0)
    position: Array = np.array(between) - distance * np.array(VIEW)
    return position
