from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from selfpaced import neurips2020
from selfpaced.reports.comparison_figures import (
    draw_comparison,
    draw_curves,
    draw_improvements,
    draw_interquartile_means,
)
from selfpaced.reports.comparison_tables import (
    compare_pairs,
    describe,
    format_interval,
    format_p_value,
    format_return,
    tabulate,
    warn_of_few_seeds,
    write_tables,
)
from selfpaced.studies.comparison import Cell, Outcome
from tests.probes import UserLearner

MOMENTS = np.arange(0, 21, 5)
GOOD = np.array([9.0, 9.1, 9.2, 9.3, 9.4])
FAIR = np.array([5.0, 6.0, 9.3, 7.0, 8.0])
POOR = np.array([1.0, 1.5, 0.5, 2.0, 1.2])


def outcome(teacher, final, learner="ppo"):
    """Return an outcome with returns that rise linearly from zero."""
    experiment = neurips2020("point-mass-3d", teacher, "ppo", tuple(range(1, len(final) + 1)))
    experiment = replace(experiment, iterations=20)
    if learner != "ppo":
        experiment = experiment.with_parts(learner=UserLearner())
    returns = MOMENTS[:, None] / 20 * np.asarray(final)
    cell = Cell(teacher, learner, experiment, Path(f"runs/{teacher}-{learner}"))
    return Outcome(cell, MOMENTS, returns, returns / 10, 12.0, {"selfpaced": "0.1.0"})


@pytest.fixture(name="outcomes")
def _outcomes():
    return [
        outcome("spdl", GOOD),
        outcome("default", POOR),
        outcome("random", FAIR),
        outcome("spdl", POOR, "slow"),
        outcome("random", FAIR, "slow"),
    ]


def test_failed_seeds_are_marked_and_in_no_number(outcomes):
    outcomes[0] = replace(outcomes[0], failed_seeds=(6, 7))
    rows = tabulate(outcomes)
    assert (rows[0].name, rows[0].seeds) == ("spdl (2 of 7 failed)", 5)
    assert rows[0].mean == pytest.approx(GOOD.mean())
    text = describe([each.cell for each in outcomes], outcomes, rows, "selfpaced compare")
    assert "failed seeds of spdl-ppo: 6, 7 (they are in no number above; reasons:" in text


def test_rows_hold_the_statistics_of_the_final_returns(outcomes):
    row = tabulate(outcomes)[2]
    assert (row.problem, row.teacher, row.learner, row.seeds, row.iterations) == (
        "point-mass-3d", "random", "ppo", 5, 20,
    )  # fmt: skip
    assert row.mean == pytest.approx(FAIR.mean())
    assert row.standard_error == pytest.approx(stats.sem(FAIR, ddof=0))
    assert row.iqm == pytest.approx((6 + 7 + 8) / 3)
    assert row.iqm_low < row.iqm < row.iqm_high
    assert row.success_rate == pytest.approx(FAIR.mean() / 10)
    assert row.area_under_curve == pytest.approx(FAIR.mean() / 2)
    assert row.wall_seconds == 12.0


def test_p_values_are_against_the_best_with_the_same_learner(outcomes):
    good, poor, fair, other_poor, other_fair = tabulate(outcomes)
    assert (good.best, poor.best, fair.best) == (True, False, False)
    assert (other_poor.best, other_fair.best) == (False, True)
    assert isnan(good.p_value_against_best)
    welch = stats.ttest_ind(GOOD, FAIR, equal_var=False).pvalue
    assert fair.p_value_against_best == pytest.approx(welch)
    assert fair.p_value_equal_variances == pytest.approx(stats.ttest_ind(GOOD, FAIR).pvalue)
    assert other_poor.p_value_against_best == pytest.approx(
        stats.ttest_ind(FAIR, POOR, equal_var=False).pvalue
    )


def test_the_best_is_marked_only_if_it_beats_every_other(outcomes):
    good, _, fair, _, other_fair = tabulate(outcomes)
    assert fair.p_value_against_best > 0.01
    assert not good.significantly_best
    assert other_fair.significantly_best
    [alone] = tabulate(outcomes[:1])
    assert alone.best
    assert not alone.significantly_best


