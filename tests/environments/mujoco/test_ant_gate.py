"""The ant in front of the gate, against known answers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from selfpaced.environments.ant_gate import ANT_GATE_CONTEXTS, AntGate
from selfpaced.environments.base import HostEnvironment
from selfpaced.environments.mujoco.ant_gate import reward_of
from selfpaced.errors import SelfpacedError
from selfpaced.problems import Problem
from tests.environments.mujoco.ants import WIDE, change, contexts_for, make, walk

ANT = AntGate()
REST = np.zeros((1, 8))


def test_the_problem_is_that_of_the_paper():
    assert isinstance(ANT, HostEnvironment)
    assert (ANT.observation_size, len(ANT.action_low), ANT.max_episode_steps) == (31, 8, 750)
    assert (ANT_GATE_CONTEXTS.lower, ANT_GATE_CONTEXTS.upper) == ((-10, 3), (10, 13))
    np.testing.assert_array_equal(ANT_GATE_CONTEXTS.target.mean, [-8, 3])
    np.testing.assert_array_equal(ANT_GATE_CONTEXTS.initial.std, [3.2, 1.6])


def test_the_ant_is_that_of_gymnasium_but_for_torque_and_armature():
    model = make().simulations.model
    assert model.body_subtreemass[model.body("torso").id] == pytest.approx(0.91088, abs=1e-5)
    np.testing.assert_allclose(
        model.dof_M0[:6], [0.91088] * 3 + [0.12969] * 2 + [0.24942], rtol=1e-4
    )
    np.testing.assert_array_equal(model.dof_damping[6:], 1.0)
    np.testing.assert_array_equal(model.dof_armature[6:], 0.1)
    np.testing.assert_array_equal(model.actuator_gear[:, 0], 20.0)
    np.testing.assert_allclose(np.rad2deg(model.jnt_range[1:]), [[-30, 30], [30, 70]] * 4)


@pytest.mark.parametrize(
    ("x", "expected"), [(4.5, 6.0), (9.0, 6.0), (3.5, 1 + 5 * math.exp(-0.5)), (0.0, 1.0002)]
)
def test_the_reward_is_full_from_the_goal_on(x, expected):
    assert reward_of(np.array([x]), REST)[0] == pytest.approx(expected, abs=1e-5)


def test_the_reward_depends_on_the_next_position_and_the_applied_action():
    ants = make(3)
    ants.reset(seed=0, options={"context": [WIDE] * 3})
    for row, x in enumerate([0.0, 3.0, 6.0]):
        change(ants, row, x=x)
    actions = np.random.default_rng(0).normal(0, 2, (3, 8))
    observation, reward, *_, info = ants.step(actions)
    applied = np.clip(actions, -1, 1)
    missing = np.minimum(0, observation[:, 0] - 4.5)
    expected = 1 + 5 * np.exp(-0.5 * missing**2) - 0.3 * (applied**2).sum(axis=1)
    np.testing.assert_allclose(reward, expected, rtol=1e-5)
    np.testing.assert_array_equal(info["x_position"], observation[:, 0])


def test_actions_outside_the_box_act_and_cost_like_its_bounds():
    outcomes = []
    for size in (1.0, 50.0):
        ants = make()
        ants.reset(seed=0, options={"context": [WIDE]})
        outcomes.append(ants.step(np.full((1, 8), size))[:2])
    np.testing.assert_array_equal(*(np.hstack([o, r[:, None]]) for o, r in outcomes))


def test_a_positive_torque_turns_every_joint_forwards():
    for joint in range(8):
        ants = make()
        ants.reset(seed=0, options={"context": [WIDE]})
        change(ants, height=0.9)
        action = np.zeros((1, 8))
        rested = ants.get_state()
        still = ants.step(action)[0]
        ants.set_state(rested)
        action[0, joint] = 1.0
        moved = ants.step(action)[0] - still
        assert np.argmax(moved[0, 7:15]) == joint


def test_an_observation_shows_positions_velocities_and_context_in_this_order():
    ants = make(2)
    contexts = contexts_for(2)
    observation, info = ants.reset(seed=3, options={"context": contexts})
    assert observation.dtype == np.float32
    np.testing.assert_array_equal(observation[:, 29:], contexts.astype(np.float32))
    np.testing.assert_array_equal(info["context"], contexts)
    np.testing.assert_allclose(np.linalg.norm(observation[:, 3:7], axis=1), 1.0, rtol=1e-6)
    change(ants, 1, x=1.5, y=-2.5, vx=3.0, vy=-4.0, vz=1.0)
    after = ants.step(np.zeros((2, 8)))[0][1]
    np.testing.assert_allclose(after[:2], [1.65, -2.7], atol=0.02)
    np.testing.assert_allclose(after[15:17], [3.0, -4.0], atol=0.1)


def test_every_start_is_near_the_same_place_and_no_two_are_the_same():
    ants = make(200)
    observation, _ = ants.reset(seed=0)
    start = np.array([0, 0, 0.75] + [1, 0, 0, 0] + [0] * 8)
    offset = observation[:, :15] - start
    assert np.abs(offset[:, [0, 1, 2, *range(7, 15)]]).max() <= 0.1
    assert offset[:, [0, 1, 2, *range(7, 15)]].std(axis=0) == pytest.approx(0.0577, rel=0.15)
    assert observation[:, 15:29].std(axis=0) == pytest.approx(0.1, rel=0.2)


def test_being_behind_the_wall_is_success_and_does_not_end_the_episode():
    ants = make(3)
    ants.reset(seed=0, options={"context": [WIDE] * 3})
    for row, x in enumerate([3.3, 3.7, 9.0]):
        change(ants, row, x=x, vx=0.0)
    _, _, terminated, truncated, info = ants.step(np.zeros((3, 8)))
    np.testing.assert_array_equal(info["success"], [False, True, True])
    assert not (terminated | truncated).any()


@pytest.mark.parametrize(
    ("height", "vz", "ends"), [(0.99, -1.0, False), (0.99, 2.0, True), (1.2, 0.0, True)]
)
def test_an_ant_that_is_thrown_up_is_terminated(height, vz, ends):
    ants = make()
    ants.reset(seed=0, options={"context": [WIDE]})
    change(ants, height=height, vz=vz)
    observation, _, terminated, truncated, info = ants.step(REST)
    assert bool(terminated[0]) is ends is bool(observation[0, 2] > 1.0)
    assert not truncated[0]
    assert not info["unstable"][0]


def test_an_ant_below_the_ground_is_terminated():
    ants = make()
    ants.reset(seed=0, options={"context": [WIDE]})
    change(ants, height=-3.0)
    observation, _, terminated, _, info = ants.step(REST)
    assert terminated[0]
    assert observation[0, 2] < 0.2 or info["unstable"][0]


def test_contexts_of_a_problem_must_lie_in_the_box_that_the_ant_is_built_for():
    near = replace(ANT_GATE_CONTEXTS, lower=(-9.0, 3.0))
    assert Problem("near", "mine", ANT, near, 0.99).contexts is near
    far = replace(ANT_GATE_CONTEXTS, lower=(-15.0, 3.0))
    with pytest.raises(
        SelfpacedError, match=r"contexts of 'far' must lie inside .* AntGate is built for, got"
    ):
        Problem("far", "mine", ANT, far, 0.99)


def test_invalid_settings_are_refused():
    with pytest.raises(SelfpacedError, match="max_episode_steps must be positive, got 0"):
        AntGate(max_episode_steps=0)


def test_random_torques_keep_the_ant_on_its_feet_for_hundreds_of_steps():
    ants = make(24, num_threads=2)
    ants.reset(seed=0)
    *_, terminated, truncated, _ = walk(ants, 750)
    lengths = 750 - (terminated | truncated)[:-1].sum(axis=0)
    assert 350 < lengths.mean() < 700


def test_a_picture_shows_the_ant_and_both_ends_of_the_gate():
    contexts = [[-8.0, 3.0], [10.0, 13.0], [0.0, 8.0]]
    ants = make(3)
    ants.reset(seed=0, options={"context": contexts})
    try:
        pictures = [ants.render_row(row, 320, 240) for row in range(3)]
    except SelfpacedError as error:
        pytest.skip(str(error))
    for picture in pictures:
        assert picture.shape == (240, 320, 3)
        red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
        ant = (red > 2 * green) & (red > 2 * blue)
        posts = (red > 3 * blue) & (green > 0.6 * red)
        wall = (blue > 1.2 * red) & (blue > green)
        assert ant.sum() > 60
        assert wall.sum() > 1000
        columns = np.flatnonzero(posts.sum(axis=0) > 5)
        assert np.sum(np.diff(columns) > 20) == 1  # two posts, and a gap between them
        for shown in (ant, posts):  # nothing is cut off at the sides
            assert not shown[:, :4].any()
            assert not shown[:, -4:].any()
    # the ant stands to the left of a gate at -8, and to the right of one at 10
    middles = [np.nonzero((p[..., 0] > 2.0 * p[..., 1]).any(axis=0))[0].mean() for p in pictures]
    assert middles[0] < 120 < 200 < middles[1]
