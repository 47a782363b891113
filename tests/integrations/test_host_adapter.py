"""The adapter of problems on the host: Gymnasium's rules, clear errors, pictures."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import dataclass
from importlib.util import find_spec

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS, BallCatching
from selfpaced.environments.base import HasPicture, RendersRows, SavesState
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.environments.mujoco.library import require_mujoco
from selfpaced.errors import SelfpacedError
from selfpaced.integrations.host_adapter import HostAdapter
from selfpaced.problems import Problem
from selfpaced.registry import PROBLEMS

if find_spec("mujoco") is None:
    pytest.skip("requires mujoco", allow_module_level=True)
require_mujoco()  # imports it with the graphics library that pictures need

from selfpaced.environments.mujoco import renderer  # noqa: E402

CATCHING = Problem("catching", "catch a ball", BallCatching(), BALL_CATCHING_CONTEXTS, 0.995)
NEAR = [0.68, 0.9, 0.85]
REST = np.zeros(5)


def has_graphics():
    vector = BallCatching().make(1)
    try:
        vector.render_row(0, 32, 32)
    except SelfpacedError:
        return False
    finally:
        vector.close()
    return True


needs_graphics = pytest.mark.skipif(not has_graphics(), reason="OpenGL does not work here")


def finish_episode(adapter):
    for _ in range(300):
        step = adapter.step(REST)
        if step[2] or step[3]:
            return step
    raise AssertionError("the episode does not end")


@pytest.mark.parametrize("render_mode", [None, pytest.param("rgb_array", marks=needs_graphics)])
def test_gymnasiums_checker_finds_no_mistakes(render_mode):
    # true of this robot: the limits of joint velocities differ
    known = ("symmetric and normalized", "render modes")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(HostAdapter(CATCHING, render_mode), skip_render_check=render_mode is None)
    messages = [str(warning.message) for warning in caught]
    assert [text for text in messages if not any(part in text for part in known)] == []


def test_it_is_a_vector_of_one_with_the_same_episode():
    adapter, vector = HostAdapter(CATCHING), BallCatching().make(1)
    observation, info = adapter.reset(seed=4, options={"context": NEAR})
    assert info == {"context": pytest.approx(NEAR), "success": False}
    seed = int(np.random.Generator(np.random.PCG64(np.random.SeedSequence(4))).integers(2**31))
    same, _ = vector.reset(seed=[seed], options={"context": np.array([NEAR])})
    np.testing.assert_array_equal(observation, same[0])
    for _ in range(60):
        observation, reward, terminated, truncated, info = adapter.step(REST)
        expected = vector.step(REST[None])
        np.testing.assert_array_equal(observation, expected[0][0])
        assert (reward, terminated, truncated) == tuple(array[0] for array in expected[1:4])
        assert {type(terminated), type(truncated), type(info["success"])} == {bool}
        assert type(reward) is float
        if terminated:
            break
    assert terminated


def test_the_contexts_seen_are_exactly_the_contexts_given_or_drawn_from_the_target():
    adapter = HostAdapter(CATCHING)
    given = np.random.default_rng(3).uniform(
        BALL_CATCHING_CONTEXTS.lower, BALL_CATCHING_CONTEXTS.upper, (5, 3)
    )
    for context in given:
        _, info = adapter.reset(options={"context": context})
        np.testing.assert_array_equal(info["context"], context)
        np.testing.assert_array_equal(finish_episode(adapter)[4]["context"], context)
    adapter.reset(seed=0)
    drawn = np.array([adapter.reset()[1]["context"] for _ in range(300)])
    assert BALL_CATCHING_CONTEXTS.contains(drawn).all()
    at_bounds = [drawn == BALL_CATCHING_CONTEXTS.lower, drawn == BALL_CATCHING_CONTEXTS.upper]
    np.testing.assert_allclose(at_bounds[0].mean(axis=0), [0.20, 0.26, 0.05], atol=0.08)
    np.testing.assert_allclose(at_bounds[1].mean(axis=0), [0.26, 0.26, 0.05], atol=0.08)


def test_an_adapter_can_be_copied_and_pickled_in_the_middle_of_an_episode():
    adapter = HostAdapter(CATCHING)
    adapter.reset(seed=0)
    adapter.step(REST)
    twins = copy.deepcopy(adapter), pickle.loads(pickle.dumps(adapter))
    expected = adapter.step(REST)[0], adapter.reset()[0]
    for twin in twins:
        np.testing.assert_array_equal((twin.step(REST)[0], twin.reset()[0]), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": [0.68, 0.9]}, r"must be 3 numbers \(angle, radius, distance\).*shape \(2,\)"),
        ({"context": [0.68, 0.9, 5.0]}, r"'distance' must lie in \[0.75, 4\], got 5"),
        ({"context": [np.nan, 0.9, 1.0]}, "'angle' must lie in .* got nan"),
        ({"contexts": NEAR}, r"options of reset\(\) must be 'context', got contexts"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(SelfpacedError, match=message):
        HostAdapter(CATCHING).reset(options=options)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0.0], r"must have 5 components, got an array of shape \(1,\)"),
        ([0.0, np.nan, 0.0, 0.0, 0.0], "must be finite, got .0.0, nan"),
        (["left"] * 5, "must be 5 numbers, got .'left'"),
    ],
)
def test_bad_actions_are_refused(action, message):
    adapter = HostAdapter(CATCHING)
    adapter.reset(seed=0)
    with pytest.raises(SelfpacedError, match=message):
        adapter.step(action)


def test_a_step_outside_an_episode_and_unknown_names_are_refused():
    adapter = HostAdapter(CATCHING)
    with pytest.raises(SelfpacedError, match="before the first reset"):
        adapter.step(REST)
    adapter.reset(options={"context": NEAR})
    finish_episode(adapter)
    with pytest.raises(SelfpacedError, match="after the end of the episode"):
        adapter.step(REST)
    with pytest.raises(SelfpacedError, match="render_mode must be one of rgb_array, got 'human'"):
        HostAdapter(CATCHING, render_mode="human")
    with pytest.raises(SelfpacedError, match=r"problem must be one of .*, got 'catching-balls'"):
        HostAdapter("catching-balls")
    adapter.close()


@needs_graphics
def test_a_picture_shows_ball_net_and_arm_and_follows_the_ball():
    adapter = HostAdapter(CATCHING, render_mode="rgb_array")
    adapter.reset(seed=0, options={"context": NEAR})
    first = adapter.render()
    assert (first.shape, first.dtype) == ((480, 640, 3), np.uint8)
    red, green, blue = (first[..., channel].astype(int) for channel in range(3))
    ball = (red > 180) & (green < 140) & (blue < 90)
    net = (green > red + 40) & (blue > red + 40) & (red < 80)
    shell = (red > 200) & (abs(red - blue) < 12) & (abs(red - green) < 12)
    dark = (red < 80) & (abs(red - blue) < 30)
    assert 20 < ball.sum() < 500
    assert 100 < net.sum() < 3000
    assert shell.sum() > 1000
    assert dark.sum() > 3000
    for _ in range(20):
        adapter.step(REST)
    later = adapter.render()
    assert (first != later).any(axis=2).sum() > 50
    np.testing.assert_array_equal(adapter.render(), later)
    adapter.close()


@needs_graphics
def test_pictures_have_the_requested_size():
    adapter = HostAdapter(CATCHING, render_mode="rgb_array", width=700, height=500)
    adapter.reset(seed=0)
    assert adapter.render().shape == (500, 700, 3)
    vector = BallCatching().make(2)
    vector.reset(seed=0)
    assert vector.render_row(1, 80, 60).shape == (60, 80, 3)
    assert (vector.render_row(1, 80, 60) != vector.render_row(0, 80, 60)).any()
    vector.close()


def test_without_graphics_only_rendering_fails_with_instructions(monkeypatch):
    tries = []

    def broken(*arguments, **settings):
        tries.append(arguments)
        raise RuntimeError("no display")

    monkeypatch.setattr(renderer.mujoco, "Renderer", broken)
    monkeypatch.setattr(renderer, "graphics_failures", [])
    adapter = HostAdapter(CATCHING, render_mode="rgb_array")
    adapter.reset(seed=0)
    for _ in range(2):
        with pytest.raises(SelfpacedError, match=r"no display.*everything else works without it"):
            adapter.render()
    assert len(tries) == 1  # some libraries end the process at the second try
    adapter.step(REST)


@dataclass(frozen=True)
class Undrawn:
    """An environment on the host whose vectors cannot be drawn or saved."""

    observation_size = 2
    action_low, action_high = (-1.0,), (1.0,)
    min_episode_steps, max_episode_steps = 1, 10
    max_side_by_side = 10

    def make(self, num_envs, num_threads=1):
        vector = gymnasium.vector.VectorEnv()
        vector.single_observation_space = gymnasium.spaces.Box(-1, 1, (2,))
        vector.single_action_space = gymnasium.spaces.Box(-1, 1, (1,))
        return vector


def test_an_environment_without_a_picture_is_refused_for_rendering_only():
    problem = Problem("undrawn", "no picture", Undrawn(), PROBLEMS["point-mass-2d"].contexts, 0.95)
    HostAdapter(problem)
    message = "rendering is not implemented for 'undrawn'; omit render_mode"
    with pytest.raises(SelfpacedError, match=message):
        HostAdapter(problem, render_mode="rgb_array")


def test_a_vector_of_robots_renders_and_saves_and_a_gymnasium_vector_only_renders():
    gymnasium_environment = GymnasiumEnvironment("Pendulum-v1")
    robots, copies = BallCatching().make(1), gymnasium_environment.make(1)
    assert isinstance(BallCatching(), HasPicture)
    assert isinstance(gymnasium_environment, HasPicture)
    assert isinstance(robots, RendersRows)
    assert isinstance(robots, SavesState)
    assert isinstance(copies, RendersRows)
    assert not isinstance(copies, SavesState)
    robots.close()
    copies.close()


def test_a_gymnasium_environment_has_an_adapter_that_cannot_be_copied():
    contexts = PROBLEMS["point-mass-2d"].contexts
    environment = GymnasiumEnvironment("selfpaced/PointMass2D-v0", time_limit=100)
    adapter = HostAdapter(Problem("mine", "my own", environment, contexts, 0.95))
    _, info = adapter.reset(seed=0, options={"context": [1.0, 2.0]})
    assert info == {"context": pytest.approx([1.0, 2.0]), "success": False}
    *_, info = adapter.step(np.zeros(2))
    flags = {"success": False, "unstable": False}
    assert info == {"context": pytest.approx([1.0, 2.0]), **flags}
    with pytest.raises(SelfpacedError, match="'mine' cannot be copied"):
        copy.deepcopy(adapter)
    adapter.close()


def test_settings_of_the_environment_go_through_gymnasium_make():
    adapter = gymnasium.make("selfpaced/BallCatching-v0", normal="axis").unwrapped
    assert adapter.problem.environment == BallCatching(normal="axis")
    assert adapter.vector.environment.normal == "axis"
    with pytest.raises(
        SelfpacedError, match=r"setting of catching must be .*'norm'; did you mean 'normal'"
    ):
        HostAdapter(CATCHING, norm="axis")
    with pytest.raises(SelfpacedError, match="normal"):
        HostAdapter(CATCHING, normal="diagonal")


@pytest.mark.parametrize("size", [(0, 480), (640, 100_000)])
def test_sizes_of_pictures_that_cannot_be_drawn_are_refused(size):
    adapter = HostAdapter(CATCHING, "rgb_array", *size)
    adapter.reset(seed=0)
    with pytest.raises(SelfpacedError, match="between 16 and 4096 pixels"):
        adapter.render()


def test_a_problem_in_jax_is_refused():
    with pytest.raises(SelfpacedError, match=r"must be simulated on the host, .*; use JaxAdapter"):
        HostAdapter("point-mass-2d")
