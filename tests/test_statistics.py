import math

import numpy as np
import pytest
from scipy import stats

from selfpaced import SelfpacedError
from selfpaced.statistics import (
    area_under_curve,
    interquartile_mean,
    mean_and_standard_error,
    median_time,
    probability_of_improvement,
    rate,
    t_test,
    time_to_threshold,
)

ONE = np.random.default_rng(1).normal(5.0, 1.0, 20)
TWO = np.random.default_rng(2).normal(4.0, 3.0, 15)


def test_the_standard_error_divides_by_n_as_the_paper_does():
    mean, error = mean_and_standard_error([1.0, 2.0, 3.0, 6.0])
    assert mean == 3.0
    assert error == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 4) / 2)
    assert error == pytest.approx(stats.sem([1.0, 2.0, 3.0, 6.0], ddof=0))


def test_the_interquartile_mean_ignores_the_outer_quarters():
    assert interquartile_mean([-1000.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1e9]).value == 3.5
    assert interquartile_mean(ONE).value == pytest.approx(stats.trim_mean(ONE, 0.25))
    assert interquartile_mean([1.0, 2.0, 6.0]).value == 3.0  # three have no quarters


def test_the_interval_of_the_interquartile_mean_is_the_percentile_bootstrap():
    rng = np.random.default_rng(0)
    resampled = ONE[rng.integers(20, size=(20_000, 20))]
    by_hand = np.percentile(stats.trim_mean(resampled, 0.25, axis=1), [2.5, 97.5])
    estimate = interquartile_mean(ONE)
    assert estimate.low < estimate.value < estimate.high
    np.testing.assert_allclose(estimate[1:], by_hand, atol=0.02)


def test_intervals_are_the_same_every_time():
    assert interquartile_mean(ONE) == interquartile_mean(ONE)
    assert probability_of_improvement(ONE, TWO) == probability_of_improvement(ONE, TWO)


@pytest.mark.parametrize(("num_seeds", "low", "high"), [(20, 0.88, 1.0), (3, 0.62, 0.84)])
def test_the_interval_has_its_coverage_if_the_seeds_are_many(num_seeds, low, high):
    rng = np.random.default_rng(3)
    estimates = [interquartile_mean(rng.normal(size=num_seeds)) for _ in range(80)]
    assert low <= np.mean([estimate.low < 0 < estimate.high for estimate in estimates]) <= high


def test_improvement_counts_pairs_and_half_of_the_ties():
    # 2 beats 1 and ties with 2, 4 beats 1, 2 and loses to 5: (1 + 0.5 + 0 + 1 + 1 + 0) / 6
    assert probability_of_improvement([2.0, 4.0], [1.0, 2.0, 5.0]).value == pytest.approx(3.5 / 6)


def test_improvement_is_the_mann_whitney_statistic_over_the_number_of_pairs():
    statistic = stats.mannwhitneyu(ONE, TWO).statistic
    assert probability_of_improvement(ONE, TWO).value == pytest.approx(statistic / (20 * 15))


def test_improvement_turned_round_is_the_rest():
    there, back = probability_of_improvement(ONE, TWO), probability_of_improvement(TWO, ONE)
    assert there.value + back.value == pytest.approx(1.0)
    assert there.low + back.high == pytest.approx(1.0, abs=0.02)
    assert there.low < there.value < there.high


def test_improvement_of_the_always_better_is_certain():
    assert probability_of_improvement([3.0, 4.0, 5.0], [0.0, 1.0, 2.0]) == (1.0, 1.0, 1.0)


def test_the_t_tests_are_those_of_scipy():
    assert t_test(ONE, TWO) == stats.ttest_ind(ONE, TWO, equal_var=False).pvalue
    assert t_test(ONE, TWO, equal_variances=True) == stats.ttest_ind(ONE, TWO).pvalue
    assert t_test(ONE, TWO) != t_test(ONE, TWO, equal_variances=True)


def test_the_pooled_t_test_by_hand():
    # means 2 and 4, pooled variance 1: t = -2 / sqrt(2/3) with 4 degrees of freedom
    by_hand = 2 * stats.t.sf(2 / math.sqrt(2 / 3), 4)
    assert t_test([1, 2, 3], [3, 4, 5], equal_variances=True) == pytest.approx(by_hand)


