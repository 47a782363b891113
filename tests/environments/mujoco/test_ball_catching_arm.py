"""The arm of ball catching against known answers: rigid-body terms, motions, law of control."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from selfpaced.environments.mujoco.ball_catching import CONTROLLED, START
from selfpaced.environments.mujoco.library import load_model
from tests.environments.mujoco.arms import MODEL, arms, net_of, place, positions

ELSEWHERE = np.array([0.1, 0.5, -0.2, 1.2, 0.3, -0.4, 0.6])
K_P = np.array([200, 300, 100, 100, 20, 20, 5])
K_D = np.array([7, 15, 5, 2.5, 0.423, 0.423, 0.0705])
TORQUE = np.array([150, 125, 40, 60, 5, 5, 2])


def rigid_body(joints, speeds=0.0):
    """Return the mass matrix [7, 7], the torques against gravity and motion, and the data."""
    data = mujoco.MjData(MODEL)
    data.qpos[:7], data.qvel[:7], data.qpos[7:] = joints, speeds, (3, 0, 1)
    mujoco.mj_forward(MODEL, data)
    mass = np.zeros((MODEL.nv, MODEL.nv))
    mujoco.mj_fullM(MODEL, data, mass)
    return mass[:7, :7], data.qfrc_bias[:7].copy(), data


def test_the_mass_matrix_is_the_known_one():
    mass, _, _ = rigid_body(START)
    diagonal = [0.763948, 1.454772, 0.205443, 0.150236, 0.000692, 0.003293, 0.000039]
    np.testing.assert_allclose(np.diag(mass), diagonal, atol=6e-7)
    off_diagonal = mass[[1, 0, 3, 1], [3, 2, 5, 5]]
    np.testing.assert_allclose(off_diagonal, [0.205644, 0.334472, 0.012573, 0.015195], atol=6e-7)
    mass, _, _ = rigid_body(ELSEWHERE)
    diagonal = [0.923401, 1.618332, 0.175436, 0.149556, 0.001156, 0.003282, 0.000039]
    np.testing.assert_allclose(np.diag(mass), diagonal, atol=6e-7)


def test_gravity_and_coriolis_torques_are_the_known_ones():
    _, gravity, _ = rigid_body(START)
    known = [0, -14.360846, -0.027859, -4.964885, -0.063141, -0.28726, -0.002062]
    np.testing.assert_allclose(gravity, known, atol=6e-7)
    _, gravity, _ = rigid_body(ELSEWHERE)
    known = [0, -16.447693, -0.562586, -5.128603, -0.088132, -0.286011, -0.001484]
    np.testing.assert_allclose(gravity, known, atol=6e-7)
    _, moving, _ = rigid_body(ELSEWHERE, [0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7])
    known = [0.008766, -0.05705, 0.005159, 0.005106, -0.000112, -0.000407, -0.000007]
    np.testing.assert_allclose(moving - gravity, known, atol=6e-7)


def test_the_net_is_at_the_known_place():
    net = rigid_body(START)[2].body("net")
    np.testing.assert_allclose(net.xpos, [0, -0.6960, 1.3302], atol=6e-5)
    np.testing.assert_allclose(net.xmat.reshape(3, 3)[:, 2], [-1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(net.xmat.reshape(3, 3)[2], [-0.946, -0.323, 0], atol=5e-4)
    net = rigid_body(ELSEWHERE)[2].body("net")
    np.testing.assert_allclose(net.xpos, [-0.025322, -0.746627, 1.454233], atol=6e-7)
    rotation = [
        [0.682865, -0.162569, -0.712227],
        [-0.304428, -0.949568, -0.075134],
        [-0.664093, 0.268128, -0.697917],
    ]
    np.testing.assert_allclose(net.xmat.reshape(3, 3), rotation, atol=1e-6)


def test_without_action_the_arm_sags_by_the_known_amounts():
    vector = arms(max_episode_steps=1000)
    place(vector)
    sags = {
        10: (0.0285, 0.0483, 0.0024, 0.0108),
        20: (0.0647, 0.0584, 0.0037, 0.0174),
        50: (0.0456, 0.0454, 0.0028, 0.0127),
        200: (0.0507, 0.0479, 0.0030, 0.0137),
    }
    nets = {50: (0.0001, -0.7061, 1.2767), 200: (0.0002, -0.7073, 1.2718)}
    for step in range(1, 201):
        vector.step(np.zeros((1, 5)))
        if step in sags:
            sag = (positions(vector)[:7] - START)[[1, 3, 4, 5]]
            np.testing.assert_allclose(sag, sags[step], atol=6e-5)
        if step in nets:
            np.testing.assert_allclose(net_of(vector)[0], nets[step], atol=6e-5)


def test_a_constant_action_moves_the_arm_to_the_known_place():
    vector = arms()
    place(vector)
    for _ in range(50):
        vector.step(np.array([[1, -1, 0.5, 0.5, -0.5]]))
    known = [0.000118, 0.926693, 0.000462, 1.066934, 0.230147, 0.238946, -0.194287]
    np.testing.assert_allclose(positions(vector)[:7], known, atol=6e-7)
    np.testing.assert_allclose(net_of(vector)[0], [0.008401, -0.877584, 1.064893], atol=1e-6)
    # desired positions move by 0.01 times the action per step
    np.testing.assert_allclose(vector.get_state()["desired"][0, 1], 0.4 + 50 * 0.01, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 10.0, 300.0])  # the last one saturates the motors
def test_the_motors_follow_the_explicit_law_of_control(scale):
    vector = arms()
    place(vector)
    data = mujoco.MjData(MODEL)
    mujoco.mj_setState(
        MODEL, data, vector.simulations.states[0], mujoco.mjtState.mjSTATE_FULLPHYSICS.value
    )
    desired, rng, saturated = START.copy(), np.random.default_rng(0), 0
    model = load_model("ball_catching.xml")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION.value
    for _ in range(20):
        action = scale * rng.standard_normal(5)
        vector.step(action[None])
        for _ in range(5):
            desired[CONTROLLED] += 0.002 * action
            torque = K_P * (desired - data.qpos[:7]) - K_D * data.qvel[:7]
            saturated += (np.abs(torque) > TORQUE).sum()
            data.qfrc_applied[:7] = torque.clip(-TORQUE, TORQUE)
            mujoco.mj_step(model, data)
    np.testing.assert_allclose(positions(vector), data.qpos, rtol=0, atol=1e-6)
    assert (saturated > 100) == (scale == 300.0)
