from importlib.util import find_spec

import numpy as np
import pytest

from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS, passing_points
from selfpaced.reports.catching_plane import (
    ARM,
    MOMENTS,
    REACH,
    choose_moments,
    draw_catching_plane,
    draw_catching_planes,
    outline_of,
)
from selfpaced.reports.context_path import ContextPath

pytestmark = pytest.mark.skipif(find_spec("mujoco") is None, reason="needs mujoco")

START = [0.0, 0.4, 0.0, 1.5, 0.0, 0.0, 0.0]


def path_at(iterations):
    samples = np.zeros((len(iterations), 1, 4, 3))
    return ContextPath(BALL_CATCHING_CONTEXTS, np.array(iterations), samples, None, None)


def test_contexts_are_points_about_the_shoulder():
    contexts = np.array([[0.0, 1.0, 2.0], [np.pi / 2, 0.6, 3.0]])
    np.testing.assert_allclose(passing_points(contexts), [[-1.0, 0.75], [0.0, 1.35]], atol=1e-12)


def test_the_outline_holds_every_context():
    rng = np.random.default_rng(0)
    points = passing_points(BALL_CATCHING_CONTEXTS.sample_target(rng, 200))
    outline = outline_of(BALL_CATCHING_CONTEXTS)
    distance = np.linalg.norm(outline - [0.0, 0.75], axis=1)
    np.testing.assert_allclose(sorted({*distance.round(9)}), [0.6, 1.1])
    assert (points.min(axis=0) >= outline.min(axis=0) - 1e-9).all()
    assert (points.max(axis=0) <= outline.max(axis=0) + 1e-9).all()


def test_the_papers_moments_are_shown_where_they_are_known():
    path = path_at(range(0, 500, 10))
    assert tuple(path.iterations[choose_moments(path)]) == MOMENTS
    path = path_at(range(0, 500, 25))
    assert tuple(path.iterations[choose_moments(path)]) == (0, 50, 75, 100, 150, 200)
    path = path_at(range(0, 500, 50))  # 80 and 110 have the same row
    shown = path.iterations[choose_moments(path)]
    assert (len(shown), shown[0], shown[-1]) == (6, 0, 450)


def test_the_sketch_is_the_arm_of_the_model():
    from selfpaced.environments.mujoco.library import load_model

    model = load_model("ball_catching.xml")
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:7] = START
    mujoco.mj_kinematics(model, data)
    joints = ("shoulder_pitch", "elbow", "wrist_yaw", "wrist_pitch", "net")
    for joint, point in zip(joints, ARM, strict=True):
        np.testing.assert_allclose(data.body(joint).xpos, [0.0, *point], atol=1e-3)
    data.qpos[:7] = 0.0
    mujoco.mj_kinematics(model, data)
    stretched = data.body("net").xpos - data.body("shoulder_pitch").xpos
    np.testing.assert_allclose(np.linalg.norm(stretched), REACH, atol=0.01)


def test_the_dots_are_the_contexts_of_the_run(make_run):
    run = make_run(problem="ball-catching")
    figure = draw_catching_plane(run)
    panels = [axes for axes in figure.axes if axes.get_title().startswith("iteration")]
    assert panels[0].get_title() == "iteration 0"
    assert panels[-1].get_title() == "iteration 20"
    [dots] = [each for each in panels[0].collections if len(each.get_offsets()) > 1]
    samples = run.contexts()["samples"][0].reshape(-1, 3)
    assert len(dots.get_offsets()) == len(samples)
    np.testing.assert_allclose(dots.get_offsets(), passing_points(samples))
    np.testing.assert_allclose(dots.get_array(), samples[:, 2])


def test_several_runs_stand_one_below_the_other(make_run):
    runs = [make_run(name, problem="ball-catching", teacher=name) for name in ("spdl", "random")]
    figure = draw_catching_planes(runs)
    titles = [row.get_suptitle() for row in figure.subfigs[:-1]]
    assert titles == ["SPDL + PPO", "Random + PPO"]
