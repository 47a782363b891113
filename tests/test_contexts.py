import numpy as np
import pytest
from scipy.stats import multivariate_normal

from selfpaced import ContextSpace, Gaussian, SelfpacedError
from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS
from selfpaced.problems import POINT_MASS_2D, POINT_MASS_3D

CORRELATED = Gaussian(np.array([0.3, -1.0]), np.array([[0.5, 0.0], [0.2, 1.5]]))
OTHER = Gaussian(np.array([-0.2, 0.4]), np.array([[0.8, 0.0], [-0.3, 0.6]]))


def space(**changes):
    settings = {
        "names": ("a", "b"),
        "lower": (-1.0, 0.0),
        "upper": (1.0, 2.0),
        "initial": Gaussian.diagonal([0.0, 1.0], [1.0, 1.0]),
        "target": Gaussian.diagonal([0.5, 1.0], [0.1, 0.1]),
    }
    return ContextSpace(**(settings | changes))


@pytest.mark.parametrize(
    ("problem", "kl", "kl_at_lower_bound"),
    [(POINT_MASS_3D, 1_570_292.36, 3736.76), (POINT_MASS_2D, 945_299.07, 2491.18)],
)
def test_kl_from_initial_to_target_is_the_published_figure(problem, kl, kl_at_lower_bound):
    contexts = problem.contexts
    narrow = Gaussian.diagonal(contexts.target.mean, (0.2, 0.1875, 0.1)[: contexts.size])
    assert contexts.initial.kl(contexts.target) == pytest.approx(kl, abs=0.01)
    assert narrow.kl(contexts.target) == pytest.approx(kl_at_lower_bound, abs=0.01)


def test_kl_of_a_gaussian_to_itself_is_exactly_zero():
    assert CORRELATED.kl(CORRELATED) == 0.0


def test_kl_agrees_with_a_monte_carlo_estimate():
    samples = CORRELATED.sample(np.random.default_rng(0), 400_000)
    estimate = (CORRELATED.log_density(samples) - OTHER.log_density(samples)).mean()
    assert CORRELATED.kl(OTHER) == pytest.approx(estimate, rel=0.01)


def test_log_density_agrees_with_scipy():
    points = np.random.default_rng(1).normal(size=(20, 2))
    expected = multivariate_normal(CORRELATED.mean, CORRELATED.covariance).logpdf(points)
    np.testing.assert_allclose(CORRELATED.log_density(points), expected, rtol=1e-12)


def test_samples_have_the_mean_and_covariance_they_should():
    samples = CORRELATED.sample(np.random.default_rng(2), 200_000)
    np.testing.assert_allclose(samples.mean(axis=0), CORRELATED.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(samples.T), CORRELATED.covariance, atol=0.03)
    np.testing.assert_allclose(CORRELATED.std, np.sqrt(np.diag(CORRELATED.covariance)))


def test_target_samples_are_clipped_to_the_box_and_half_of_them_sit_on_a_bound_at_the_mean():
    contexts = POINT_MASS_3D.contexts
    samples = contexts.sample_target(np.random.default_rng(3), 20_000)
    assert contexts.contains(samples).all()
    for component in (1, 2):  # the target means of width and friction are the lower bounds
        share = (samples[:, component] == contexts.lower[component]).mean()
        assert share == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("a",)}, "one name, one lower"),
        ({"upper": (1.0, 0.0)}, "'b' wants finite bounds with lower < upper"),
        ({"lower": (float("nan"), 0.0)}, "'a' wants finite bounds"),
        ({"target": Gaussian.diagonal([0.0], [1.0])}, "target distribution wants 2 components"),
    ],
)
def test_an_impossible_space_says_what_is_wrong(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        space(**changes)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([0.0], r"wants 2 numbers \(a, b\), got an array of shape \(1,\)"),
        (["wide", 1.0], "wants 2 numbers"),
        ([0.0, 3.0], r"'b' must lie in \[0, 2\], got 3"),
        ([float("nan"), 1.0], "'a' must lie in"),
    ],
)
def test_a_bad_context_says_what_is_wrong(context, message):
    with pytest.raises(SelfpacedError, match=message):
        space().check(context)


def test_bounds_that_have_been_through_single_precision_are_still_bounds():
    contexts = BALL_CATCHING_CONTEXTS
    for bound in (contexts.lower, contexts.upper):
        rounded = np.array(bound, np.float32)
        assert contexts.contains(rounded)
        inside = contexts.check(rounded)
        np.testing.assert_array_equal(inside, contexts.clip(inside))
    with pytest.raises(SelfpacedError, match=r"must lie in \[0.392699, 1.5708\], got 1.5707965"):
        contexts.check([1.5707965, 1.0, 2.0])


@pytest.mark.parametrize(
    ("mean", "cholesky", "message"),
    [
        ([0.0], [[1.0, 0.0], [0.0, 1.0]], "got shapes"),
        ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], "lower triangular"),
        ([0.0, 0.0], [[1.0, 0.0], [0.0, -1.0]], "positive diagonal"),
        ([0.0, float("inf")], [[1.0, 0.0], [0.0, 1.0]], "finite"),
    ],
)
def test_an_impossible_gaussian_says_what_is_wrong(mean, cholesky, message):
    with pytest.raises(SelfpacedError, match=message):
        Gaussian(np.array(mean), np.array(cholesky))
