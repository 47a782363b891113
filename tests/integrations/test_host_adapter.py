"""Problems outside JAX behind Gymnasium's interface: its manners, clear complaints, pictures."""

from __future__ import annotations

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS, BallCatching
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.environments.mujoco import renderer as mujoco_picture
from selfpaced.environments.mujoco.renderer import Photographer
from selfpaced.errors import SelfpacedError
from selfpaced.integrations.host_adapter import HostFace
from selfpaced.problems import POINT_MASS_2D, Problem
from tests.environments.mujoco.arms import MODEL
from tests.probes import HostProbe, probe_problem

CATCHING = Problem("catching", "catch a ball", BallCatching(), BALL_CATCHING_CONTEXTS, 0.995)
NEAR = [0.68, 0.9, 0.85]
REST = np.zeros(5)


def has_graphics():
    try:
        Photographer(MODEL, 32, 32).close()
    except SelfpacedError:
        return False
    return True


needs_graphics = pytest.mark.skipif(not has_graphics(), reason="OpenGL does not work here")


def finish_episode(face):
    for _ in range(300):
        step = face.step(REST)
        if step[2] or step[3]:
            return step
    raise AssertionError("the episode does not end")


@pytest.mark.parametrize("render_mode", [None, pytest.param("rgb_array", marks=needs_graphics)])
def test_gymnasiums_checker_finds_nothing_that_matters(render_mode):
    # true of this robot: joints have different speeds
    known = ("symmetric and normalized", "render modes")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(HostFace(CATCHING, render_mode), skip_render_check=render_mode is None)
    messages = [str(warning.message) for warning in caught]
    assert [text for text in messages if not any(part in text for part in known)] == []


def test_it_is_a_vector_of_one_with_the_same_episode():
    face, vector = HostFace(CATCHING), BallCatching().make(1)
    observation, info = face.reset(seed=4, options={"context": NEAR})
    assert info == {"context": pytest.approx(NEAR), "success": False}
    seed = int(np.random.Generator(np.random.PCG64(np.random.SeedSequence(4))).integers(2**31))
    same, _ = vector.reset(seed=[seed], options={"context": np.array([NEAR])})
    np.testing.assert_array_equal(observation, same[0])
    for _ in range(60):
        observation, reward, terminated, truncated, info = face.step(REST)
        expected = vector.step(REST[None])
        np.testing.assert_array_equal(observation, expected[0][0])
        assert (reward, terminated, truncated) == tuple(array[0] for array in expected[1:4])
        assert {type(terminated), type(truncated), type(info["success"])} == {bool}
        assert type(reward) is float
        if terminated:
            break
    assert terminated


def test_the_contexts_seen_are_exactly_the_contexts_given_or_drawn_from_the_target():
    face = HostFace(CATCHING)
    given = np.random.default_rng(3).uniform(
        BALL_CATCHING_CONTEXTS.lower, BALL_CATCHING_CONTEXTS.upper, (5, 3)
    )
    for context in given:
        _, info = face.reset(options={"context": context})
        np.testing.assert_array_equal(info["context"], context)
        np.testing.assert_array_equal(finish_episode(face)[4]["context"], context)
    face.reset(seed=0)
    drawn = np.array([face.reset()[1]["context"] for _ in range(300)])
    assert BALL_CATCHING_CONTEXTS.contains(drawn).all()
    at_bounds = [drawn == BALL_CATCHING_CONTEXTS.lower, drawn == BALL_CATCHING_CONTEXTS.upper]
    np.testing.assert_allclose(at_bounds[0].mean(axis=0), [0.20, 0.26, 0.05], atol=0.08)
    np.testing.assert_allclose(at_bounds[1].mean(axis=0), [0.26, 0.26, 0.05], atol=0.08)


def test_a_face_can_be_copied_and_pickled_in_the_middle_of_an_episode():
    face = HostFace(CATCHING)
    face.reset(seed=0)
    face.step(REST)
    twins = copy.deepcopy(face), pickle.loads(pickle.dumps(face))
    expected = face.step(REST)[0], face.reset()[0]
    for twin in twins:
        np.testing.assert_array_equal((twin.step(REST)[0], twin.reset()[0]), expected)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"context": [0.68, 0.9]}, r"wants 3 numbers \(angle, radius, distance\).*shape \(2,\)"),
        ({"context": [0.68, 0.9, 5.0]}, r"'distance' must lie in \[0.75, 4\], got 5"),
        ({"context": [np.nan, 0.9, 1.0]}, "'angle' must lie in .* got nan"),
        ({"contexts": NEAR}, "one option, 'context', got contexts"),
    ],
)
def test_bad_options_are_refused(options, complaint):
    with pytest.raises(SelfpacedError, match=complaint):
        HostFace(CATCHING).reset(options=options)


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ([0.0], r"wants 5 components, got an array of shape \(1,\)"),
        ([0.0, np.nan, 0.0, 0.0, 0.0], "must be finite, got .0.0, nan"),
        (["left"] * 5, "wants 5 numbers, got .'left'"),
    ],
)
def test_bad_actions_are_refused(action, complaint):
    face = HostFace(CATCHING)
    face.reset(seed=0)
    with pytest.raises(SelfpacedError, match=complaint):
        face.step(action)


