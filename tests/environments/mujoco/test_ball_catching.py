"""The rules of ball catching: recorded throws, known returns, rewards, contacts, observations."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS, BallCatching
from selfpaced.environments.mujoco.ball_catching import CONTROLLED, START
from selfpaced.errors import SelfpacedError
from tests.environments.mujoco.arms import BALL, BALL_VELOCITY, MODEL, arms, net_of, place

REST = np.zeros(5)

# joints 1, 3, 4, 5, 6; ball; their velocities; steps until the episode ends; caught
THROWS = [
    (
        [0.39849, 1.45087, -0.00210, 0.04213, 0.01912],
        [0.75000, -0.73431, 0.92675],
        [0.05673, -0.01007, 0.01623, 0.04924, -0.04256],
        [-1.39535, 0.05875, 3.39125],
        (53, True),
    ),
    (
        [0.41121, 1.49638, 0.03071, 0.02128, -0.02468],
        [1.22215, -0.67715, 1.07655],
        [-0.03791, -0.01247, -0.03390, 0.05620, -0.11996],
        [-2.17810, -0.00604, 3.17125],
        (56, True),
    ),
    (
        [0.37186, 1.45182, -0.04735, -0.03667, -0.02215],
        [0.75309, -0.73936, 1.53277],
        [0.02009, 0.05339, 0.03794, 0.12521, 0.01343],
        [-1.40069, 0.15482, 2.19800],
        (52, True),
    ),
    (  # the palm is hit
        [0.44488, 1.51409, -0.01303, 0.04202, 0.04359],
        [1.13271, -0.68260, 1.28029],
        [-0.02294, 0.05625, -0.01732, -0.00541, 0.11341],
        [-2.03492, 0.04012, 2.77238],
        (55, False),
    ),
    (  # so it is here
        [0.42516, 1.54546, 0.01093, -0.00248, -0.00488],
        [1.24042, -0.73182, 1.37134],
        [-0.01013, -0.01581, 0.01270, -0.03142, 0.00577],
        [-2.20707, 0.14590, 2.66356],
        (56, False),
    ),
    (  # the ball falls to the ground
        [0.43628, 1.53268, 0.01788, -0.03479, 0.01382],
        [1.09185, -0.69261, 0.87679],
        [0.02516, -0.01015, 0.02203, 0.05081, 0.02693],
        [-1.96875, -0.05464, 3.56864],
        (92, False),
    ),
]


def test_recorded_throws_end_in_the_same_step_with_the_same_outcome():
    joints, ball, speeds, velocity, ends = (list(column) for column in zip(*THROWS, strict=True))
    vector = arms(len(THROWS))
    place(vector, joints, ball, speeds, velocity)
    lengths = np.zeros(len(THROWS), int)
    for _ in range(100):
        lengths += ~vector.get_state()["ended"]
        *_, info = vector.step(np.zeros((len(THROWS), 5)))
    assert list(zip(lengths.tolist(), info["success"].tolist(), strict=True)) == ends


@pytest.mark.parametrize(
    ("role", "known", "error", "num"), [("target", 20.3, 0.5, 300), ("initial", 46.4, 1.8, 300)]
)
def test_a_policy_without_actions_has_the_known_return(role, known, error, num):
    gaussian = getattr(BALL_CATCHING_CONTEXTS, role)
    contexts = BALL_CATCHING_CONTEXTS.clip(gaussian.sample(np.random.default_rng(0), num))
    vector = BallCatching().make(num)
    vector.reset(seed=0, options={"context": contexts})
    total, discount, lengths = np.zeros(num), 1.0, np.zeros(num)
    while not vector.get_state()["ended"].all():
        lengths += ~vector.get_state()["ended"]
        _, reward, _, _, info = vector.step(np.zeros((num, 5)))
        total += discount * reward
        discount *= 0.995
    own_error = total.std() / math.sqrt(num)
    assert abs(total.mean() - known) < 3 * math.hypot(error, own_error)
    assert lengths.mean() == pytest.approx(88 if role == "target" else 54, abs=4)
    caught = info["success"].mean()
    assert caught == pytest.approx(0.02 if role == "target" else 0.85, abs=0.06)


def test_the_reward_of_a_step_is_a_bonus_minus_the_raw_action_squared():
    vector = arms(2)
    action = np.array([[1.0, -2.0, 0.5, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0, 100.0]])
    reward = vector.step(action)[1]
    np.testing.assert_allclose(reward, [0.275 - 0.005 * 14.25, 0.275 - 0.005 * 1e4], rtol=1e-6)


def throw_at_net(normal, direction, action=REST):
    """Throw a ball from just outside the net into it; return the last step and the net."""
    vector = arms(normal=normal)
    place(vector)
    centre, rotation = net_of(vector)
    direction = np.array(direction) / np.linalg.norm(direction)
    # a ball of radius 0.02 before a disc of half its height 0.01, two millimetres away
    place(vector, ball=centre + rotation[:, 2] * -0.032, velocity=3.0 * direction)
    _, reward, terminated, _, info = vector.step(action[None])
    assert terminated[0]
    assert info["success"][0]
    return float(reward[0]), vector.simulations.states[0, BALL_VELOCITY], rotation


@pytest.mark.parametrize("normal", ["released", "axis"])
@pytest.mark.parametrize("direction", [(-1, 0, 0), (-1, -0.5, -0.3), (-1, 0.2, -0.6)])
def test_a_catch_pays_for_the_alignment_of_unit_vectors(normal, direction):
    action = np.array([0.1, 0.0, 0.0, 0.0, 0.0])
    reward, velocity, rotation = throw_at_net(normal, direction, action)
    compared = rotation[2] if normal == "released" else rotation[:, 2]
    cosine = compared @ velocity / np.linalg.norm(velocity)
    # the net moves by less than a hundredth of a radian before the ball arrives
    assert reward == pytest.approx(0.275 - 0.005 * 0.01 + 50 + 25 * cosine**5, abs=0.5)


def test_the_axis_of_the_net_rewards_a_straight_catch_most_and_the_released_row_does_not():
    straight = throw_at_net("axis", (-1, 0, 0))[0]
    assert straight == pytest.approx(75.275, abs=0.05)
    assert throw_at_net("axis", (-1, -0.5, 0))[0] < straight
    released = throw_at_net("released", (-1, 0, 0))[0]
    assert released == pytest.approx(50.275 + 25 * 0.9463**5, abs=0.2)


def test_a_catch_from_behind_costs_the_bonus_for_alignment():
    vector = arms(normal="axis")
    place(vector)
    centre, rotation = net_of(vector)
    place(vector, ball=centre + rotation[:, 2] * 0.032, velocity=3.0 * -rotation[:, 2])
    _, reward, _, _, info = vector.step(REST[None])
    assert info["success"][0]
    assert float(reward[0]) == pytest.approx(25.275, abs=0.05)


def test_the_contact_ends_the_step_in_the_substep_that_finds_it():
    vector = arms()
    # 1.1 mm above contact with the ground at 1 m/s: inside after one substep, found in the second
    place(vector, ball=(3.0, 0.0, 0.0211), velocity=(0.0, 0.0, -1.0))
    before = vector.simulations.states[0, 0]
    _, reward, terminated, truncated, info = vector.step(np.ones((1, 5)))
    assert terminated[0]
    assert not truncated[0]
    assert not info["success"][0]
    assert float(reward[0]) == pytest.approx(0.275 - 0.025)  # the cost of a whole step
    assert vector.simulations.states[0, 0] - before == pytest.approx(2 * 0.002)
    np.testing.assert_allclose(vector.get_state()["desired"][0, 1], 0.4 + 2 * 0.002)


def test_a_ball_that_touches_net_and_palm_at_once_is_not_caught():
    vector = arms()
    place(vector)
    data = mujoco.MjData(MODEL)
    vector.simulations.load(0, data)
    palm = data.body("palm")
    along, across = palm.xmat.reshape(3, 3)[:, 2], data.body("net").xmat.reshape(3, 3)[:, 2]
    # in the corner between the front of the palm and the flat side of the net
    place(vector, ball=palm.xpos + 0.0245 * along - 0.0145 * across)
    vector.simulations.load(0, data)
    pairs = [{MODEL.geom(i).name for i in contact.geom} for contact in data.contact[: data.ncon]]
    touched = [pair - {"ball"} for pair in pairs if "ball" in pair]
    assert touched == [{"palm"}, {"net"}]  # the order in which MuJoCo lists contacts
    _, reward, terminated, _, info = vector.step(REST[None])
    assert terminated[0]
    assert not info["success"][0]
    assert float(reward[0]) == pytest.approx(0.275)


def test_the_ball_flies_to_the_point_that_the_context_describes():
    rng = np.random.default_rng(1)
    contexts = rng.uniform(BALL_CATCHING_CONTEXTS.lower, BALL_CATCHING_CONTEXTS.upper, (50, 3))
    vector = BallCatching().make(50)
    vector.reset(seed=0, options={"context": contexts})
    start, velocity = (vector.simulations.states[:, part] for part in (BALL, BALL_VELOCITY))
    angle, radius, distance = contexts.T
    time = (0.5 + 0.05 * distance)[:, None]
    end = start + velocity * time - 0.5 * 9.81 * time**2 * np.array([0, 0, 1])
    goal = np.stack([0 * angle, -radius * np.cos(angle), 0.75 + radius * np.sin(angle)], axis=1)
    np.testing.assert_allclose(end, goal, atol=1e-12)
    np.testing.assert_array_equal(start[:, 0], distance)


def test_starts_of_episodes_have_the_published_spread():
    vector = BallCatching().make(2000)
    vector.reset(seed=0)
    states = vector.simulations.states
    ball = states[:, BALL]
    assert -0.75 < ball[:, 1].min() < -0.749
    assert -0.651 < ball[:, 1].max() < -0.65
    assert 0.8 < ball[:, 2].min() < 0.81
    assert 1.79 < ball[:, 2].max() < 1.8
    moved = states[:, 1:8] - START
    assert (moved[:, [0, 2]] == 0).all()
    np.testing.assert_allclose(np.abs(moved[:, CONTROLLED]).max(axis=0), 0.05, atol=2e-4)
    np.testing.assert_allclose(moved[:, CONTROLLED].std(axis=0), 0.1 / math.sqrt(12), rtol=0.06)
    speeds = states[:, 11:18]
    assert (speeds[:, [0, 2]] == 0).all()
    np.testing.assert_allclose(speeds[:, CONTROLLED].std(axis=0), 0.05, rtol=0.08)
    np.testing.assert_array_equal(vector.get_state()["desired"], states[:, 1:8])


def test_the_observation_has_the_published_order_and_is_clipped():
    vector = arms(max_episode_steps=2)
    place(vector, ball=(3.0, -20.0, 500.0), velocity=(-30.0, 1.0, 2.0))
    observation = vector.step(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]))[0][0]
    state = vector.simulations.states[0]
    desired = START[CONTROLLED] + 0.01 * np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(observation[:5], desired, rtol=1e-6)
    np.testing.assert_allclose(observation[5:10], state[1 + CONTROLLED], rtol=1e-6)
    np.testing.assert_allclose(observation[10:13], [3.0 - 0.3, -10, 10], rtol=1e-6)
    np.testing.assert_allclose(observation[13:18], state[11 + CONTROLLED], rtol=1e-6)
    np.testing.assert_allclose(observation[18:], [-10, 1.0, 2.0 - 0.0981], rtol=1e-6)
    assert observation.dtype == np.float32
    vector.step(np.full((1, 5), 1e6))
    assert np.abs(vector.step(np.zeros((1, 5)))[0]).max() == 10


def test_arm_shapes_pass_through_each_other_and_touch_everything_else():
    geoms = [MODEL.geom(index) for index in range(MODEL.ngeom)]

    def touch(first, second):
        return bool(
            first.contype[0] & second.conaffinity[0] or second.contype[0] & first.conaffinity[0]
        )

    pictures = [geom for geom in geoms if geom.contype[0] == geom.conaffinity[0] == 0]
    things = [geom for geom in geoms if geom.name in ("ball", "net", "ground")]
    arm = [geom for geom in geoms if geom.id not in {other.id for other in pictures + things}]
    assert len(arm) == 16
    assert len(things) == 3
    assert not any(touch(one, other) for one in arm for other in arm)
    assert all(touch(one, other) for one in arm for other in things)
    assert all(touch(one, other) for one in things for other in things)
    assert not any(touch(one, other) for one in pictures for other in geoms)


def test_no_episode_is_shorter_than_min_episode_steps():
    contexts = np.random.default_rng(0).uniform(
        BALL_CATCHING_CONTEXTS.lower, BALL_CATCHING_CONTEXTS.upper, (100, 3)
    )
    contexts[:, 2] = 0.75  # thrown from as near as can be
    vector = BallCatching().make(100)
    for scale in (10.0, 1e6):
        vector.reset(seed=0, options={"context": contexts})
        rng = np.random.default_rng(1)
        direction = scale * rng.choice([-1, 1], (100, 5))
        for _ in range(BallCatching().min_episode_steps):
            _, _, terminated, truncated, _ = vector.step(direction)
        assert not (terminated | truncated).any()
    assert BallCatching(max_episode_steps=7).min_episode_steps == 7


def test_invalid_settings_are_refused():
    with pytest.raises(
        SelfpacedError,
        match="normal must be one of released, axis, got 'axes'; did you mean 'axis'",
    ):
        BallCatching("axes")
    with pytest.raises(SelfpacedError, match="max_episode_steps must be positive, got 0"):
        BallCatching(max_episode_steps=0)
    assert BallCatching() == BallCatching("released")
    assert hash(BallCatching()) != hash(BallCatching("axis"))
