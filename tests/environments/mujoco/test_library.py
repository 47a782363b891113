"""Import of MuJoCo: changed defaults that do not touch the physics."""

import mujoco
import pytest

from selfpaced.environments.mujoco.library import load_model


@pytest.mark.parametrize("name", ["ball_catching.xml", "ant_gate.xml"])
def test_steps_are_not_timed(name):
    model = load_model(name)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=10)
    assert data.time > 0.0
    step = data.timer[mujoco.mjtTimer.mjTIMER_STEP]
    assert (step.number, step.duration) == (10, 0.0)
