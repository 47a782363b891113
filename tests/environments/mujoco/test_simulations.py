"""Simulations advanced together: equal to single ones, with unstable rows reported."""

from __future__ import annotations

import builtins
import logging
import os
import subprocess
import sys

import mujoco
import numpy as np
import pytest

from selfpaced.environments.mujoco.library import require_mujoco
from selfpaced.environments.mujoco.simulations import CLOCK_START, Simulations
from selfpaced.errors import MissingPartError

PENDULUM = """
<mujoco>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
  <sensor><jointpos joint="hinge"/></sensor>
</mujoco>
"""
ANGLES = np.array([[0.1], [1.0], [2.0], [-2.5], [3.0]])
SPEEDS = np.array([[0.0], [1.0], [-3.0], [0.5], [0.0]])
EVERY_ROW = np.arange(5)


@pytest.fixture
def model():
    return mujoco.MjModel.from_xml_string(PENDULUM)


@pytest.fixture
def pendulums(model):
    simulations = Simulations(model, num=5, frame_skip=4)
    simulations.place(EVERY_ROW, ANGLES, SPEEDS)
    return simulations


def alone(model, angle, speed, torques):
    """Run one simulation by mj_step; return positions before and after every substep."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = angle, speed
    positions = [data.qpos[0]]
    for torque in torques:
        data.ctrl[:] = torque
        mujoco.mj_step(model, data)
        positions.append(data.qpos[0])
    return positions


def test_every_substep_equals_that_of_a_single_simulation(model, pendulums):
    torques = np.random.default_rng(0).standard_normal((5, 4, 1))
    after = pendulums.advance(None, torques)
    for row in range(5):
        positions = alone(model, ANGLES[row], SPEEDS[row], torques[row])
        np.testing.assert_array_equal(after.states[row, :, 1], positions[1:])
        np.testing.assert_array_equal(after.sensors[row, :, 0], positions[:-1])  # one behind
    np.testing.assert_array_equal(pendulums.states, after.states[:, -1])
    np.testing.assert_allclose(pendulums.states[:, 0], CLOCK_START + 4 * 0.002)
    assert not after.unstable.any()


def test_one_control_holds_for_all_substeps(pendulums, model):
    again = Simulations(model, num=5, frame_skip=4)
    again.place(EVERY_ROW, ANGLES, SPEEDS)
    torques = np.arange(5.0)[:, None, None]
    held = pendulums.advance(None, torques).states
    np.testing.assert_array_equal(held, again.advance(None, np.tile(torques, (1, 4, 1))).states)


def test_rows_that_are_not_advanced_do_not_change(pendulums, model):
    before = pendulums.states.copy()
    rows = np.array([3, 1])
    after = pendulums.advance(rows, np.zeros((2, 1, 1)))
    np.testing.assert_array_equal(pendulums.states[[0, 2, 4]], before[[0, 2, 4]])
    np.testing.assert_array_equal(pendulums.states[rows], after.states[:, -1])
    assert after.states[0, -1, 1] == alone(model, ANGLES[3], SPEEDS[3], [0, 0, 0, 0])[-1]


@pytest.mark.parametrize(
    ("state", "torque"), [((np.nan, 0.0), 0.0), ((0.0, 1e11), 0.0), ((0.0, 0.0), 1e12)]
)
def test_an_unstable_row_is_reported_and_keeps_its_state(pendulums, state, torque, caplog):
    pendulums.states[2, 1:] = state
    before = pendulums.states.copy()
    torques = np.zeros((5, 4, 1))
    torques[2, -1] = torque  # in the last substep, which no later one can reveal
    with caplog.at_level(logging.INFO, logger="selfpaced.mujoco"):
        after = pendulums.advance(None, torques)
    assert after.unstable.tolist() == [False, False, True, False, False]
    np.testing.assert_array_equal(pendulums.states[2], before[2])
    assert (pendulums.states[[0, 1, 3, 4]] != before[[0, 1, 3, 4]]).any(axis=1).all()
    assert "unstable" in caplog.text or torque  # the warning is in the log, not in a file


def test_the_outcome_does_not_depend_on_previous_calls(pendulums):
    start = pendulums.states.copy()
    first = pendulums.advance(None, np.zeros((5, 1, 1))).states.copy()
    pendulums.advance(None, np.full((5, 1, 1), 50.0))
    pendulums.states[:] = start
    np.testing.assert_array_equal(pendulums.advance(None, np.zeros((5, 1, 1))).states, first)


def test_closed_simulations_are_refused(pendulums):
    pendulums.close()
    pendulums.close()
    with pytest.raises(RuntimeError, match="closed"):
        pendulums.advance(None, np.zeros((5, 1, 1)))


def test_without_mujoco_the_error_contains_the_install_command(monkeypatch):
    def missing(name, *arguments):
        if name == "mujoco":
            raise ImportError("No module named 'mujoco'")
        return original(name, *arguments)

    original = builtins.__import__
    monkeypatch.delitem(sys.modules, "mujoco")
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingPartError, match=r"pip install 'selfpaced\[mujoco\]'"):
        require_mujoco()


WITHOUT_GRAPHICS = """
import gymnasium, selfpaced
arm = gymnasium.make("selfpaced/BallCatching-v0", render_mode="rgb_array")
arm.reset(seed=0)
arm.step(arm.action_space.sample())
try:
    arm.render()
except selfpaced.SelfpacedError as error:
    print(error)
"""


def test_without_a_graphics_library_everything_works_but_pictures():
    # in a process of its own: MuJoCo is imported once
    command = [sys.executable, "-c", WITHOUT_GRAPHICS]
    environment = os.environ | {"MUJOCO_GL": "nonsense"}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "requires OpenGL, which does not work here (MUJOCO_GL=nonsense" in process.stdout
