"""The ant in front of the gate: known answers, and the manners of its vector environment."""

from __future__ import annotations

import importlib.util
import math

import gymnasium
import numpy as np
import pytest

from selfpaced.environments.ant_gate import ANT_GATE_CONTEXTS, AntGate
from selfpaced.environments.host import HostEnvironment
from selfpaced.environments.mujoco_library import require_mujoco
from selfpaced.settings import SelfpacedError

if importlib.util.find_spec("mujoco") is None:
    pytest.skip("needs mujoco", allow_module_level=True)
require_mujoco()  # before anybody imports it: this chooses how pictures are drawn

from selfpaced.environments.ant_gate_vector import MAX_SPEED, reward_of  # noqa: E402

ANT = AntGate()
WIDE = [0.0, 13.0]
REST = np.zeros((1, 8))


@pytest.fixture
def make():
    """Ants that are closed at the end."""
    made = []

    def build(num=1, num_threads=1, **settings):
        made.append(AntGate(**settings).make(num, num_threads))
        return made[-1]

    yield build
    for ants in made:
        ants.close()


def contexts_for(num, seed=0):
    low, high = ANT_GATE_CONTEXTS.lower, ANT_GATE_CONTEXTS.upper
    return np.random.default_rng(seed).uniform(low, high, (num, 2))


def change(ants, row=0, **columns):
    """Move an ant: x, y, height, or its velocity along them."""
    state = ants.get_state()
    places = {"x": 1, "y": 2, "height": 3, "vx": 16, "vy": 17, "vz": 18}
    for name, value in columns.items():
        state["simulation"][row, places[name]] = value
    ants.set_state(state)


def walk(ants, num_steps, seed=0):
    """Every output of some random steps."""
    rng = np.random.default_rng(seed)
    shape = ants.action_space.shape
    steps = [ants.step(rng.standard_normal(shape)) for _ in range(num_steps)]
    *columns, infos = zip(*steps, strict=True)
    return [np.array(column) for column in columns] + [np.array([i["success"] for i in infos])]


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_problem_is_that_of_the_paper():
    assert isinstance(ANT, HostEnvironment)
    assert (ANT.observation_size, len(ANT.action_low), ANT.max_episode_steps) == (31, 8, 750)
    assert (ANT_GATE_CONTEXTS.lower, ANT_GATE_CONTEXTS.upper) == ((-10, 3), (10, 13))
    np.testing.assert_array_equal(ANT_GATE_CONTEXTS.target.mean, [-8, 3])
    np.testing.assert_array_equal(ANT_GATE_CONTEXTS.initial.std, [3.2, 1.6])


def test_the_ant_is_that_of_gymnasium_but_for_torque_and_armature(make):
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


def test_a_step_is_paid_for_where_it_led_and_for_what_was_applied(make):
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


def test_actions_beyond_the_box_act_and_cost_as_its_border(make):
    outcomes = []
    for size in (1.0, 50.0):
        ants = make()
        ants.reset(seed=0, options={"context": [WIDE]})
        outcomes.append(ants.step(np.full((1, 8), size))[:2])
    assert_same(*outcomes)


def test_a_positive_torque_turns_every_joint_forwards(make):
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


def test_an_observation_shows_positions_velocities_and_context_in_this_order(make):
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


def test_every_start_is_near_the_same_place_and_no_two_are_the_same(make):
    ants = make(200)
    observation, _ = ants.reset(seed=0)
    start = np.array([0, 0, 0.75] + [1, 0, 0, 0] + [0] * 8)
    offset = observation[:, :15] - start
    assert np.abs(offset[:, [0, 1, 2, *range(7, 15)]]).max() <= 0.1
    assert offset[:, [0, 1, 2, *range(7, 15)]].std(axis=0) == pytest.approx(0.0577, rel=0.15)
    assert observation[:, 15:29].std(axis=0) == pytest.approx(0.1, rel=0.2)


def test_being_behind_the_wall_is_success_and_not_the_end(make):
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
def test_an_ant_that_is_thrown_up_is_terminated(make, height, vz, ends):
    ants = make()
    ants.reset(seed=0, options={"context": [WIDE]})
    change(ants, height=height, vz=vz)
    observation, _, terminated, truncated, info = ants.step(REST)
    assert bool(terminated[0]) is ends is bool(observation[0, 2] > 1.0)
    assert not truncated[0]
    assert not info["unstable"][0]


def test_an_ant_below_the_ground_is_terminated(make):
    ants = make()
    ants.reset(seed=0, options={"context": [WIDE]})
    change(ants, height=-3.0)
    observation, _, terminated, _, info = ants.step(REST)
    assert terminated[0]
    assert observation[0, 2] < 0.2 or info["unstable"][0]


def test_the_time_limit_truncates_and_a_fall_in_the_last_step_terminates(make):
    ants = make(2, max_episode_steps=3)
    ants.reset(seed=0, options={"context": [WIDE] * 2})
    for _ in range(2):
        _, _, terminated, truncated, _ = ants.step(np.zeros((2, 8)))
        assert not (terminated | truncated).any()
    change(ants, 1, height=1.5)
    _, _, terminated, truncated, _ = ants.step(np.zeros((2, 8)))
    np.testing.assert_array_equal(terminated, [False, True])
    np.testing.assert_array_equal(truncated, [True, False])


