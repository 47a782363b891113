"""Many arms that catch balls, simulated together; the rules are those of `ball_catching.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS, BallCatching
from selfpaced.environments.mujoco_library import load_model
from selfpaced.environments.mujoco_simulations import Simulations
from selfpaced.environments.mujoco_vector import MujocoVector, Outcome
from selfpaced.records import Array

FRAME_SKIP = 5
SUBSTEP = 0.002  # seconds
GRAVITY = 9.81
NUM_JOINTS = 7
CONTROLLED = np.array([1, 3, 4, 5, 6])  # the other two are held where they start
START = np.array([0.0, 0.4, 0.0, 1.5, 0.0, 0.0, 0.0])
START_NOISE = 0.05  # rad and rad/s
SHOULDER_HEIGHT = 0.75
THROWN_FROM_Y = -0.75, -0.65
THROWN_FROM_Z = 0.8, 1.8
OBSERVATION_BOUND = 10.0

SURVIVAL_REWARD = 0.275
ACTION_COST = 0.005
CATCH_REWARD = 50.0
ALIGNMENT_REWARD = 25.0

# columns of the sensors, in the order of the model
BALL_TOUCHES, NET_TOUCHES = 0, 1
NET_AXES = slice(2, 11)


class BallCatchingVector(MujocoVector):
    """N arms, each in an episode of its own."""

    environment: BallCatching

    def __init__(self, environment: BallCatching, num_envs: int, num_threads: int = 1) -> None:
        model = load_model("ball_catching.xml")
        simulations = Simulations(model, num_envs, FRAME_SKIP, num_threads)
        super().__init__(environment, BALL_CATCHING_CONTEXTS, simulations, OBSERVATION_BOUND)
        self._desired = np.tile(START, (num_envs, 1))
        positions, velocities = simulations.qpos.start, simulations.qvel.start
        ball = NUM_JOINTS + np.arange(3)
        self._ball_velocity = velocities + ball
        self._seen = np.concatenate(
            [positions + CONTROLLED, positions + ball, velocities + CONTROLLED, velocities + ball]
        )
        # one control per substep: desired positions grow by this times the action
        self._ramp = SUBSTEP * np.arange(1, FRAME_SKIP + 1)[None, :, None]
        self._controls = np.zeros((num_envs, FRAME_SKIP, NUM_JOINTS))

    def _begin(self, rows: Array, rngs: Sequence[np.random.Generator]) -> None:
        num = len(rows)
        noise = np.array([rng.uniform(size=7) for rng in rngs])
        normal = np.array([rng.standard_normal(5) for rng in rngs])
        joints = np.tile(START, (num, 1))
        joints[:, CONTROLLED] += START_NOISE * (2 * noise[:, :5] - 1)
        speeds = np.zeros((num, NUM_JOINTS))
        speeds[:, CONTROLLED] = START_NOISE * normal
        ball, velocity = _throw(self._context[rows], noise[:, 5:])
        self._desired[rows] = joints
        self.simulations.place(rows, np.hstack([joints, ball]), np.hstack([speeds, velocity]))

    def _observe(self, rows: Array) -> Array:
        desired = self._desired[rows[:, None], CONTROLLED]
        seen = self.simulations.states[rows[:, None], self._seen]
        observation = np.concatenate([desired, seen], axis=1)
        return observation.clip(-OBSERVATION_BOUND, OBSERVATION_BOUND)

    def _advance(self, rows: Array | None, actions: Array) -> Outcome:
        num = len(actions)
        desired = self._desired if rows is None else self._desired[rows]
        controls = self._controls[:num]
        controls[:] = desired[:, None]
        controls[:, :, CONTROLLED] += self._ramp * actions[:, None]  # D1
        after = self.simulations.advance(rows, controls)
        touches = after.sensors[:, :, BALL_TOUCHES] > 0
        terminated = touches.any(axis=1) & ~after.unstable
        rows = np.arange(num) if rows is None else rows
        self._desired[rows] = controls[:, -1]
        reward = SURVIVAL_REWARD - ACTION_COST * (actions**2).sum(axis=1)
        caught = np.zeros(num, bool)
        if terminated.any():
            # the first substep that found a contact is the last one of the episode
            ended = np.flatnonzero(terminated)
            last = touches[ended].argmax(axis=1)
            states, sensors = after.states[ended, last], after.sensors[ended, last]
            self.simulations.states[rows[ended]] = states
            self._desired[rows[ended]] = controls[ended, last]
            # MuJoCo lists contacts with the arm before those with the net, and the first counts:
            # a catch is a contact with the net and nothing else
            is_catch = (sensors[:, NET_TOUCHES] > 0) & (
                sensors[:, NET_TOUCHES] == sensors[:, BALL_TOUCHES]
            )
            caught[ended] = is_catch
            reward[ended] += is_catch * self._catch_reward(sensors, states)
        return Outcome(reward, terminated, caught, after.unstable)

    def _saved(self) -> dict[str, Array]:
        return {"desired": self._desired}

    def _catch_reward(self, sensors: Array, states: Array) -> Array:
        axes = sensors[:, NET_AXES].reshape(-1, 3, 3)  # the net's axes x, y, z in the world
        normal = axes[:, 2] if self.environment.normal == "axis" else axes[:, :, 2]  # D3
        velocity = states[:, self._ball_velocity]
        speed = np.sqrt((velocity**2).sum(axis=1))
        cosine = (normal * velocity).sum(axis=1) / np.maximum(speed, 1e-12)  # D2
        return CATCH_REWARD + ALIGNMENT_REWARD * cosine**5


def _throw(contexts: Array, uniform: Array) -> tuple[Array, Array]:
    """Position and velocity of balls that will pass the points which the contexts describe."""
    angle, radius, distance = contexts.T
    y = THROWN_FROM_Y[0] + (THROWN_FROM_Y[1] - THROWN_FROM_Y[0]) * uniform[:, 0]
    z = THROWN_FROM_Z[0] + (THROWN_FROM_Z[1] - THROWN_FROM_Z[0]) * uniform[:, 1]
    start = np.stack([distance, y, z], axis=1)
    height = SHOULDER_HEIGHT + radius * np.sin(angle)
    goal = np.stack([np.zeros_like(angle), -radius * np.cos(angle), height], axis=1)
    duration = (0.5 + 0.05 * distance)[:, None]
    fall = np.array([0.0, 0.0, 0.5 * GRAVITY]) * duration**2
    return start, (goal - start + fall) / duration
