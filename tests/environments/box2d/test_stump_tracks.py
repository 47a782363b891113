"""Stump Tracks: the track, the success signal, the pictures."""

import gymnasium
import numpy as np
import pytest

from selfpaced.environments.stump_tracks import StumpTracks

pytest.importorskip("Box2D")
from gymnasium.envs.box2d.bipedal_walker import TERRAIN_STEP

from selfpaced.environments.box2d.stump_tracks import ID, SUCCESS_RETURN

PAD = 20 * TERRAIN_STEP
STILL = np.zeros(4)


def make(time_limit=2000):
    return gymnasium.make(ID, time_limit=time_limit, max_episode_steps=time_limit).unwrapped


def stumps(height, spacing, seed=0):
    """Return left ends and heights of the stumps of a track."""
    env = make()
    env.stump_height, env.stump_spacing = height, spacing
    env.reset(seed=seed)
    return env.stumps().T


@pytest.mark.parametrize("spacing", [0.5, 2.0, 6.0])
def test_stumps_follow_the_pad_at_equal_distances(spacing):
    left, _ = stumps(1.0, spacing)
    assert left[0] == pytest.approx(PAD, abs=1e-5)
    np.testing.assert_allclose(np.diff(left), spacing + TERRAIN_STEP, atol=1e-4)
    assert left[-1] + TERRAIN_STEP < 200 * TERRAIN_STEP < left[-1] + spacing + 2 * TERRAIN_STEP


def test_heights_vary_about_the_context_in_steps_of_the_terrain():
    heights = stumps(2.0, 0.1)[1] / TERRAIN_STEP
    assert len(heights) > 100
    assert heights.mean() == pytest.approx(2.0, abs=0.05)
    assert heights.std() == pytest.approx(0.1, rel=0.3)


def test_the_easiest_track_has_stumps_that_are_almost_flat_and_the_densest_is_finite():
    assert stumps(-3.0, 6.0)[1] == pytest.approx(0.05 * TERRAIN_STEP, abs=1e-5)
    left, _ = stumps(0.0, 0.0)
    np.testing.assert_allclose(np.diff(left), 0.01 + TERRAIN_STEP, atol=1e-4)


def test_the_seed_determines_the_track():
    np.testing.assert_array_equal(stumps(1.0, 1.0, seed=4), stumps(1.0, 1.0, seed=4))
    assert (stumps(1.0, 1.0, seed=4)[1] != stumps(1.0, 1.0, seed=5)[1]).any()


@pytest.mark.parametrize(("earned", "success"), [(1.0, True), (-1.0, False)])
def test_success_is_a_return_above_230_at_the_end(earned, success):
    env = make(time_limit=2)
    env.reset(seed=0)
    env.total_reward = SUCCESS_RETURN + earned
    assert env.step(STILL)[4]["success"] is False  # not the end
    env.total_reward = SUCCESS_RETURN + earned
    *_, info = env.step(STILL)
    assert info["success"] is success


def test_a_fall_at_the_end_of_a_good_episode_is_no_success():
    env = make()
    env.reset(seed=0)
    env.total_reward, env.game_over = SUCCESS_RETURN + 50.0, True
    _, reward, terminated, _, info = env.step(STILL)
    assert (reward, terminated, info["success"]) == (-100.0, True, False)


def test_an_episode_does_not_depend_on_the_one_before_it():
    vector = StumpTracks().make(1)
    actions = np.random.default_rng(0).uniform(-1, 1, (60, 1, 4))

    def play(context, seed):
        vector.reset(seed=[seed], options={"context": np.array([context])})
        return np.array([vector.step(action)[0] for action in actions])

    first = play((1.0, 2.0), 3)
    play((3.0, 0.5), 4)
    np.testing.assert_array_equal(play((1.0, 2.0), 3), first)
    assert vector.render_row(0, 600, 400).shape == (400, 600, 3)
    vector.close()
