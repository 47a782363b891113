"""The goal maze: walls, success, pictures, and the goals that it is evaluated on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import PROBLEMS
from selfpaced.environments.goal_maze import GoalMaze, GoalMazeState

MAZE = GoalMaze()
NO_NOISE = jnp.zeros(0)


def step(position, action, context=(6.0, 6.0, 0.5), time=0):
    state = GoalMazeState(jnp.array(position), jnp.array(context), jnp.int32(time))
    return MAZE.step(NO_NOISE, state, jnp.array(action))


@pytest.mark.parametrize(
    ("position", "action", "expected"),
    [
        ((-6.0, -6.0), (1.0, 0.0), (-5.7, -6.0)),
        ((-6.0, -6.0), (1.0, 1.0), (-6 + 0.3 / np.sqrt(2), -6 + 0.3 / np.sqrt(2))),
        ((-6.0, -6.0), (0.5, 0.0), (-5.85, -6.0)),
        ((-6.0, -6.0), (9.0, 0.0), (-5.7, -6.0)),  # actions are clipped
        ((-6.9, 0.0), (-1.0, 0.0), (-7.0, 0.0)),  # outer wall
        ((-5.1, 0.0), (1.0, 0.0), (-5.0, 0.0)),  # inner wall
        ((0.0, 5.1), (0.0, -1.0), (0.0, 5.0)),
        ((-5.1, 0.0), (1.0, 1.0), (-5.0, 0.3 / np.sqrt(2))),  # slides along it
        ((-5.1, -5.1), (1.0, 1.0), (-5.0, -5.0)),  # a corner stops both coordinates
        ((-5.0, -4.9), (0.0, -1.0), (-5.0, -5.2)),
    ],
)
def test_moves_and_walls(position, action, expected):
    np.testing.assert_allclose(step(position, action).state.position, expected, atol=1e-6)


def test_success_ends_the_episode_without_cost():
    reached = step((5.8, 6.0), (1.0, 0.0))
    assert reached.success
    assert reached.terminated
    assert reached.reward == 0
    missed = step((5.0, 6.0), (-1.0, 0.0))
    assert not missed.success
    assert missed.reward == -1
    assert not missed.truncated
    assert step((5.0, 6.0), (-1.0, 0.0), time=199).truncated


def test_the_start_is_the_lower_left_corner():
    keys = jax.random.split(jax.random.key(0), 500)
    observed, _ = jax.vmap(lambda key: MAZE.reset(key, jnp.array([1.0, 2.0, 3.0])))(keys)
    starts = np.asarray(observed[:, :2])
    assert -7 <= starts.min() < -6.9
    assert -5.1 < starts.max() <= -5
    np.testing.assert_array_equal(observed[0, 2:], [1, 2, 3])


def test_evaluations_use_feasible_goals_and_the_target_all_of_them():
    problem, rng = PROBLEMS["goal-maze"], np.random.default_rng(0)

    def feasible(drawn):
        largest = np.abs(drawn[:, :2]).max(axis=1)
        return ((largest <= 7) & (largest >= 5)).mean()

    evaluated = problem.sample_evaluation(rng, 4000)
    assert feasible(evaluated) == 1.0
    assert (evaluated[:, 0] < -5).mean() == pytest.approx(28 / 96, abs=0.02)
    assert feasible(problem.contexts.sample_target(rng, 8000)) == pytest.approx(96 / 324, abs=0.02)
    assert (evaluated[:, 2] == 0.05).all()


def test_the_picture_shows_the_ring_the_goal_and_the_point():
    state = GoalMazeState(jnp.array([-6.0, -6.0]), jnp.array([6.0, 6.0, 0.5]), jnp.int32(0))
    picture = MAZE.draw([state], terminated=False)
    assert picture.shape == (400, 400, 3)
    assert picture.dtype == np.uint8

    def at(x, y):
        return picture[int((9.5 - y) / 19 * 400), int((x + 9.5) / 19 * 400)].tolist()

    assert at(6, 6) == [38, 150, 96]
    assert at(-6, -6) == [226, 88, 34]
    assert at(0, 6) == [226, 237, 246]
    assert at(0, 0) == at(9, 9) == [250, 249, 247]
