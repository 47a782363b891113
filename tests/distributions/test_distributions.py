"""Targets and initial distributions of any shape: shares, bounds, and mistakes of users."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from selfpaced import Gaussian, Mixture, Product, Samples, SelfpacedError, Uniform
from selfpaced.distributions.base import Distribution, HasLogDensity
from selfpaced.distributions.transport import assign, wasserstein

LEFT, RIGHT = Gaussian.diagonal((-3.0, 0.5), (0.1, 0.2)), Gaussian.diagonal((3.0, 0.5), (0.1, 0.2))
LINE = Uniform((0.0, 1.0), (2.0, 1.0))
RECORDED = Samples(np.arange(10.0).reshape(5, 2))


def rng(number=0):
    return np.random.default_rng(number)


@pytest.mark.parametrize(
    "distribution",
    [LEFT, Mixture((LEFT, LINE), (0.3, 0.7)), LINE, RECORDED, Product((LEFT, LINE, RECORDED))],
    ids=lambda distribution: type(distribution).__name__,
)
def test_every_distribution_fulfils_the_protocol(distribution):
    assert isinstance(distribution, Distribution)
    for num in (0, 1, 7):
        drawn = distribution.sample(rng(), num)
        assert drawn.shape == (num, distribution.size)
        np.testing.assert_array_equal(drawn, distribution.sample(rng(), num))


@pytest.mark.parametrize(("weights", "counts"), [(None, (50, 50)), ((0.25, 0.75), (25, 75))])
def test_a_mixture_holds_its_components_in_proportion(weights, counts):
    drawn = Mixture((LEFT, RIGHT), weights).sample(rng(), 100)
    assert ((drawn[:, 0] < 0).sum(), (drawn[:, 0] > 0).sum()) == counts


def test_single_draws_from_a_mixture_have_the_weights_as_frequencies():
    mixture = Mixture((LEFT, RIGHT), (0.2, 0.8))
    one = rng()
    drawn = np.concatenate([mixture.sample(one, 1) for _ in range(2000)])
    assert (drawn[:, 0] < 0).mean() == pytest.approx(0.2, abs=0.03)


def test_the_density_of_a_mixture_is_the_weighted_sum():
    points = rng().normal(size=(20, 2))
    expected = 0.3 * np.exp(LEFT.log_density(points)) + 0.7 * np.exp(RIGHT.log_density(points))
    mixture = Mixture((LEFT, RIGHT), (0.3, 0.7))
    assert isinstance(mixture, HasLogDensity)
    np.testing.assert_allclose(np.exp(mixture.log_density(points)), expected)


def test_the_density_of_a_product_is_the_product():
    product = Product((LEFT, RIGHT))
    points = rng().normal(size=(20, 4))
    expected = LEFT.log_density(points[:, :2]) + RIGHT.log_density(points[:, 2:])
    np.testing.assert_allclose(product.log_density(points), expected)


def test_a_component_of_zero_width_is_constant():
    assert (LINE.sample(rng(), 50)[:, 1] == 1.0).all()


def test_no_recorded_context_is_drawn_twice_before_all_were_drawn():
    drawn = RECORDED.sample(rng(), 12)[:, 0]
    assert sorted(drawn[:5]) == sorted(drawn[5:10]) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mixture((LEFT, RIGHT), (0.5, 0.6)), "sum 1, got .* sum 1.1; divide each"),
        (lambda: Mixture((LEFT, RIGHT), (1.5, -0.5)), "weights must be non-negative"),
        (lambda: Mixture((LEFT, RIGHT), (1.0,)), "one number for each of 2"),
        (lambda: Mixture((LEFT, Product((LEFT, LEFT)))), "all of one size"),
        (lambda: Mixture(()), "at least one distribution"),
        (lambda: Uniform((0.0, 1.0), (0.0, 1.0)), "a width in at least one component"),
        (lambda: Uniform((0.0, 1.0), (1.0, 0.0)), "lower <= upper"),
        (lambda: Uniform((0.0,), (1.0, 2.0)), "of one length"),
        (lambda: Samples(np.array([[0.0], [np.nan]])), "finite, got 1 of 2 .* row 1; drop"),
        (lambda: Samples(np.zeros(3)), r"array \[N, C\]"),
        (lambda: Product(()), "at least one"),
        (lambda: Mixture((LEFT, LINE)).log_density([[0.0, 0.0]]), "must have log_density"),
    ],
)
def test_mistakes_are_explained(make, message):
    with pytest.raises(SelfpacedError, match=message):
        make()


def test_the_assignment_has_the_smallest_sum_of_squares():
    here, there = np.array([[0.0], [1.0], [2.0]]), np.array([[2.1], [0.1], [1.1], [9.0]])
    assert assign(here, there).tolist() == [1, 2, 0]


SPREAD, NARROW = rng(3).random((300, 2)), 0.8 + 0.01 * rng(4).normal(size=(300, 2))
REPEATED = np.repeat(rng(5).random((100, 3)), 3, axis=0)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (SPREAD, NARROW),
        (NARROW, SPREAD),
        (SPREAD[:250], NARROW),  # some are left over
        (1e6 + SPREAD, 1e6 + 1e3 * NARROW),
        (1e-6 * SPREAD, NARROW),
        (REPEATED, rng(6).permutation(REPEATED)),
        (REPEATED, np.ones((300, 3))),  # all assignments cost the same
    ],
)
def test_large_assignments_are_exact(here, there):
    costs = cdist(here, there, "sqeuclidean")
    chosen = assign(here, there)
    assert len(set(chosen)) == len(here)
    least = costs[linear_sum_assignment(costs)].sum()
    assert costs[np.arange(len(here)), chosen].sum() == pytest.approx(least, rel=1e-9, abs=1e-9)


def test_the_wasserstein_distance_of_shifted_contexts_is_the_shift():
    points = rng().normal(size=(40, 2))
    assert wasserstein(points, rng(1).permutation(points + np.array([3.0, 4.0]))) == pytest.approx(
        5.0
    )
