"""Arms that catch balls, simulated together; `environments/ball_catching.py` has the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from selfpaced.environments.ball_catching import BallCatching, passing_points
from selfpaced.environments.mujoco.contact_pairs import list_pairs
from selfpaced.environments.mujoco.library import load_spec
from selfpaced.environments.mujoco.simulations import Simulations
from selfpaced.environments.mujoco.vector import MujocoVector, Outcome
from selfpaced.records import Array

FRAME_SKIP = 5
SUBSTEP = 0.002  # seconds
GRAVITY = 9.81
NUM_JOINTS = 7
CONTROLLED = np.array([1, 3, 4, 5, 6])  # the other two keep their start positions
START = np.array([0.0, 0.4, 0.0, 1.5, 0.0, 0.0, 0.0])
START_NOISE = 0.05  # rad and rad/s
THROWN_FROM = np.array([[-0.75, 0.8], [-0.65, 1.8]])  # y, z: lower and upper bounds
OBSERVATION_BOUND = 10.0

SURVIVAL_REWARD = 0.275
ACTION_COST = 0.005
CATCH_REWARD = 50.0
ALIGNMENT_REWARD = 25.0

# columns of the sensors, in the order of the model
BALL_TOUCHES, NET_TOUCHES = 0, 1
NET_AXES = slice(2, 11)


@final
class BallCatchingVector(MujocoVector):
    """N arms, each in its own episode."""

    environment: BallCatching

    def __init__(self, environment: BallCatching, num_envs: int, num_threads: int = 1) -> None:
        model = list_pairs(load_spec("ball_catching.xml"))
        simulations = Simulations(model, num_envs, FRAME_SKIP, num_threads)
        super().__init__(environment, simulations, OBSERVATION_BOUND)
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
        self._speeds = np.zeros(
            (num_envs, 1, NUM_JOINTS)
        )  # zero for the joints that are not controlled

    def _start(self, rows: Array, rngs: Sequence[np.random.Generator]) -> None:
        uniform = np.array([rng.uniform(size=7) for rng in rngs])
        normal = np.array([rng.standard_normal(5) for rng in rngs])
        positions, velocities = np.zeros((2, len(rows), NUM_JOINTS + 3))
        positions[:, :NUM_JOINTS] = START
        positions[:, CONTROLLED] += START_NOISE * (2 * uniform[:, :5] - 1)
        velocities[:, CONTROLLED] = START_NOISE * normal
        self._desired[rows] = positions[:, :NUM_JOINTS]
        _throw(
            self._context[rows],
            uniform[:, 5:],
            positions[:, NUM_JOINTS:],
            velocities[:, NUM_JOINTS:],
        )
        self.simulations.place(rows, positions, velocities)

    def _observe(self, rows: Array | slice) -> Array:
        desired = self._desired[rows].take(CONTROLLED, axis=1)
        seen = self.simulations.states[rows].take(self._seen, axis=1)
        observation = np.concatenate([desired, seen], axis=1)
        np.maximum(observation, -OBSERVATION_BOUND, out=observation)  # half the time of np.clip
        bounded: Array = np.minimum(observation, OBSERVATION_BOUND, out=observation)
        return bounded

    def _advance(self, rows: Array | None, actions: Array) -> Outcome:
        num = len(actions)
        desired = self._desired if rows is None else self._desired[rows]
        controls, speeds = self._controls[:num], self._speeds[:num]
        speeds[:, 0, CONTROLLED] = actions
        np.multiply(self._ramp, speeds, out=controls)  # D1
        controls += desired[:, None]
        reward = SURVIVAL_REWARD - ACTION_COST * np.einsum("na,na->n", actions, actions)
        terminated, caught = np.zeros((2, num), bool)
        after = self.simulations.advance(rows, controls)
        self._desired[slice(None) if rows is None else rows] = controls[:, -1]
        touches = after.sensors[:, :, BALL_TOUCHES] > 0
        if np.count_nonzero(touches):
            terminated = touches.any(axis=1) & ~after.unstable
            # the first substep with a contact is the last one of the episode
            ended = np.flatnonzero(terminated)
            last = touches[ended].argmax(axis=1)
            states, sensors = after.states[ended, last], after.sensors[ended, last]
            ended_rows = ended if rows is None else rows[ended]
            self.simulations.states[ended_rows] = states
            self._desired[ended_rows] = controls[ended, last]
            # MuJoCo lists contacts with the arm before those with the net, and the first counts, so
            # a catch is a contact with the net alone (D4)
            is_catch = (sensors[:, NET_TOUCHES] > 0) & (
                sensors[:, NET_TOUCHES] == sensors[:, BALL_TOUCHES]
            )
            caught[ended] = is_catch
            reward[ended] += is_catch * self._catch_reward(sensors, states)
        return Outcome(reward, terminated, caught, after.unstable)

    def _saved(self) -> dict[str, Array]:
        return {"desired": self._desired}

    def _catch_reward(self, sensors: Array, states: Array) -> Array:
        axes = sensors[:, NET_AXES].reshape(-1, 3, 3)  # the net's axes x, y, z in the global frame
        normal = axes[:, 2] if self.environment.normal == "axis" else axes[:, :, 2]  # D3
        velocity = states[:, self._ball_velocity]
        speed = np.sqrt((velocity**2).sum(axis=1))
        cosine = (normal * velocity).sum(axis=1) / np.maximum(speed, 1e-12)  # D2
        reward: Array = CATCH_REWARD + ALIGNMENT_REWARD * cosine**5
        return reward


def _throw(contexts: Array, uniform: Array, start: Array, velocity: Array) -> None:
    """Write start positions and velocities of balls that pass the points of the contexts."""
    distance = contexts[:, 2]
    start[:, 0] = distance
    start[:, 1:] = THROWN_FROM[0] + (THROWN_FROM[1] - THROWN_FROM[0]) * uniform
    duration = 0.5 + 0.05 * distance
    velocity[:, 0] = -distance
    velocity[:, 1:] = passing_points(contexts) - start[:, 1:]
    velocity[:, 2] += 0.5 * GRAVITY * duration**2
    velocity /= duration[:, None]
