"""The paper's two theorems, checked numerically on small problems (Section 4 and Appendix A).

Notation as there: μ target, p current contexts, J(c) expected return, O the event of optimality,
whose probability in a context is f(R) averaged over episodes, up to a factor.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

from selfpaced.contexts import Gaussian
from selfpaced.sprl.dual import EpisodicDual, quadratic_features
from selfpaced.teachers.gaussian_step import gaussian_step

ALPHAS = (0.0, 0.3, 1.0, 7.0)


class Grid:
    """Contexts on a fine grid, wide enough for everything below, and the volume of a cell."""

    def __init__(self, size, num, reach=9.0):
        axis = np.linspace(-reach, reach, num)
        self.contexts = np.stack(np.meshgrid(*[axis] * size, indexing="ij"), -1).reshape(-1, size)
        self.log_cell = size * np.log(axis[1] - axis[0])

    def normalise(self, log_density):
        return log_density - logsumexp(log_density + self.log_cell)

    def mean(self, gaussian, values):
        return np.exp(gaussian.log_density(self.contexts) + self.log_cell) @ values


LINE, PLANE = Grid(1, 6001), Grid(2, 301)
OLD = {1: Gaussian.diagonal([-0.5], [0.8]), 2: Gaussian([-0.5, 0.3], [[0.9, 0.0], [0.3, 0.7]])}
TARGET = {1: Gaussian.diagonal([1.5], [0.4]), 2: Gaussian([1.2, -0.8], [[0.5, 0.0], [-0.2, 0.6]])}
GRID = {1: LINE, 2: PLANE}


def bumpy_return(contexts):
    """Any return will do: this one has several hills."""
    return 2.0 * np.sin(2.0 * contexts[:, 0]) - 0.2 * (contexts**2).sum(axis=1)


def hill(contexts):
    """A quadratic return, for which everything stays Gaussian."""
    return 3.0 - 0.4 * ((contexts + 1.0) ** 2).sum(axis=1)


def some_gaussians(size, num=25):
    rng = np.random.default_rng(size)
    for _ in range(num):
        cholesky = np.diag(rng.uniform(0.3, 1.0, size)) + np.tril(
            rng.normal(0, 0.2, (size,) * 2), -1
        )
        yield Gaussian(rng.normal(0, 0.8, size), cholesky)


def tempered_posterior(size, log_optimal, alpha):
    """Log of p(c | O)^(1 / (1 + α)) μ(c)^(α / (1 + α)) / Z on the grid."""
    grid = GRID[size]
    posterior = grid.normalise(log_optimal + OLD[size].log_density(grid.contexts))
    target = TARGET[size].log_density(grid.contexts)
    return grid.normalise((posterior + alpha * target) / (1.0 + alpha))


def e_step(size, gaussian, tempered):
    """KL(q ‖ tempered posterior) by quadrature."""
    log_ratio = gaussian.log_density(GRID[size].contexts) - tempered
    return GRID[size].mean(gaussian, log_ratio)


def spdl_objective(size, gaussian, returns, alpha):
    """Objective (3) of the paper."""
    return GRID[size].mean(gaussian, returns) - alpha * gaussian.kl(TARGET[size])


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("size", [1, 2])
def test_theorem_1_the_regularised_e_step_is_the_objective_of_spdl_less_a_kl(size, alpha):
    returns = bumpy_return(GRID[size].contexts)
    tempered = tempered_posterior(size, returns, alpha)  # f = exp, so log p(O | c) is J(c)
    constants = [
        e_step(size, q, tempered)
        + (spdl_objective(size, q, returns, alpha) - q.kl(OLD[size])) / (1.0 + alpha)
        for q in some_gaussians(size)
    ]
    # for all q, KL(q ‖ tempered) = -(objective - KL(q ‖ old)) / (1 + α) + constant
    np.testing.assert_allclose(constants, constants[0], atol=1e-8)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_1_both_have_the_same_best_gaussian(alpha):
    returns = bumpy_return(LINE.contexts)
    tempered = tempered_posterior(1, returns, alpha)

    def gaussian(x):
        return Gaussian.diagonal(x[:1], np.exp(x[1:]))

    def minus_objective(x):
        q = gaussian(x)
        return q.kl(OLD[1]) - spdl_objective(1, q, returns, alpha)

    settings = {"method": "Nelder-Mead", "options": {"xatol": 1e-7, "fatol": 1e-12}}
    by_inference = minimize(lambda x: e_step(1, gaussian(x), tempered), [0.0, 0.0], **settings)
    by_objective = minimize(minus_objective, [0.0, 0.0], **settings)
    np.testing.assert_allclose(by_inference.x, by_objective.x, atol=1e-4)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_1_with_random_returns_the_objective_is_a_lower_bound(alpha):
    # two equally likely returns: log p(O | c) = log mean exp(R) >= mean R = J(c)
    returns = bumpy_return(LINE.contexts)
    outcomes = np.stack([returns - 1.0, returns + 1.0])
    log_optimal = logsumexp(outcomes, axis=0) - np.log(2)
    q = Gaussian.diagonal([0.4], [0.6])
    assert LINE.mean(q, log_optimal) > LINE.mean(q, returns)
    assert LINE.mean(q, log_optimal - returns) == pytest.approx(np.log(np.cosh(1.0)))


def best_gaussian(size, alpha):
    """The tempered posterior of a quadratic return, which is a Gaussian: completed squares."""
    old, target = OLD[size], TARGET[size]
    old_precision, target_precision = (np.linalg.inv(g.covariance) for g in (old, target))
    hill_precision = 0.8 * np.eye(size)
    precision = (old_precision + hill_precision + alpha * target_precision) / (1.0 + alpha)
    linear = old_precision @ old.mean - hill_precision @ np.ones(size)
    linear += alpha * target_precision @ target.mean
    covariance = np.linalg.inv(precision)
    return Gaussian(covariance @ linear / (1.0 + alpha), np.linalg.cholesky(covariance))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("size", [1, 2])
def test_theorem_1_a_quadratic_return_has_a_gaussian_tempered_posterior(size, alpha):
    tempered = tempered_posterior(size, hill(GRID[size].contexts), alpha)
    best = best_gaussian(size, alpha)
    np.testing.assert_allclose(best.log_density(GRID[size].contexts), tempered, atol=1e-6)
    assert e_step(size, best, tempered) == pytest.approx(0.0, abs=1e-9)


def evenly_drawn(gaussian, num):
    """Contexts that represent a one-dimensional Gaussian better than random ones."""
    quantiles = (np.arange(num) + 0.5) / num
    return gaussian.mean + gaussian.cholesky[0] * norm.ppf(quantiles)[:, None]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_1_the_update_of_spdl_gains_what_the_objective_gains(alpha):
    contexts = evenly_drawn(OLD[1], 1024)
    step = gaussian_step(
        OLD[1], TARGET[1], contexts, bumpy_return(contexts), alpha, 0.05, direction="new_old"
    )
    returns = bumpy_return(LINE.contexts)
    after, before = (spdl_objective(1, q, returns, alpha) for q in (step.distribution, OLD[1]))
    assert step.gain == pytest.approx(after - before, rel=0.02)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_1_the_update_of_spdl_is_the_e_step_when_the_trust_region_is_as_wide(alpha):
    # the best for objective - KL(q ‖ old) is also the best among all that are as close to old
    best = best_gaussian(1, alpha)
    contexts = evenly_drawn(OLD[1], 4096)
    step = gaussian_step(
        OLD[1], TARGET[1], contexts, hill(contexts), alpha, best.kl(OLD[1]), direction="new_old"
    )
    assert step.distribution.kl(best) < 2e-3
    assert step.distribution.kl(best) < 0.01 * OLD[1].kl(best)


def random_outcomes(contexts):
    """Returns [5, K] of five kinds of episode, and the logs of their probabilities."""
    kinds = np.arange(5)[:, None]
    returns = bumpy_return(contexts) + np.cos(kinds + contexts[:, 0])
    log_probabilities = -0.5 * (kinds - 2.0 - contexts[:, 0]) ** 2
    return returns, log_probabilities - logsumexp(log_probabilities, axis=0)


def episodic_value(contexts, eta):
    """V(c) = η log E[exp(R / η) | c]."""
    returns, log_probabilities = random_outcomes(contexts)
    return eta * logsumexp(returns / eta + log_probabilities, axis=0)


@pytest.mark.parametrize("eta", [0.5, 2.0])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("size", [1, 2])
def test_theorem_2_the_unrestricted_e_step_has_the_closed_form_of_sprl(size, alpha, eta):
    contexts, grid = GRID[size].contexts, GRID[size]
    returns, log_probabilities = random_outcomes(contexts)
    log_optimal = logsumexp(returns / eta + log_probabilities, axis=0)  # f = exp(· / η)
    tempered = tempered_posterior(size, log_optimal, alpha)

    current, target = (g.log_density(contexts) for g in (OLD[size], TARGET[size]))
    pull = eta * alpha * (target - current)
    tilt = (episodic_value(contexts, eta) + pull) / (eta + eta * alpha)
    np.testing.assert_allclose(grid.normalise(current + tilt), tempered, atol=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_2_is_how_our_dual_weighs_contexts(alpha):
    eta, phi = 0.7, np.array([0.3, -0.5, -0.2])  # the value is φᵀψ(c)
    contexts = LINE.contexts
    features = quadratic_features(contexts)
    current, target = (g.log_density(contexts) for g in (OLD[1], TARGET[1]))
    # α of SPRL is η times that of the tempered posterior
    dual = EpisodicDual(np.zeros(len(contexts)), target - current, features, eta * alpha, 0.5)
    _, weights = dual.weights(np.concatenate([[1.0, eta], phi]))
    tempered = tempered_posterior(1, features @ phi / eta, alpha)
    likely = weights > 1e-200
    ours = LINE.normalise(np.log(weights[likely]) + current[likely])
    np.testing.assert_allclose(ours, tempered[likely], atol=1e-8)
