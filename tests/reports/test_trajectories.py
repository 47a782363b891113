import numpy as np
from matplotlib.patches import Rectangle

from selfpaced import EpisodicPolicy
from selfpaced.environments.point_mass import PointMass
from selfpaced.reports.trajectories import (
    draw_trajectories,
    draw_trajectories_together,
    judge,
    roll_out,
)


def observations(*steps):
    """Rows [x, velocity of x, y, velocity of y, context]."""
    return np.array([[x, vx, y, vy, 2.5, 0.5, 0.0] for x, y, vx, vy in steps])


def test_an_episode_that_stops_on_the_wall_hit_it():
    trajectory = judge(observations((0.0, 3.0, 0, 0), (0.4, 1.0, 1, -3), (0.5, 0.0, 0, 0)))
    assert trajectory.outcome == "hit the wall"
    np.testing.assert_array_equal(trajectory.positions, [[0.0, 3.0], [0.4, 1.0], [0.5, 0.0]])


def test_an_episode_that_ends_near_the_goal_reached_it():
    assert judge(observations((0.1, -3.1, 0.5, 0))).outcome == "reached the goal"


def test_an_episode_that_ends_anywhere_else_has_its_own_outcome():
    assert judge(observations((0.0, -2.0, 0, 0))).outcome == "ended elsewhere"
    assert judge(observations((2.5, 0.0, 0, -1))).outcome == "ended elsewhere"  # in the gate


def test_every_seed_has_one_episode_that_begins_at_the_start(make_run):
    trajectories = roll_out(make_run())
    assert len(trajectories) == 3
    for trajectory in trajectories:
        np.testing.assert_array_equal(trajectory.positions[0], [0.0, 3.0])
        assert 2 <= len(trajectory.positions) <= 101


def test_the_time_limit_is_that_of_the_experiment(make_run):
    for trajectory in roll_out(make_run(environment=PointMass(max_episode_steps=7))):
        assert len(trajectory.positions) == 8


def test_drawing_twice_shows_the_same_episodes(make_run):
    run = make_run()
    for one, two in zip(roll_out(run), roll_out(run), strict=True):
        np.testing.assert_array_equal(one.positions, two.positions)


def test_the_wall_has_its_gap_at_the_target_gate(make_run):
    [axes] = draw_trajectories(make_run()).axes
    left, right = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert (left.get_x(), left.get_x() + left.get_width()) == (-4.0, 2.25)
    assert (right.get_x(), right.get_x() + right.get_width()) == (2.75, 4.0)


def test_the_legend_counts_all_episodes(make_run):
    [axes] = draw_trajectories(make_run()).axes
    counts = [int(text.get_text().split()[0]) for text in axes.get_legend().get_texts()]
    assert sum(counts) == 3


def test_runs_stand_side_by_side_under_their_names(make_run):
    figure = draw_trajectories_together([make_run("a"), make_run("b", problem="point-mass-2d")])
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["point-mass-3d\nSPDL + PPO", "point-mass-2d\nSPDL + PPO"]


def test_sprl_acts_with_drawn_weights(make_run):
    run = make_run(teacher="sprl", learner=EpisodicPolicy(hidden=(4,)))
    for trajectory in roll_out(run):  # the mean weights, zeros, would leave it at the start
        assert np.linalg.norm(trajectory.positions[-1] - trajectory.positions[0]) > 0.5
    for one, two in zip(roll_out(run), roll_out(run), strict=True):
        np.testing.assert_array_equal(one.positions, two.positions)
