import numpy as np
import pytest

from selfpaced import SelfpacedError
from selfpaced.reports.learning_curves import (
    draw_learning_curve,
    draw_learning_curves,
    spread,
)
from selfpaced.statistics import standard_error
from tests.reports.invented_runs import invented_return

MOMENTS = np.arange(0, 21, 5)


def thick_line(axes):
    [line] = [line for line in axes.lines if line.get_label() == "mean"]
    return line


def test_the_thick_line_is_the_mean_of_the_seeds(make_run):
    upper, lower = draw_learning_curve(make_run()).axes
    x, y = thick_line(upper).get_data()
    np.testing.assert_array_equal(x, MOMENTS)
    np.testing.assert_allclose(y, invented_return(2, MOMENTS))
    np.testing.assert_allclose(thick_line(lower).get_ydata(), MOMENTS / 20)


def test_every_seed_has_a_thin_line(make_run):
    upper, _ = draw_learning_curve(make_run()).axes
    thin = [line.get_ydata() for line in upper.lines if line.get_label() != "mean"]
    np.testing.assert_allclose(thin, [invented_return(seed, MOMENTS) for seed in (1, 2, 3)])


def test_the_band_reaches_two_standard_errors_from_the_mean(make_run):
    upper, _ = draw_learning_curve(make_run()).axes
    [band] = upper.collections
    heights = band.get_paths()[0].vertices[:, 1]
    error = np.std([1, 2, 3]) / np.sqrt(3)
    assert heights.min() == pytest.approx(invented_return(2, 0) - 2 * error)
    assert heights.max() == pytest.approx(invented_return(2, 20) + 2 * error)


def test_the_standard_error_is_that_of_the_summary(make_run):
    run = make_run()
    last = run.evaluations()["return"][-1]
    assert standard_error(last) == pytest.approx(run.summary()["final_return"]["standard_error"])


def test_the_title_names_problem_teacher_learner_and_number_of_seeds(make_run):
    title = draw_learning_curve(make_run()).get_suptitle()
    assert title == "point-mass-3d: SPDL + PPO, 3 seeds"


def test_a_single_seed_has_no_band_and_no_thin_line(make_run):
    figure = draw_learning_curve(make_run(seeds=(7,)))
    assert len(figure.axes[0].lines) == 1
    assert not figure.axes[0].collections
    assert figure.get_suptitle().endswith("1 seed")


def test_an_unfinished_run_is_drawn_up_to_its_last_evaluations(make_run):
    figure = draw_learning_curve(make_run(reached=[12, 7, 10]))
    upper = figure.axes[0]
    # the mean ends with the slowest seed, the single seeds continue
    np.testing.assert_array_equal(thick_line(upper).get_xdata(), [0, 5])
    first = upper.lines[0].get_ydata()
    np.testing.assert_allclose(first, invented_return(1, np.array([0, 5, 10])))
    assert figure.get_suptitle().endswith("3 seeds, 7 of 20 iterations")


def test_a_run_with_a_single_evaluation_shows_a_point(make_run):
    upper, _ = draw_learning_curve(make_run(reached=[1, 1, 1])).axes
    assert thick_line(upper).get_marker() == "o"


def test_runs_of_one_problem_share_an_axis_and_are_labelled_in_their_colour(make_run):
    folders = [make_run("a"), make_run("b", teacher="default")]
    upper, _ = draw_learning_curves(folders).axes
    thick = [line for line in upper.lines if line.get_label() == "mean"]
    assert [text.get_text() for text in upper.texts] == ["SPDL + PPO", "Default + PPO"]
    assert [text.get_color() for text in upper.texts] == [line.get_color() for line in thick]
    assert thick[0].get_color() != thick[1].get_color()


def test_every_problem_has_a_panel_and_the_same_teacher_the_same_colour(make_run):
    folders = [make_run("a"), make_run("b", problem="point-mass-2d")]
    figure = draw_learning_curves(folders)
    titles = [axes.get_title(loc="left") for axes in figure.axes[:2]]
    assert titles == ["point-mass-3d, 3 seeds", "point-mass-2d, 3 seeds"]
    colours = {thick_line(axes).get_color() for axes in figure.axes}
    assert len(colours) == 1


def test_a_table_without_returns_is_reported_as_damaged(make_run):
    run = make_run()
    path = run.path / "evaluations.csv"
    path.write_text(path.read_text().replace("return", "loss"))
    with pytest.raises(SelfpacedError, match="is damaged"):
        draw_learning_curve(run)


def test_labels_that_do_not_touch_stay_where_they_are():
    np.testing.assert_allclose(spread([3.0, 1.0, 2.0], 0.5), [3.0, 1.0, 2.0])


def test_labels_that_touch_move_apart_around_their_middle():
    np.testing.assert_allclose(spread([1.0, 1.0, 5.0], 0.5), [0.75, 1.25, 5.0])
    np.testing.assert_allclose(np.diff(np.sort(spread([1.0, 1.1, 1.7], 1.0))), [1.0, 1.0])
