from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from selfpaced import ContextSpace, Gaussian, Samples, SelfpacedError, Uniform
from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS
from selfpaced.registry import PROBLEMS

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
    [("point-mass-3d", 1_570_292.36, 3736.76), ("point-mass-2d", 945_299.07, 2491.18)],
)
def test_kl_from_initial_to_target_is_the_published_figure(problem, kl, kl_at_lower_bound):
    contexts = PROBLEMS[problem].contexts
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


def test_samples_have_the_mean_and_covariance_of_the_gaussian():
    samples = CORRELATED.sample(np.random.default_rng(2), 200_000)
    np.testing.assert_allclose(samples.mean(axis=0), CORRELATED.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(samples.T), CORRELATED.covariance, atol=0.03)
    np.testing.assert_allclose(CORRELATED.std, np.sqrt(np.diag(CORRELATED.covariance)))


def test_target_samples_are_clipped_to_the_box_and_half_of_them_sit_on_a_bound_at_the_mean():
    contexts = PROBLEMS["point-mass-3d"].contexts
    samples = contexts.sample_target(np.random.default_rng(3), 20_000)
    assert contexts.contains(samples).all()
    for component in (1, 2):  # the target means of width and friction are the lower bounds
        share = (samples[:, component] == contexts.lower[component]).mean()
        assert share == pytest.approx(0.5, abs=0.02)


def test_uniform_samples_fill_the_box_evenly():
    samples = space().sample_uniform(np.random.default_rng(4), 8000)
    counts, _, _ = np.histogram2d(*samples.T, bins=2, range=[(-1, 1), (0, 2)])
    np.testing.assert_allclose(counts, 2000, atol=200)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("a",)}, "of one length, at least 1, got 1 names, 2 lower and 2 upper"),
        ({"upper": (1.0, 0.0)}, "bounds of .* 'b' must be finite with lower < upper"),
        ({"lower": (float("nan"), 0.0)}, "bounds of .* 'a' must be finite"),
        (
            {"target": Gaussian.diagonal([0.0], [1.0])},
            "target must be a distribution over 2 components",
        ),
    ],
)
def test_an_impossible_space_is_refused(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        space(**changes)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([0.0], r"must be 2 numbers \(a, b\), got an array of shape \(1,\)"),
        (["wide", 1.0], "must be 2 numbers"),
        (np.array([0.0, 1.0j]), r"must be 2 numbers .*, got array\(\[0"),
        ([0.0, 3.0], r"'b' must lie in \[0, 2\], got 3"),
        ([float("nan"), 1.0], "'a' must lie in"),
    ],
)
def test_a_context_of_another_size_or_outside_the_box_is_refused(context, message):
    with pytest.raises(SelfpacedError, match=message):
        space().check(context)


def test_bounds_rounded_to_single_precision_are_inside_the_box():
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
def test_an_impossible_gaussian_is_refused(mean, cholesky, message):
    with pytest.raises(SelfpacedError, match=message):
        Gaussian(np.array(mean), np.array(cholesky))


def test_labels_have_units_where_they_are_known():
    assert space(names=("gate_width", "b"), units=("m", "")).labels == ("gate width [m]", "b")
    assert space(names=("gate_width", "b")).labels == ("gate width", "b")


def test_units_must_be_one_per_component():
    with pytest.raises(SelfpacedError, match=r"units must be one per component \(a, b\), got 1"):
        space(units=("m",))


LOG = ContextSpace(("mass", "angle"), (0.1, -1.0), (10.0, 1.0), *[Uniform((0.1, -1), (10, 1))] * 2,
                   scales=("log", "linear"))  # fmt: skip


def test_log_scaled_components_are_uniform_in_their_logarithm():
    drawn = LOG.sample_uniform(np.random.default_rng(0), 4000)
    assert (drawn[:, 0] < 1.0).mean() == pytest.approx(0.5, abs=0.03)
    assert (drawn[:, 1] < 0.0).mean() == pytest.approx(0.5, abs=0.03)


def test_coordinates_and_unit_coordinates_lead_back():
    drawn = LOG.sample_uniform(np.random.default_rng(0), 50)
    np.testing.assert_allclose(LOG.from_coordinates(LOG.coordinates(drawn)), drawn)
    np.testing.assert_allclose(LOG.from_unit(LOG.to_unit(drawn)), drawn)
    np.testing.assert_allclose(LOG.to_unit([[1.0, 0.0]]), [[0.5, 0.5]])


def test_draws_outside_the_box_are_clipped_or_redrawn():
    edge = Gaussian.diagonal((0.0, 0.0), (1.0, 0.1))
    clipped = ContextSpace(("a", "b"), (0.0, -1.0), (5.0, 1.0), edge, edge)
    redrawn = replace(clipped, outside="redraw")
    rng = np.random.default_rng
    assert (clipped.sample_target(rng(0), 400)[:, 0] == 0).mean() == pytest.approx(0.5, abs=0.1)
    drawn = redrawn.sample_target(rng(0), 400)
    assert (drawn[:, 0] > 0).all()
    assert drawn[:, 0].mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.1)  # a half-normal


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"target": Samples(np.array([[1.0, 0.0], [99.0, 0.0]]))},
            "must lie in the box, got 1 of 2 outside, first in row 1; widen the box, or drop",
        ),
        (
            {"lower": (1.0, 0.0), "upper": (1.0, 0.0)},
            "'mass' must be finite with lower < upper, got .*; leave out a component",
        ),
        ({"target": Samples(np.array([[1.0]]))}, "over 2 components"),
        ({"target": "hard"}, "with size and sample"),
        ({"scales": ("log",)}, "for each of mass, angle"),
        ({"scales": ("linear", "log")}, "log-scaled component 'angle' must be positive"),
        ({"outside": "reflect"}, "outside must be one of clip, redraw"),
        (
            {"target": Uniform((98, 0), (99, 0)), "outside": "redraw"},
            'in the box to be redrawn.*outside="clip"',
        ),
    ],
)
def test_context_spaces_that_cannot_be_sampled_are_refused(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(LOG, **changes)


def test_a_teacher_that_needs_a_gaussian_names_those_that_do_not():
    with pytest.raises(SelfpacedError, match=r"target .* Gaussian for SPDL, got Uniform; .*currot"):
        LOG.require_gaussian("target", "SPDL")


@pytest.mark.parametrize("role", ["initial", "target"])
def test_a_gaussian_whose_mean_is_outside_the_box_is_refused(role):
    inside, outside = Gaussian.diagonal((1.0,), (0.1,)), Gaussian.diagonal((9.0,), (0.1,))
    gaussians = {"initial": inside, "target": inside} | {role: outside}
    with pytest.raises(
        SelfpacedError, match=rf"mean of {role} must lie in \[0, 2\] for 'mass', got 9"
    ):
        ContextSpace(("mass",), (0.0,), (2.0,), **gaussians)
