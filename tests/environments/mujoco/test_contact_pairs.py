"""Listed pairs give the contacts that MuJoCo finds by itself, to the bit."""

import mujoco
import numpy as np
import pytest

from selfpaced.environments.mujoco.contact_pairs import list_pairs
from selfpaced.environments.mujoco.library import load_model, load_spec

JOINTS, BALL = slice(0, 7), slice(7, 10)


def stepped(model, positions):
    data = mujoco.MjData(model)
    data.qpos[:] = positions
    mujoco.mj_step(model, data)
    contacts = [
        (int(one.geom1), int(one.geom2), *one.solref, *one.solimp, *one.friction, one.dist)
        for one in data.contact
    ]
    return contacts, data.qpos.tolist(), data.qvel.tolist(), data.sensordata.tolist()


@pytest.mark.parametrize("target", ["anywhere", "net", "elbow"])
def test_the_arm_and_the_ball_touch_as_without_the_list(target):
    found, listed = load_model("ball_catching.xml"), list_pairs(load_spec("ball_catching.xml"))
    rng, num_contacts = np.random.default_rng(0), 0
    for _ in range(300):
        positions = np.zeros(10)
        positions[JOINTS] = rng.uniform(*found.jnt_range[JOINTS].T)
        positions[BALL] = rng.uniform((-0.7, -0.7, 0.0), (0.7, 0.7, 1.4))
        if target != "anywhere":
            data = mujoco.MjData(found)
            data.qpos[:] = positions
            mujoco.mj_kinematics(found, data)
            positions[BALL] = data.body(target).xpos + rng.uniform(-0.05, 0.05, 3)
        expected = stepped(found, positions)
        assert stepped(listed, positions) == expected
        num_contacts += len(expected[0])
    assert num_contacts > 20
    assert found.npair == 0 < listed.npair
