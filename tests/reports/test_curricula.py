from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Ellipse

from selfpaced import PROBLEMS, SelfpacedError
from selfpaced.reports.context_path import ContextPath
from selfpaced.reports.curricula import (
    NUM_MOMENTS,
    draw_contexts,
    draw_contexts_together,
    ellipse_of,
)

STEPS = "environment steps of a seed"


def planes(figure):
    return [axes for axes in figure.findobj(is_axes) if axes.get_title().startswith("iteration")]


def is_axes(artist):
    return hasattr(artist, "get_title") and hasattr(artist, "transData")


def panel_of(figure, name):
    return next(
        axes
        for axes in figure.findobj(is_axes)
        if axes.get_ylabel() == name and axes.get_xlabel() == STEPS
    )


def path_of(progress, size=2, num_samples=64):
    """Return contexts at given shares of the path between two corners of the box."""
    contexts = PROBLEMS["point-mass-2d"].contexts
    low, high = np.array(contexts.lower), np.array(contexts.upper)
    centres = low + np.asarray(progress)[:, None] * (high - low)
    samples = np.broadcast_to(centres[:, None, None], (len(centres), 1, num_samples, size))
    return ContextPath(contexts, 5 * np.arange(len(centres)), samples, None, None)


@pytest.mark.parametrize(
    ("problem", "size"), [("probe", 1), ("point-mass-2d", 2), ("point-mass-3d", 3)]
)
@pytest.mark.parametrize("teacher", ["spdl", "random"])
def test_contexts_of_any_size_are_drawn(make_run, problem, size, teacher):
    figure = draw_contexts(make_run(problem=problem, teacher=teacher))
    figure.canvas.draw()
    components = [axes for axes in figure.axes if axes.get_xlabel() == STEPS]
    assert len(components) == size
    assert len(planes(figure)) == (5 if size > 1 else 0)  # one per evaluation


def test_the_panel_of_a_component_shows_its_mean_and_the_target(make_run):
    run = make_run()
    panel = panel_of(draw_contexts(run), "gate position")
    [mean] = [line for line in panel.lines if line.get_label() == "mean"]
    expected = run.contexts()["samples"][..., 0].mean(axis=(1, 2))
    np.testing.assert_allclose(mean.get_ydata(), expected)
    dashed = [line for line in panel.lines if line.get_linestyle() == "--"]
    assert [set(line.get_ydata()) for line in dashed] == [{2.5}]


def test_a_plane_shows_the_sampled_contexts_coloured_by_the_third_component(make_run):
    run = make_run()
    first = planes(draw_contexts(run))[0]
    samples = run.contexts()["samples"][0].reshape(-1, 3)
    [points] = first.collections
    np.testing.assert_allclose(points.get_offsets(), samples[:, :2])
    np.testing.assert_allclose(points.get_array(), samples[:, 2])
    assert first.get_xlim() == (-4.0, 4.0)
    assert first.get_ylim() == (0.5, 8.0)


def test_only_gaussian_teachers_have_outlines(make_run):
    for teacher, num in (("spdl", 3), ("random", 0)):
        last = planes(draw_contexts(make_run(teacher, teacher=teacher)))[-1]
        assert sum(isinstance(patch, Ellipse) for patch in last.patches) == num


def test_an_outline_has_the_axes_and_the_angle_of_its_gaussian():
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    covariance = turn @ np.diag([9.0, 1.0]) @ turn.T
    ellipse = ellipse_of(np.array([1.0, 2.0]), np.linalg.cholesky(covariance))
    assert ellipse.center == (1.0, 2.0)
    assert sorted([ellipse.width, ellipse.height]) == pytest.approx([4.0, 12.0])
    along = ellipse.angle if ellipse.width > ellipse.height else ellipse.angle + 90.0
    assert along % 180.0 == pytest.approx(np.degrees(0.5))


def test_moments_divide_the_path_of_the_contexts_into_equal_shares():
    # the contexts stay for a long time, then move, then stay again
    progress = np.concatenate([np.zeros(50), np.linspace(0, 1, 11), np.ones(50)])
    assert path_of(progress).choose_moments(6) == [0, 52, 54, 56, 58, 110]


def test_the_arrival_is_one_of_the_moments_and_is_marked(make_run):
    target = np.array(PROBLEMS["point-mass-2d"].contexts.target.mean)
    low = np.array(PROBLEMS["point-mass-2d"].contexts.lower)
    share = np.concatenate([np.zeros(10), np.linspace(0, 1, 21), np.ones(70)])
    samples = (low + share[:, None] * (target - low))[:, None, None]
    path = replace(path_of(share), samples=np.broadcast_to(samples, (101, 1, 64, 2)))
    assert path.arrival == 30
    moments = path.choose_moments(NUM_MOMENTS)
    assert len(moments) == NUM_MOMENTS
    assert moments[0] == 0
    assert moments[-2:] == [path.arrival, 100]


def test_figures_name_the_arrival(make_run):
    figure = draw_contexts(make_run())
    assert planes(figure)[-1].get_title() == "iteration 20 (arrival)"
    assert "arrival, iteration 20" in figure.subfigs[1].get_supxlabel()


def test_moments_of_contexts_that_stand_still_are_equally_far_apart():
    assert path_of(np.zeros(21)).choose_moments(6) == [0, 4, 8, 12, 16, 20]


def test_a_jump_leaves_no_panel_empty():
    moments = path_of(np.array([0.0] * 10 + [1.0] * 10)).choose_moments(NUM_MOMENTS)
    assert len(set(moments)) == NUM_MOMENTS
    assert moments[0] == 0
    assert moments[-1] == 19


def test_contexts_of_an_unfinished_run_are_drawn_up_to_the_slowest_seed(make_run):
    figure = draw_contexts(make_run(reached=[12, 7, 10]))
    figure.canvas.draw()
    assert [axes.get_title() for axes in planes(figure)] == ["iteration 0", "iteration 5"]


def test_several_runs_with_different_contexts_have_one_row_each(make_run):
    folders = [make_run("a"), make_run("b", problem="probe"), make_run("c", teacher="random")]
    figure = draw_contexts_together(folders)
    figure.canvas.draw()
    titles = [row.get_suptitle() for row in figure.subfigs]
    assert titles == [
        "point-mass-3d: SPDL + PPO",
        "probe: SPDL + PPO",
        "point-mass-3d: Random + PPO",
    ]


def test_contexts_without_samples_are_reported_as_damaged(make_run):
    run = make_run()
    np.savez(run.path / "contexts.npz", iteration=np.arange(3))
    with pytest.raises(SelfpacedError, match="is damaged"):
        draw_contexts(run)
