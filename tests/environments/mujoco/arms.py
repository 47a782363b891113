"""Arms and balls for the tests, and functions that move them."""

from __future__ import annotations

import mujoco

from selfpaced.environments.ball_catching import BallCatching
from selfpaced.environments.mujoco.ball_catching import CONTROLLED, START
from selfpaced.environments.mujoco.library import load_model

MODEL = load_model("ball_catching.xml")
POSITIONS, VELOCITIES = slice(1, 11), slice(11, 21)  # in a row of simulation states
BALL, BALL_VELOCITY = slice(8, 11), slice(18, 21)


def arms(num=1, normal="released", **settings):
    vector = BallCatching(normal, **settings).make(num)
    vector.reset(seed=0)
    return vector


def place(vector, joints=START[CONTROLLED], ball=(3.0, 0.0, 500.0), speeds=0.0, velocity=0.0):
    """Set arm and ball of every row; by default the ball is out of the way."""
    state = vector.get_state()
    state["desired"][:] = START
    state["desired"][:, CONTROLLED] = joints
    simulation = state["simulation"]
    simulation[:, 1:8] = state["desired"]
    simulation[:, BALL] = ball
    simulation[:, VELOCITIES] = 0.0
    simulation[:, 11 + CONTROLLED] = speeds
    simulation[:, BALL_VELOCITY] = velocity
    vector.set_state(state)


def positions(vector):
    return vector.simulations.states[0, POSITIONS]


def net_of(vector, row=0):
    """Return centre and rotation matrix of the net."""
    data = mujoco.MjData(MODEL)
    vector.simulations.load(row, data)
    return data.body("net").xpos.copy(), data.body("net").xmat.reshape(3, 3).copy()
