"""The solver of SPDL's update in many dimensions against the dense one and closed forms."""

from __future__ import annotations

import time

import numpy as np
import pytest

from selfpaced.contexts import Gaussian
from selfpaced.teachers import gaussian_step as steps
from selfpaced.teachers.gaussian_step import gaussian_step, gaussian_steps, prepare, regularised

BOTH = pytest.mark.parametrize("direction", ["old_new", "new_old"])


def moved(old, new, direction):
    return old.kl(new) if direction == "old_new" else new.kl(old)


def problem(seed, size, num=30):
    """Return a current and a target Gaussian some widths apart, and sloping values."""
    rng = np.random.default_rng(seed)
    below = 0.3 / np.sqrt(size) * np.tril(rng.normal(size=(size, size)), -1)
    cholesky = np.diag(rng.uniform(0.5, 2.0, size)) + below
    current = Gaussian(rng.normal(size=size), cholesky)
    target = Gaussian.diagonal(current.mean + 2.0, np.full(size, 0.3))
    contexts = current.mean + rng.normal(size=(num, size)) @ cholesky.T
    values = 3.0 + contexts @ rng.normal(size=size) / np.sqrt(size) + 0.3 * rng.normal(size=num)
    return current, target, contexts, values


@pytest.fixture
def everywhere(monkeypatch):
    """Return a function that solves an update by both solvers."""

    def solve(*arguments):
        update = prepare(*arguments)
        dense = gaussian_steps([update])[0]
        with monkeypatch.context() as patch:
            patch.setattr(steps, "DENSE_SIZE", 0)
            return dense, gaussian_steps([update])[0]

    return solve


@BOTH
@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_optimum_is_that_of_the_dense_solver(everywhere, direction, size):
    for seed in range(4):
        current, target, contexts, values = problem(seed, size, 200)
        for alpha in (0.0, 1.4 * abs(values.mean()) / current.kl(target), 1.0):
            for bound in (None, 0.97 * current.cholesky.diagonal()):
                dense, sparse = everywhere(
                    current, target, contexts, values, alpha, 0.05, bound, direction
                )
                assert sparse.gain == pytest.approx(dense.gain, rel=2e-3)
                between = dense.distribution.kl(sparse.distribution)
                assert between < 2e-3


@BOTH
@pytest.mark.parametrize("size", [12, 30])
def test_gains_are_true_and_steps_stay_in_the_trust_region(direction, size):
    current, target, contexts, values = problem(0, size, 1000)
    alpha = values.mean() / current.kl(target)
    bound = 0.99 * current.cholesky.diagonal()
    step = gaussian_step(current, target, contexts, values, alpha, 0.05, bound, direction)
    new = step.distribution

    def objective(gaussian):
        ratio = np.exp(gaussian.log_density(contexts) - current.log_density(contexts))
        return (ratio * values).mean() - alpha * gaussian.kl(target)

    assert step.accepted
    assert step.gain == pytest.approx(objective(new) - objective(current), rel=1e-6)
    assert 0.99 * 0.05 < moved(current, new, direction) <= 0.05
    assert (new.cholesky.diagonal() >= bound).all()


@BOTH
def test_a_pull_on_the_mean_alone_goes_to_the_edge_of_the_trust_region(direction):
    size = 20
    current = Gaussian.diagonal(np.zeros(size), np.linspace(0.1, 3.0, size))
    far = Gaussian(np.eye(size)[3] * 1e3, current.cholesky)
    step = gaussian_step(current, far, np.zeros((1, size)), [0.0], 1.0, 0.02, None, direction)
    expected = np.eye(size)[3] * current.std[3] * np.sqrt(2 * 0.02)
    assert step.distribution.mean == pytest.approx(expected, rel=2e-2, abs=1e-6)


def test_a_strong_pull_lands_on_a_target_within_the_trust_region():
    current, _, contexts, values = problem(1, 16, 500)
    target = Gaussian(current.mean + 0.02, current.cholesky * 1.01)
    step = gaussian_step(current, target, contexts, 1e-6 * values, 10.0, 0.05)
    assert not step.kl_active
    assert step.distribution.kl(target) < 1e-3 * current.kl(target)


