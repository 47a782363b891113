"""The compiled solver of SPDL's update against closed forms, grids and SciPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from selfpaced.contexts import Gaussian
from selfpaced.errors import SelfpacedError
from selfpaced.teachers import interior_point
from selfpaced.teachers.gaussian_step import gaussian_step, gaussian_steps, prepare

BOTH = pytest.mark.parametrize("direction", ["old_new", "new_old"])


def moved(old, new, direction):
    return old.kl(new) if direction == "old_new" else new.kl(old)


def objective(new, current, target, contexts, values, alpha):
    """Return Eq. (5), written independently with the public Gaussian."""
    ratio = np.exp(new.log_density(contexts) - current.log_density(contexts))
    return float((ratio * values).mean() - alpha * new.kl(target))


def problem(seed, size, num=30):
    """Return a current and a target Gaussian some widths apart, and sloping values."""
    rng = np.random.default_rng(seed)
    cholesky = np.diag(rng.uniform(0.5, 2.0, size)) + 0.3 * np.tril(
        rng.normal(size=(size, size)), -1
    )
    current = Gaussian(rng.normal(size=size), cholesky)
    target = Gaussian.diagonal(current.mean + 2.0, np.full(size, 0.3))
    contexts = current.mean + rng.normal(size=(num, size)) @ cholesky.T
    values = 3.0 + contexts @ rng.normal(size=size) + 0.3 * rng.normal(size=num)
    return current, target, contexts, values


@BOTH
def test_nothing_to_gain_keeps_the_current_distribution(direction):
    current, target, contexts, values = problem(0, 2)
    result = gaussian_step(current, target, contexts, 0 * values, 0.0, 0.05, None, direction)
    assert result.distribution is current
    assert (result.gain, result.kl_moved, result.accepted) == (0.0, 0.0, False)
    assert not result.kl_active
    assert not result.bound_active.any()


def test_no_samples_keep_the_current_distribution_even_below_the_bound():
    current, target, contexts, values = problem(0, 2)
    result = gaussian_step(current, target, contexts[:0], values[:0], 1.0, 0.05, [9.0, 9.0])
    assert result.distribution is current
    assert not result.accepted


def test_constant_values_at_symmetric_contexts_do_not_move_the_mean():
    current = Gaussian.diagonal([2.0], [0.5])
    target = Gaussian.diagonal([9.0], [0.1])
    result = gaussian_step(current, target, [[1.7], [2.3]], [1.0, 1.0], 0.0, 0.05)
    assert result.distribution.mean == pytest.approx([2.0], abs=1e-9)
    assert (
        result.distribution.cholesky[0, 0] < 0.5
    )  # samples lie within one width, so a narrower one gains
    assert result.kl_active


@BOTH
@pytest.mark.parametrize("alpha", [1e2, 1e5])
def test_a_strong_pull_lands_on_a_target_within_the_trust_region(alpha, direction):
    current, _, contexts, _ = problem(1, 2)
    target = Gaussian(current.mean + 0.05, current.cholesky * 1.02)
    values = np.full(len(contexts), 1e-6)
    result = gaussian_step(current, target, contexts, values, alpha, 0.05, None, direction)
    assert result.accepted
    assert not result.kl_active
    assert result.distribution.kl(target) < 1e-3 * current.kl(target)
    assert result.gain == pytest.approx(alpha * current.kl(target), rel=1e-3)


@BOTH
def test_a_pull_on_the_mean_alone_goes_to_the_edge_of_the_trust_region(direction):
    # values are zero, target and current have equal widths: by symmetry the widths stay close
    # and the mean moves straight towards the target
    current = Gaussian.diagonal([0.0, 0.0], [1.0, 2.0])
    target = Gaussian.diagonal([1e3, 0.0], [1.0, 2.0])
    result = gaussian_step(current, target, [[0.0, 0.0]], [0.0], 1.0, 0.02, None, direction)
    assert result.distribution.mean == pytest.approx([np.sqrt(2 * 0.02), 0.0], rel=1e-2, abs=1e-6)
    assert result.kl_active
    assert moved(current, result.distribution, direction) <= 0.02


@BOTH
@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("bound", [None, 0.68])
def test_one_dimension_agrees_with_a_grid_search(direction, alpha, bound):
    rng = np.random.default_rng(2)
    current, target = Gaussian.diagonal([0.3], [0.7]), Gaussian.diagonal([2.0], [0.2])
    contexts = rng.normal(0.3, 0.7, size=(25, 1))
    values = 2.0 + contexts[:, 0] - contexts[:, 0] ** 2
    problem = current, target, contexts, values, alpha
    result = gaussian_step(*problem, 0.05, bound, direction)
    mean, std = np.meshgrid(np.linspace(-0.1, 0.7, 801), np.linspace(0.5, 1.0, 1001), indexing="ij")
    forward = np.log(std / 0.7) + (0.7**2 + (mean - 0.3) ** 2) / (2 * std**2) - 0.5
    backward = np.log(0.7 / std) + (std**2 + (mean - 0.3) ** 2) / (2 * 0.7**2) - 0.5
    feasible = (forward if direction == "old_new" else backward) <= 0.05
    feasible &= std >= (bound or 0.0)
    ratio = sum(
        value * np.exp(-0.5 * ((c - mean) / std) ** 2 + 0.5 * ((c - 0.3) / 0.7) ** 2) * 0.7 / std
        for c, value in zip(contexts[:, 0], values, strict=True)
    )
    pull = np.log(0.2 / std) + (std**2 + (mean - 2.0) ** 2) / (2 * 0.2**2) - 0.5
    best = (ratio / 25 - alpha * pull)[feasible].max() - objective(current, *problem)
    assert best * (1 - 2e-3) < result.gain < best * (1 + 2e-2)  # the grid misses the corners


@BOTH
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_two_dimensions_agree_with_slsqp(seed, bounded, direction):
    current, target, contexts, values = problem(seed, 2)
    bound = np.diag(current.cholesky) * 0.95 if bounded else np.zeros(2)
    args = current, target, contexts, values, 0.05
    result = gaussian_step(*args, 0.05, bound, direction)

    def gaussian(x):
        return Gaussian(x[:2], np.array([[x[2], 0.0], [x[4], x[3]]]))

    cholesky = current.cholesky
    x_0 = np.array([*current.mean, cholesky[0, 0], cholesky[1, 1], cholesky[1, 0]])
    region = {"type": "ineq", "fun": lambda x: 0.05 - moved(current, gaussian(x), direction)}
    box = [(None, None)] * 2 + [(max(b, 0.1), None) for b in bound] + [(None, None)]
    slsqp = minimize(
        lambda x: -objective(gaussian(x), *args), x_0, bounds=box, constraints=[region], tol=1e-9
    )
    best = -slsqp.fun - objective(current, *args)
    assert result.gain == pytest.approx(best, rel=2e-3)
    assert result.gain == pytest.approx(
        objective(result.distribution, *args) - objective(current, *args), rel=1e-9
    )
    assert result.kl_moved == pytest.approx(moved(current, result.distribution, direction))


def test_bounds_hold_and_are_reported_when_they_stop_the_step():
    current, _, contexts, values = problem(3, 3)
    target = Gaussian(current.mean, current.cholesky * 0.01)  # narrower in all components
    bound = np.diag(current.cholesky) * [1.0, 0.0, 0.97]
    result = gaussian_step(current, target, contexts, values, 1.0, 0.05, bound)
    assert (np.diag(result.distribution.cholesky) >= bound).all()
    assert result.bound_active.tolist() == [True, False, True]
    assert result.accepted


@BOTH
def test_a_start_below_the_bound_is_raised_to_it(direction):
    current, target, contexts, values = problem(4, 2)
    bound = np.diag(current.cholesky) * [1.05, 0.5]
    result = gaussian_step(current, target, contexts, values, 0.1, 0.05, bound, direction)
    assert (np.diag(result.distribution.cholesky) >= bound).all()
    raised = Gaussian(current.mean, current.cholesky + np.diag([0.05 * current.cholesky[0, 0], 0]))
    args = current, target, contexts, values, 0.1
    gain = objective(result.distribution, *args) - objective(raised, *args)
    assert result.gain == pytest.approx(gain, rel=1e-6)


@BOTH
def test_a_bound_beyond_the_trust_region_is_approached_but_not_reached(direction):
    current, target, contexts, values = problem(5, 2)
    bound = np.diag(current.cholesky) * [20.0, 0.5]
    result = gaussian_step(current, target, contexts, 0 * values, 0.0, 0.05, bound, direction)
    raised = np.diag(result.distribution.cholesky) / np.diag(current.cholesky)
    assert moved(current, result.distribution, direction) == pytest.approx(0.025, rel=0.01)
    assert raised[0] > 1.1
    assert raised[1] == 1.0
    result = gaussian_step(current, target, contexts, values, 0.1, 0.05, bound, direction)
    assert moved(current, result.distribution, direction) <= 0.05
    assert (np.diag(result.distribution.cholesky)[0] / current.cholesky[0, 0]) >= raised[0] - 1e-9


@BOTH
def test_the_step_does_not_depend_on_the_units(direction):
    current, target, contexts, values = problem(6, 2)
    plain = gaussian_step(current, target, contexts, values, 0.1, 0.05, None, direction)
    units, offset = np.array([1e-3, 1e4]), np.array([5.0, -7.0])

    def other(gaussian):
        return Gaussian(offset + units * gaussian.mean, units[:, None] * gaussian.cholesky)

    scaled = gaussian_step(
        other(current), other(target), offset + units * contexts, values * 1e12, 0.1e12, 0.05,
        None, direction,
    )  # fmt: skip
    assert scaled.distribution.mean == pytest.approx(other(plain.distribution).mean, rel=1e-6)
    assert scaled.distribution.cholesky == pytest.approx(
        other(plain.distribution).cholesky, rel=1e-5, abs=1e-9
    )
    assert scaled.gain == pytest.approx(1e12 * plain.gain, rel=1e-6)


def test_seeing_every_sample_twice_changes_nothing():
    current, target, contexts, values = problem(7, 2, num=40)  # 80 need a larger program
    once = gaussian_step(current, target, contexts, values, 0.1, 0.05)
    twice = gaussian_step(current, target, np.tile(contexts, (2, 1)), np.tile(values, 2), 0.1, 0.05)
    assert twice.gain == pytest.approx(once.gain, rel=1e-6)
    assert twice.distribution.mean == pytest.approx(once.distribution.mean, rel=1e-6)


@BOTH
def test_updates_solved_together_agree_with_those_solved_one_by_one(direction):
    alphas, bounds = (0.0, 0.1, 10.0, 1e5), (None, (0.9, 0.9, 0.9), None, (0.5, 0.5, 0.5))
    problems = [
        (*problem(seed, 3, num), alpha, 0.05, bound, direction)
        for seed, (num, alpha, bound) in enumerate(
            zip((20, 30, 40, 50), alphas, bounds, strict=True)
        )
    ]
    together = gaussian_steps([prepare(*each) for each in problems])
    for step, each in zip(together, problems, strict=True):
        alone = gaussian_step(*each)
        assert step.accepted == alone.accepted
        assert step.gain == pytest.approx(alone.gain, rel=1e-3)
        assert step.distribution.mean == pytest.approx(alone.distribution.mean, rel=1e-2, abs=1e-3)


def test_an_update_without_samples_stays_while_others_move():
    current, target, contexts, values = problem(3, 2)
    nothing = prepare(current, target, np.zeros((0, 2)), np.zeros(0), 1.0, 0.05)
    something = prepare(current, target, contexts, values, 1.0, 0.05)
    stayed, moved_on = gaussian_steps([nothing, something])
    assert not stayed.accepted
    assert stayed.distribution is current
    assert moved_on.accepted


@BOTH
def test_random_problems_are_feasible_finite_and_never_worse_than_staying(direction):
    rng = np.random.default_rng(8)
    for trial in range(300):
        size, num = 1 + trial % 3, int(rng.integers(1, 65))
        current, target = (
            Gaussian(
                rng.normal(size=size) * 10.0 ** rng.uniform(-4, 4),
                (np.eye(size) + 0.3 * np.tril(rng.normal(size=(size, size)), -1))
                * 10.0 ** rng.uniform(-4, 4, size=(size, 1)),
            )
            for _ in range(2)
        )
        contexts = (
            current.mean + rng.choice([1, 5]) * rng.normal(size=(num, size)) @ current.cholesky.T
        )
        values = rng.normal(size=num) + rng.choice([-3.0, 0.0, 3.0])
        values = values * rng.choice([0.0, 1e-12, 1.0, 1e12])
        alpha = float(rng.choice([0.0, 10.0 ** rng.uniform(-8, 5), 1e5]))
        max_kl = float(rng.choice([0.05, 10.0 ** rng.uniform(-3, 1)]))
        bound = np.diag(current.cholesky) * rng.choice([0.0, 0.9, 1.0])
        result = gaussian_step(current, target, contexts, values, alpha, max_kl, bound, direction)
        new = result.distribution
        assert np.isfinite([result.gain, result.kl_moved]).all()
        assert moved(current, new, direction) <= max_kl + 1e-9
        assert (np.diag(new.cholesky) >= bound * (1 - 1e-12)).all()
        args = current, target, contexts, values, alpha
        before, after = objective(current, *args), objective(new, *args)
        assert after >= before - 1e-9 * (np.abs(values).mean() + abs(before))


@BOTH
def test_derivatives_agree_with_automatic_ones(direction):
    rng = np.random.default_rng(9)
    with jax.enable_x64(True):
        white = rng.normal(size=(10, 2))
        task = interior_point.WhitenedProblem(
            features=jnp.column_stack([white, np.ones(10)]),
            half_norm=0.5 * (white**2).sum(axis=1),
            values=jnp.asarray(rng.normal(size=10)),
            target=jnp.asarray([[2.0, 0.0, 0.5], [0.3, 1.5, -1.0]]),
            alpha=jnp.asarray(0.7),
            max_kl=jnp.asarray(0.0),
            upper=jnp.full(2, jnp.inf),
            bounded=jnp.zeros(2, bool),
        )
        x = jnp.asarray([1.1, 0.2, -0.3, 0.8, 0.1])
        functions = [
            lambda x: interior_point.objective_and_slack(task, x, direction)[0],
            lambda x: -interior_point.objective_and_slack(task, x, direction)[1][0],
        ]
        expected = [jax.jit(d(f))(x) for f in functions for d in (jax.grad, jax.hessian)]
        derivatives = jax.jit(lambda x: interior_point.derivatives(task, x, direction))(x)
        for ours, automatic in zip(derivatives, expected, strict=True):
            np.testing.assert_allclose(ours, automatic, atol=1e-12)


def test_the_same_shape_compiles_once_and_float32_stays_elsewhere():
    current, target, contexts, values = problem(10, 2, num=33)
    gaussian_step(current, target, contexts, values, 0.1, 0.05)
    compiled = interior_point.solve._cache_size()
    for num in (1, 20, 33):
        gaussian_step(current, target, contexts[:num], values[:num], 0.3, 0.1, [0.1, 0.2])
        assert jnp.ones(2).dtype == jnp.float32
    assert interior_point.solve._cache_size() == compiled


@pytest.mark.parametrize("where", ["contexts", "values"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_samples_that_are_not_numbers_are_named(where, bad):
    current, target, contexts, values = problem(11, 2)
    (contexts if where == "contexts" else values)[4] = bad
    with pytest.raises(SelfpacedError, match=r"1 of 30 .* index 4.*learning rate"):
        gaussian_step(current, target, contexts, values, 0.1, 0.05)


def test_wrong_settings_are_named_with_their_conditions():
    args = problem(12, 2)
    with pytest.raises(SelfpacedError, match=r"max_kl > 0 .* max_kl=0\.0.*0\.05"):
        gaussian_step(*args, 0.1, 0.0)
    with pytest.raises(SelfpacedError, match=r"alpha >= 0.* alpha=-1\.0"):
        gaussian_step(*args, -1.0, 0.05)
    with pytest.raises(SelfpacedError, match=r"std_lower_bound >= 0.*nan"):
        gaussian_step(*args, 0.1, 0.05, [np.nan, 1.0])
    with pytest.raises(SelfpacedError, match=r"'old_new' or 'new_old', got .*'sideways'"):
        gaussian_step(*args, 0.1, 0.05, None, "sideways")  # type: ignore[arg-type]
    with pytest.raises(SelfpacedError, match=r"shapes \[K, 2\] and \[K\].*\(29, 2\)"):
        gaussian_step(*args[:2], args[2][1:], args[3], 0.1, 0.05)