@pytest.mark.parametrize("equal_variances", [False, True])
def test_identical_values_do_not_differ(equal_variances):
    assert t_test([2.0, 2.0, 2.0], [2.0, 2.0], equal_variances) == 1.0
    assert t_test(ONE, ONE, equal_variances) == pytest.approx(1.0)
    assert t_test([2.0, 2.0, 2.0], [3.0, 3.0], equal_variances) == 0.0
    assert interquartile_mean([2.0, 2.0, 2.0]) == (2.0, 2.0, 2.0)
    assert probability_of_improvement([2.0, 2.0], [2.0, 2.0]) == (0.5, 0.5, 0.5)


def test_almost_identical_values_raise_no_warning(recwarn):
    near = 1e6 + np.arange(5) * 1e-9
    assert 0.0 <= t_test(near, near + 1.0) <= 1e-6
    assert not recwarn.list


def test_a_single_seed_has_a_value_and_no_interval():
    assert mean_and_standard_error([3.0]) == (3.0, pytest.approx(float("nan"), nan_ok=True))
    assert interquartile_mean([3.0]).value == 3.0
    assert np.isnan(interquartile_mean([3.0])[1:]).all()
    assert probability_of_improvement([3.0], [1.0, 2.0]).value == 1.0
    assert np.isnan(probability_of_improvement([3.0], [1.0, 2.0])[1:]).all()
    assert math.isnan(t_test([3.0], [1.0, 2.0]))
    assert math.isnan(t_test([3.0], [1.0, 2.0], equal_variances=True))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(bad):
    values = [1.0, bad, 3.0]
    for function in (
        mean_and_standard_error,
        interquartile_mean,
        lambda these: t_test(these, [1.0, 2.0]),
        lambda these: probability_of_improvement([1.0, 2.0], these),
    ):
        with pytest.raises(SelfpacedError, match=f"values must be finite, got {bad} in place 2"):
            function(values)
    with pytest.raises(SelfpacedError, match="in 1 of 2 curves"):
        area_under_curve([0, 5], [[1.0, 2.0], [bad, 2.0]])


def test_no_seeds_and_wrong_shapes_are_refused():
    with pytest.raises(SelfpacedError, match=r"one number per seed, got an array of shape \(0,\)"):
        mean_and_standard_error([])
    with pytest.raises(SelfpacedError, match="one number per seed"):
        t_test([[1.0, 2.0]], [1.0, 2.0])
    with pytest.raises(SelfpacedError, match="a row for each iteration"):
        area_under_curve([0, 5, 10], [[1.0], [2.0]])
    with pytest.raises(SelfpacedError, match="at least one seed"):
        median_time([])


def test_the_area_is_the_mean_height_also_between_uneven_evaluations():
    curves = np.array([[0.0, 3.0], [10.0, 3.0], [10.0, 3.0]])
    # first curve: rises to 10 in five iterations (mean 5), stays for two: (5*5 + 2*10) / 7
    np.testing.assert_allclose(area_under_curve([0, 5, 7], curves), [45 / 7, 3.0])
    np.testing.assert_allclose(area_under_curve([0], [[4.0, 2.0]]), [4.0, 2.0])


def test_the_time_to_a_threshold_is_the_first_evaluation_that_reaches_it():
    curves = np.array([[0.0, 9.0, 0.0], [4.0, 0.0, 1.0], [3.0, 0.0, 1.0], [5.0, 0.0, 2.0]])
    assert time_to_threshold([0, 5, 10, 15], curves, 4.0) == [5, 0, None]
    with pytest.raises(SelfpacedError, match="threshold must be finite, got nan"):
        time_to_threshold([0], [[1.0]], float("nan"))


def test_the_median_time_counts_seeds_that_never_reach_the_threshold():
    assert median_time([5, 10, None]) == 10
    assert math.isnan(median_time([5, None, None]))
    assert math.isnan(median_time([5, None]))
    assert median_time([5, 10]) == 7.5


def test_the_interval_of_a_rate_is_wilsons_and_never_empty():
    assert rate(3, 20) == pytest.approx((0.15, 0.0524, 0.3604), abs=1e-4)
    assert rate(0, 60).high == pytest.approx(1.96**2 / (60 + 1.96**2), abs=1e-4)
    assert rate(60, 60)[:2] == pytest.approx((1.0, 0.9398), abs=1e-4)
    with pytest.raises(SelfpacedError, match=r"num must lie in \[0, 5\], got 6"):
        rate(6, 5)