@BOTH
def test_fewer_episodes_than_parameters_have_the_step_of_a_linear_value(direction):
    size = 20
    current = Gaussian.diagonal(np.zeros(size), np.ones(size))
    rng = np.random.default_rng(0)
    contexts, slope = rng.normal(size=(100, size)), np.eye(size)[0]
    nothing = prepare(current, current, contexts, contexts @ slope, 0.0, 0.05, None, direction)
    update = regularised(nothing)
    assert update.linear is not None
    new = gaussian_steps([update])[0].distribution
    # maximise the mean: its KL is ½ log(1 + m²) with the best covariance, or ½ m²
    longest = np.sqrt(np.expm1(0.1)) if direction == "old_new" else np.sqrt(0.1)
    along = update.linear.slope / np.linalg.norm(update.linear.slope)
    assert new.mean == pytest.approx(longest * along, rel=1e-2, abs=1e-3)
    assert update.expected_value(new) > 0.9 * longest
    enough = prepare(
        current, current, np.tile(contexts, (3, 1)), np.tile(contexts[:, 0], 3), 0, 0.05
    )
    assert regularised(enough).linear is None


def test_flat_values_of_few_episodes_do_not_keep_from_the_target():
    size, rng = 12, np.random.default_rng(3)
    current = Gaussian.diagonal(np.zeros(size), np.ones(size))
    target = Gaussian.diagonal(np.full(size, 2.0), np.full(size, 0.5))
    for _ in range(80):
        contexts = current.sample(rng, 40)
        alpha = 10.0 / max(current.kl(target), 1e-10)
        values = 10.0 + rng.normal(size=40)
        update = regularised(prepare(current, target, contexts, values, alpha, 0.05))
        current = gaussian_steps([update])[0].distribution
    assert current.kl(target) < 0.2


@BOTH
def test_a_diagonal_covariance_stays_diagonal_and_is_optimal_without_correlations(direction):
    size = 3
    current, target, contexts, values = problem(5, size, 200)
    current = Gaussian.diagonal(current.mean, current.std)
    step = gaussian_step(
        current, target, contexts, values, 0.1, 0.05, None, direction, covariance="diagonal"
    )
    full = gaussian_step(current, target, contexts, values, 0.1, 0.05, None, direction)
    assert not np.tril(step.distribution.cholesky, -1).any()
    assert 0.8 * full.gain < step.gain <= full.gain * (1 + 1e-3)
    assert moved(current, step.distribution, direction) <= 0.05


def test_one_dimension_has_no_correlations():
    current, target, contexts, values = problem(6, 1, 50)
    arguments = current, target, contexts, values, 0.1, 0.05, None, "old_new"
    diagonal = gaussian_step(*arguments, covariance="diagonal").distribution
    full = gaussian_step(*arguments).distribution
    assert diagonal.mean == pytest.approx(full.mean, rel=1e-2)
    assert diagonal.std == pytest.approx(full.std, rel=1e-2)


@BOTH
def test_random_problems_are_feasible_finite_and_never_worse_than_staying(direction):
    rng = np.random.default_rng(8)
    for trial in range(100):
        size, num = 11 + trial % 5, int(rng.integers(1, 200))
        current, target = (
            Gaussian(
                rng.normal(size=size) * 10.0 ** rng.uniform(-4, 4),
                (np.eye(size) + 0.1 * np.tril(rng.normal(size=(size, size)), -1))
                * 10.0 ** rng.uniform(-4, 4, size=(size, 1)),
            )
            for _ in range(2)
        )
        spread = rng.choice([1, 5]) * rng.normal(size=(num, size))
        contexts = current.mean + spread @ current.cholesky.T
        values = (rng.normal(size=num) + rng.choice([-3.0, 0.0, 3.0])) * rng.choice(
            [0.0, 1e-9, 1e9]
        )
        alpha = float(rng.choice([0.0, 10.0 ** rng.uniform(-8, 5)]))
        max_kl = float(rng.choice([0.05, 10.0 ** rng.uniform(-3, 1)]))
        bound = np.diag(current.cholesky) * rng.choice([0.0, 0.9, 1.0, 1.02])
        update = prepare(current, target, contexts, values, alpha, max_kl, bound, direction)
        if trial % 2:
            update = regularised(update)
        step = gaussian_steps([update])[0]
        assert np.isfinite([step.gain, step.kl_moved]).all()
        assert step.gain >= 0.0
        assert moved(current, step.distribution, direction) <= max_kl + 1e-9
        assert (np.diag(step.distribution.cholesky) >= update.bound * (1 - 1e-12)).all()


@pytest.mark.parametrize(("size", "limit"), [(20, 0.02), (50, 0.2)])
def test_an_update_is_fast_in_many_dimensions(size, limit):
    seconds = []
    for seed in range(5):
        arguments = problem(seed, size, 300)
        before = time.thread_time()
        gaussian_step(*arguments, 0.01, 0.05)
        seconds.append(time.thread_time() - before)
    assert min(seconds) < limit