def test_a_row_whose_episode_is_over_stays_as_it_is_until_it_is_reset(make):
    ants = make(2)
    ants.reset(seed=0, options={"context": [WIDE] * 2})
    change(ants, 0, height=2.0)
    ended, *_ = ants.step(np.zeros((2, 8)))
    for _ in range(3):
        observation, reward, terminated, truncated, _ = ants.step(np.ones((2, 8)))
        np.testing.assert_array_equal(observation[0], ended[0])
        assert (reward[0], terminated[0], truncated[0]) == (0.0, True, False)
        assert not terminated[1]
    kept = observation[1]
    mask = np.array([True, False])
    observation, info = ants.reset(seed=5, options={"context": [[-8, 3]] * 2, "reset_mask": mask})
    np.testing.assert_array_equal(observation[1], kept)
    np.testing.assert_array_equal(info["context"], [[-8, 3], WIDE])
    assert not ants.step(np.zeros((2, 8)))[2].any()


def test_a_row_depends_on_its_own_seed_and_context_alone(make):
    contexts = contexts_for(6)
    many, one = make(6, num_threads=2), make()
    many.reset(seed=[7, 1, None, 42, 3, 3], options={"context": contexts})
    observations, rewards, *_ = walk(many, 20)
    one.reset(seed=42, options={"context": contexts[[3]]})
    rng = np.random.default_rng(0)
    for time in range(20):
        observation, reward, *_ = one.step(rng.standard_normal((6, 8))[[3]])
        np.testing.assert_array_equal(observation[0], observations[time, 3])
        assert reward[0] == rewards[time, 3]


def test_the_saved_state_goes_on_to_the_same_bits_in_another_process_or_here(make):
    ants, twin = make(5), make(5, num_threads=2)
    ants.reset(seed=1, options={"context": contexts_for(5)})
    walk(ants, 30)
    change(ants, 2, height=3.0)
    walk(ants, 1)  # one row is over
    state = ants.get_state()
    expected, drawn = walk(ants, 20), ants.reset()
    twin.set_state(state)
    assert_same(walk(twin, 20), expected)
    np.testing.assert_array_equal(twin.reset()[0], drawn[0])
    ants.set_state(state)
    assert_same(walk(ants, 20), expected)


@pytest.mark.parametrize("speed", [1.5 * MAX_SPEED, 1e5, 1e12, np.nan])
def test_an_unstable_row_ends_alone(make, speed):
    ants, others = make(3), make(3)
    for one in (ants, others):
        first, _ = one.reset(seed=0, options={"context": contexts_for(3)})
    change(ants, 1, vx=speed)
    observation, reward, terminated, truncated, info = ants.step(np.zeros((3, 8)))
    expected, *_ = others.step(np.zeros((3, 8)))
    np.testing.assert_array_equal(info["unstable"], [False, True, False])
    np.testing.assert_array_equal(terminated, [False, True, False])
    assert not truncated.any()
    assert reward[1] == 0.0
    np.testing.assert_array_equal(observation[1], first[1])
    np.testing.assert_array_equal(observation[[0, 2]], expected[[0, 2]])
    mask = np.array([False, True, False])
    ants.reset(seed=0, options={"context": contexts_for(3), "reset_mask": mask})
    assert not ants.step(np.zeros((3, 8)))[4]["unstable"].any()


def test_without_a_context_every_row_draws_one_from_the_target(make):
    ants = make(300)
    drawn = ants.reset(seed=0)[1]["context"]
    assert ANT_GATE_CONTEXTS.contains(drawn).all()
    assert drawn[:, 0].mean() == pytest.approx(-8, abs=0.003)
    assert drawn[:, 0].std() == pytest.approx(0.01, rel=0.15)


@pytest.mark.parametrize(
    ("context", "complaint"),
    [
        ([[0.0, 2.0]], r"'gate_width' must lie in \[3, 13\], got 2"),
        ([[np.nan, 5.0]], "'gate_position' must lie in"),
        ([0.0, 5.0], r"want shape \(1, 2\) \(gate_position, gate_width\)"),
    ],
)
def test_bad_contexts_are_refused_and_change_nothing(make, context, complaint):
    ants = make()
    ants.reset(seed=0)
    state = ants.get_state()
    with pytest.raises(SelfpacedError, match=complaint):
        ants.reset(seed=1, options={"context": context})
    assert_same(ants.get_state().values(), state.values())


def test_settings_check_themselves():
    with pytest.raises(SelfpacedError, match="max_episode_steps must be positive, got 0"):
        AntGate(max_episode_steps=0)


def test_nothing_resets_by_itself(make):
    assert make().metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.DISABLED
    assert make().metadata["render_fps"] == 20


def test_random_torques_keep_the_ant_on_its_feet_for_hundreds_of_steps(make):
    ants = make(24, num_threads=2)
    ants.reset(seed=0)
    *_, terminated, truncated, _ = walk(ants, 750)
    lengths = 750 - (terminated | truncated)[:-1].sum(axis=0)
    assert 350 < lengths.mean() < 700


@pytest.mark.parametrize("context", [(-8.0, 3.0), (10.0, 13.0), (0.0, 8.0)])
def test_a_picture_shows_the_ant_and_both_ends_of_the_gate(make, context):
    ants = make(2)
    ants.reset(seed=0, options={"context": [WIDE, context]})
    try:
        picture = ants.render_row(1, 320, 240).astype(int)
    except SelfpacedError as error:
        pytest.skip(str(error))
    assert picture.shape == (240, 320, 3)
    red, green, blue = np.moveaxis(picture, 2, 0)
    ant = (red > 2 * green) & (red > 2 * blue)
    posts = (red > 3 * blue) & (green > 0.6 * red)
    wall = (blue > 1.2 * red) & (blue > green)
    assert ant.sum() > 60
    assert wall.sum() > 1000
    columns = np.flatnonzero(posts.sum(axis=0) > 5)
    assert np.sum(np.diff(columns) > 20) == 1  # two posts, and a gap between them
    # nothing of either is cut off at the sides
    for shown in (ant, posts):
        assert not shown[:, :4].any()
        assert not shown[:, -4:].any()
