"""Axes in the common style."""

from selfpaced.reports.style import new_figure, show_steps


def test_an_axis_of_iterations_is_labelled_by_round_numbers_of_steps():
    axes = new_figure(4.0, 3.0).subplots()
    axes.set_xlim(0, 1000)
    show_steps(axes, [2048, 2048])
    assert axes.get_xlabel() == "environment steps of a seed"
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["0", "500k", "1M", "1.5M", "2M"]
    assert axes.get_xticks()[2] == 1e6 / 2048


def test_runs_with_other_numbers_of_steps_share_an_axis_of_iterations():
    axes = new_figure(4.0, 3.0).subplots()
    show_steps(axes, [2048, 5000])
    assert axes.get_xlabel() == "iteration"