def test_two_seeds_support_no_claim():
    outcomes = [outcome("spdl", [9.0, 9.001]), outcome("random", [5.0, 5.001])]
    rows, pairs = tabulate(outcomes), compare_pairs(outcomes)
    assert rows[0].best
    assert not rows[0].significantly_best
    text = describe([each.cell for each in outcomes], outcomes, rows, "command")
    assert "| spdl | 9.00 ± 0.00 | " in text
    assert not any(pair.is_certain for pair in pairs)
    axes = draw_improvements(outcomes, pairs).axes[0]
    assert {text.get_weight() for text in axes.texts} == {"normal"}


def test_the_threshold_measures_the_speed_of_learning(outcomes):
    good, poor, fair, *_ = tabulate(outcomes, threshold=6.0)
    assert (good.share_reaching_threshold, good.median_iterations_to_threshold) == (1.0, 15.0)
    assert (fair.share_reaching_threshold, fair.median_iterations_to_threshold) == (0.8, 20.0)
    assert poor.share_reaching_threshold == 0.0
    assert isnan(poor.median_iterations_to_threshold)
    assert isnan(tabulate(outcomes)[0].share_reaching_threshold)


def test_pairs_are_of_the_same_learner_and_complement_each_other(outcomes):
    pairs = compare_pairs(outcomes)
    assert len(pairs) == 3 * 2 + 2
    there, back = pairs[2:4]
    assert (there.teacher, there.other) == (back.other, back.teacher) == ("spdl", "random")
    # four of the five other seeds lose every pair; the fifth loses one pair and ties one
    assert there.probability.value == pytest.approx((4 * 5 + 1 + 0.5) / 25)
    assert back.probability.value == pytest.approx(1 - there.probability.value)
    assert back.probability.low == pytest.approx(1 - there.probability.high)


def test_a_single_seed_has_a_table_without_intervals():
    outcomes = [outcome("spdl", [9.0]), outcome("random", [5.0])]
    rows = tabulate(outcomes)
    assert isnan(rows[0].standard_error)
    assert isnan(rows[1].p_value_against_best)
    assert not rows[0].significantly_best
    assert (format_return(rows[0]), format_interval(rows[0])) == ("9.00", "9.00")
    assert draw_comparison_names(outcomes, rows)


def test_the_csv_has_empty_cells_where_there_is_no_number(outcomes, tmp_path):
    rows = tabulate(outcomes)
    paths = write_tables(tmp_path / "new", rows, compare_pairs(outcomes), "text\n")
    assert [path.name for path in paths] == [
        "comparison.md",
        "comparison.csv",
        "probability_of_improvement.csv",
    ]
    lines = paths[1].read_text().splitlines()
    columns = lines[0].split(",")
    expected = (
        "problem,teacher,learner,seeds,mean,standard_error,iqm,iqm_low,iqm_high,success_rate,"
        "p_value_against_best,p_value_equal_variances,area_under_curve,share_reaching_threshold,"
        "median_iterations_to_threshold,wall_seconds"
    )
    assert set(expected.split(",")) <= set(columns)
    first = dict(zip(columns, lines[1].split(","), strict=True))
    assert first["p_value_against_best"] == first["threshold"] == ""
    assert first["mean"] == "9.2"
    assert len(lines) == 6
    assert len(paths[2].read_text().splitlines()) == 9


def test_the_text_has_a_table_for_each_learner_and_the_command(outcomes):
    cells = [each.cell for each in outcomes] + [outcome("default", POOR, "slow").cell]
    text = describe(cells, outcomes, tabulate(outcomes, 6.0), "selfpaced compare ...")
    lines = text.splitlines()
    assert lines[0] == "# Teachers compared on point-mass-3d"
    assert "| return | ppo | slow |" in lines
    assert "| spdl | **9.20 ± 0.06** | 1.24 ± 0.22 |" in lines
    assert "| random | 7.06 ± 0.67 | **7.06 ± 0.67** ★ |" in lines
    assert "| default | 1.24 ± 0.22 |  |" in lines
    assert "## ppo, 20 iterations, 5 seeds" in lines
    [details] = [line for line in lines if line.startswith("| random | 7.06 ± 0.67 | 7.00 [")]
    welch = stats.ttest_ind(GOOD, FAIR, equal_var=False).pvalue
    assert details.endswith(f"| 71% | {welch:.3f} | 3.53 | 12 s | 80% | 20 |")
    assert "selfpaced compare ..." in lines
    assert any(line.startswith("5 seeds are few") for line in lines)
    assert "- seeds: 1 to 5" in lines
    assert "- versions: selfpaced 0.1.0" in lines
    assert lines[-1].startswith("- not finished yet: default-slow")