def test_a_step_outside_of_an_episode_and_unknown_names_are_refused():
    face = HostFace(CATCHING)
    with pytest.raises(SelfpacedError, match="before the first reset"):
        face.step(REST)
    face.reset(options={"context": NEAR})
    finish_episode(face)
    with pytest.raises(SelfpacedError, match="after the end of the episode"):
        face.step(REST)
    with pytest.raises(SelfpacedError, match="unknown render mode 'human'"):
        HostFace(CATCHING, render_mode="human")
    with pytest.raises(SelfpacedError, match="unknown problem 'catching-balls'"):
        HostFace("catching-balls")
    face.close()


@needs_graphics
def test_a_picture_shows_ball_net_and_arm_and_follows_the_ball():
    face = HostFace(CATCHING, render_mode="rgb_array")
    face.reset(seed=0, options={"context": NEAR})
    first = face.render()
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
        face.step(REST)
    later = face.render()
    assert (first != later).any(axis=2).sum() > 50
    np.testing.assert_array_equal(face.render(), later)
    face.close()


@needs_graphics
def test_pictures_come_in_the_size_that_is_asked_for():
    face = HostFace(CATCHING, render_mode="rgb_array", width=700, height=500)
    face.reset(seed=0)
    assert face.render().shape == (500, 700, 3)
    vector = BallCatching().make(2)
    vector.reset(seed=0)
    assert vector.render_row(1, 80, 60).shape == (60, 80, 3)
    assert (vector.render_row(1, 80, 60) != vector.render_row(0, 80, 60)).any()
    vector.close()


def test_without_graphics_the_way_to_get_them_is_said(monkeypatch):
    tries = []

    def broken(*arguments, **settings):
        tries.append(arguments)
        raise RuntimeError("no display")

    monkeypatch.setattr(mujoco_picture.mujoco, "Renderer", broken)
    monkeypatch.setattr(mujoco_picture, "graphics_failures", [])
    face = HostFace(CATCHING, render_mode="rgb_array")
    face.reset(seed=0)
    for _ in range(2):
        with pytest.raises(SelfpacedError, match=r"no display.*everything else works without it"):
            face.render()
    assert len(tries) == 1  # some libraries end the process when they are tried again
    face.step(REST)


def test_a_problem_that_nobody_has_drawn_says_so():
    with pytest.raises(SelfpacedError, match="nobody has drawn 'probe' yet"):
        HostFace(probe_problem(HostProbe()), render_mode="rgb_array")


def test_a_problem_of_ones_own_has_a_face_as_well():
    contexts = POINT_MASS_2D.contexts
    environment = GymnasiumEnvironment("selfpaced/PointMass2D-v0", time_limit=100)
    face = HostFace(Problem("mine", "somebody's", environment, contexts, 0.95))
    _, info = face.reset(seed=0, options={"context": [1.0, 2.0]})
    assert info == {"context": pytest.approx([1.0, 2.0]), "success": False}
    *_, info = face.step(np.zeros(2))
    flags = {"success": False, "unstable": False}
    assert info == {"context": pytest.approx([1.0, 2.0]), **flags}
    with pytest.raises(SelfpacedError, match="mine cannot be copied"):
        copy.deepcopy(face)
    face.close()


def test_settings_of_the_environment_go_through_gymnasium_make():
    face = gymnasium.make("selfpaced/BallCatching-v0", normal="axis").unwrapped
    assert face.problem.environment == BallCatching(normal="axis")
    assert face._vector.environment.normal == "axis"
    with pytest.raises(SelfpacedError, match="setting of catching 'norm': did you mean 'normal'"):
        HostFace(CATCHING, norm="axis")
    with pytest.raises(SelfpacedError, match="normal"):
        HostFace(CATCHING, normal="diagonal")


@pytest.mark.parametrize("size", [(0, 480), (640, 100_000)])
def test_pictures_have_a_sensible_size(size):
    face = HostFace(CATCHING, "rgb_array", *size)
    face.reset(seed=0)
    with pytest.raises(SelfpacedError, match="between 16 and 4096 pixels"):
        face.render()