def test_few_seeds_lead_to_a_warning():
    few, many = tabulate([outcome("spdl", GOOD)]), tabulate([outcome("spdl", np.arange(10.0))])
    assert "too narrow" in warn_of_few_seeds(few)
    assert warn_of_few_seeds(many) == ""


def test_p_values_are_short():
    shown = [format_p_value(p) for p in (float("nan"), 0.0, 3e-5, 0.00123, 0.5, 1.0)]
    assert shown == ["–", "< 0.0001", "< 0.0001", "0.0012", "0.5", "1"]


def draw_comparison_names(outcomes, rows):
    figure = draw_interquartile_means(outcomes, rows)
    return [text.get_text() for text in figure.axes[0].get_yticklabels()]


def thick_lines(axes):
    return [line for line in axes.lines if line.get_label() == "mean"]


def test_curves_have_a_panel_for_each_learner_and_one_look_for_each_teacher(outcomes):
    figure = draw_curves(outcomes)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["PPO", "UserLearner"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["SPDL", "Default", "Random"]
    means = [thick_lines(axes) for axes in figure.axes]
    assert [len(lines) for lines in means] == [3, 2]
    assert means[0][2].get_color() == means[1][1].get_color()
    np.testing.assert_allclose(means[0][0].get_ydata()[-1], GOOD.mean())


def test_a_dot_stands_at_the_interquartile_mean(outcomes):
    rows = tabulate(outcomes)
    assert draw_comparison_names(outcomes, rows) == ["SPDL", "Default", "Random"]
    axes = draw_interquartile_means(outcomes, rows).axes[0]
    dots = [line for line in axes.lines if line.get_label() == "interquartile mean"]
    assert [float(dot.get_xdata()[0]) for dot in dots] == [row.iqm for row in rows[:3]]


def test_the_heat_map_shows_percentages_and_certain_ones_in_bold(outcomes):
    axes = draw_improvements(outcomes, compare_pairs(outcomes)).axes[0]
    shown = {text.get_position(): text for text in axes.texts}
    assert len(shown) == 6
    assert shown[1, 0].get_text() == "100%"  # column Default, row SPDL
    assert shown[2, 0].get_text() == "86%"
    assert shown[0, 2].get_text() == "14%"
    assert shown[1, 0].get_weight() == "bold"
    image = axes.images[0].get_array()
    assert image.mask.diagonal().all()


def test_equal_teachers_are_not_bold():
    outcomes = [outcome("spdl", FAIR), outcome("random", FAIR)]
    axes = draw_improvements(outcomes, compare_pairs(outcomes)).axes[0]
    assert [(text.get_text(), text.get_weight()) for text in axes.texts] == [("50%", "normal")] * 2


def test_all_figures_are_saved_and_a_single_teacher_has_no_heat_map(outcomes, tmp_path):
    pairs = compare_pairs(outcomes)
    paths = draw_comparison(outcomes, tabulate(outcomes), pairs, tmp_path)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    assert len(paths) == 4
    alone = outcomes[:1]
    names = [path.name for path in draw_comparison(alone, tabulate(alone), [], tmp_path)]
    assert names == ["learning_curves.png", "interquartile_means.png", "success_rates.png"]


def test_success_that_is_not_reported_is_not_drawn(outcomes, tmp_path):
    silent = [replace(one, successes=np.full_like(one.successes, np.nan)) for one in outcomes[:1]]
    names = [path.name for path in draw_comparison(silent, tabulate(silent), [], tmp_path)]
    assert "success_rates.png" not in names


def test_more_teachers_than_colours_can_be_drawn():
    outcomes = [
        replace(plain, cell=replace(plain.cell, teacher=f"random{place}"))
        for place in range(9)
        for plain in [outcome("random", FAIR + place)]
    ]
    looks = {
        (line.get_color(), line.get_linestyle())
        for line in thick_lines(draw_curves(outcomes).axes[0])
    }
    assert len(looks) == 9


def test_variants_of_a_teacher_have_names_of_their_own():
    experiment = neurips2020("ball-catching", "spdl*", "ppo", (1, 2, 3, 4, 5))
    plain = outcome("spdl", GOOD)
    starred = replace(plain, cell=replace(plain.cell, teacher="spdl*", experiment=experiment))
    figure = draw_curves([plain, starred])
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["SPDL", "SPDL*"]
