"""SPRL's settings, its dual, and its fit of policy and contexts."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from selfpaced import PROBLEMS, EpisodicUpdate, Gaussian, SelfpacedError
from selfpaced.sprl import update as sprl
from selfpaced.sprl.dual import EpisodicDual, quadratic_features, regress, solve_dual
from selfpaced.sprl.weighted_fit import LinearGaussian, Moments, fit_within

CONTEXTS = PROBLEMS["point-mass-2d"].contexts
NUM_PARAMETERS = 4


def rng(number=0):
    return np.random.default_rng(number)


def kl_to_uniform(weights):
    return float((weights * np.log(np.maximum(weights, 1e-300) * len(weights))).sum())


def toy_dual(alpha, num=250, epsilon=0.5):
    contexts = rng(1).normal(size=(num, 2))
    returns = 5.0 - (contexts[:, 0] + 1.0) ** 2 + rng(2).normal(size=num)
    target, current = Gaussian.diagonal([1.0, 0.5], [0.05, 0.1]), Gaussian.diagonal([0, 0], [1, 1])
    log_ratio = target.log_density(contexts) - current.log_density(contexts)
    return EpisodicDual(returns, log_ratio, quadratic_features(contexts), alpha, epsilon)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 3.0])
def test_gradient_and_hessian_of_the_dual_agree_with_finite_differences(alpha):
    dual = toy_dual(alpha)
    x = np.concatenate([[2.0, 1.5], rng(3).normal(size=6)])
    gradient, hessian = dual.derivatives(x)
    np.testing.assert_allclose(gradient, approx_fprime(x, dual.value, 1e-6), rtol=1e-4, atol=1e-4)
    numerical = approx_fprime(x, lambda x: dual.derivatives(x)[0], 1e-6)
    np.testing.assert_allclose(hessian, numerical, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.1, 10.0, 1e10])
def test_weights_stay_within_both_bounds(alpha):
    weights = solve_dual(toy_dual(alpha))
    assert weights.solved
    assert kl_to_uniform(weights.policy) <= 0.5
    assert kl_to_uniform(weights.context) <= 0.5
    assert weights.policy.sum() == pytest.approx(1.0)
    assert weights.context.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0, 1e3, 1e10])
def test_the_policy_uses_all_of_its_bound_however_strong_the_pull(alpha):
    weights = solve_dual(toy_dual(alpha))
    assert weights.solved
    assert kl_to_uniform(weights.policy) == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 1e3, 1e10])
def test_weights_of_contexts_have_the_same_features_as_weights_of_the_policy(alpha):
    dual = toy_dual(alpha)
    weights = solve_dual(dual)
    gap = (weights.policy - weights.context) @ dual.features
    np.testing.assert_allclose(gap, 0.0, atol=1e-3)  # the dual's gradient by φ, but for the penalty


def test_constant_returns_and_no_pull_give_uniform_weights():
    dual = toy_dual(0.0)._replace(returns=np.full(250, 3.0))
    weights = solve_dual(dual)
    np.testing.assert_allclose(weights.policy, 1 / 250, rtol=1e-6)
    np.testing.assert_allclose(weights.context, 1 / 250, rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
def test_the_weights_are_as_good_as_the_dual_allows(alpha):
    dual = toy_dual(alpha)
    weights = solve_dual(dual)
    pull = alpha * (dual.log_ratio - dual.log_ratio.mean())
    primal = weights.policy @ dual.returns + weights.context @ pull
    primal -= alpha * kl_to_uniform(weights.context)

    def objective(x):
        return dual.value(x), dual.derivatives(x)[0]

    bounds = [(1e-3, None)] * 2 + [(None, None)] * 6
    x = np.concatenate([[1.0, 1.0], regress(dual.features, dual.returns)])
    for _ in range(2):  # another solver, which stops early near the kink
        x = minimize(objective, x, jac=True, method="L-BFGS-B", bounds=bounds).x
    # no weights can be better than the dual at any x
    assert -1e-3 <= dual.value(x) - primal <= 3e-4 * dual.scales[1] + 0.01


def gaussian_samples(num=400, size=5, seed=5):
    contexts = rng(seed).normal(size=(num, 2))
    features = np.column_stack([np.ones(num), contexts])
    old = LinearGaussian(
        rng(6).normal(size=(3, size)), np.tril(rng(7).uniform(0.5, 1, (size,) * 2))
    )
    samples = old.sample(rng(8), features)
    weights = rng(9).dirichlet(np.full(num, 0.5))
    return old, features, samples, weights


def test_a_loose_bound_gives_weighted_maximum_likelihood():
    old, features, samples, weights = gaussian_samples()
    fit = fit_within([Moments.of(old, features, samples, weights)], max_kl=100.0)
    (new,) = fit.distributions
    root = np.sqrt(weights)[:, None]
    expected = np.linalg.lstsq(root * features, root * samples, rcond=None)[0]
    np.testing.assert_allclose(new.coefficients, expected, atol=1e-7)
    residual = samples - features @ expected
    covariance = (residual.T * weights) @ residual
    np.testing.assert_allclose(new.cholesky @ new.cholesky.T, covariance, atol=1e-7)
    assert fit.eta == 0.0


def test_a_fit_to_contexts_has_their_weighted_mean_and_covariance():
    samples, weights = rng(1).normal(size=(300, 2)), rng(2).dirichlet(np.ones(300))
    old = LinearGaussian(np.zeros((1, 2)), np.eye(2))
    moments = Moments.of(old, np.ones((300, 1)), samples, weights)
    (new,) = fit_within([moments], max_kl=100.0).distributions
    np.testing.assert_allclose(new.coefficients[0], weights @ samples, atol=1e-8)
    covariance = np.cov(samples.T, aweights=weights, bias=True)
    np.testing.assert_allclose(new.cholesky @ new.cholesky.T, covariance, atol=1e-8)


@pytest.mark.parametrize("bound", [0.1, 0.01])
def test_a_tight_bound_is_met_within_two_percent(bound):
    old, features, samples, weights = gaussian_samples()
    contexts = LinearGaussian(np.array([[0.2, -0.1]]), np.diag([1.1, 0.9]))
    moments = (
        Moments.of(old, features, samples, weights),
        Moments.of(contexts, np.ones((400, 1)), features[:, 1:], weights[::-1]),
    )
    fit = fit_within(moments, bound)
    before, after = (
        [Gaussian(gaussian.coefficients[0], gaussian.cholesky)]
        + [Gaussian(mean, policy.cholesky) for mean in policy.mean(features)]
        for policy, gaussian in ((old, contexts), fit.distributions)
    )
    kls = [a.kl(b) for a, b in zip(before, after, strict=True)]
    moved = kls[0] + np.mean(kls[1:])  # KL(old ‖ new) of contexts, and of the policy on average
    assert moved == pytest.approx(fit.kl, rel=1e-6)
    assert moved == pytest.approx(bound, rel=0.02)
    assert fit.eta > 0


def test_samples_that_do_not_span_the_space_are_fitted_within_the_bound():
    old, features, samples, _ = gaussian_samples()
    weights = np.zeros(400)
    weights[7] = 1.0
    fit = fit_within([Moments.of(old, features, samples, weights)], 0.2)
    assert fit.kl == pytest.approx(0.2, rel=0.02)
    assert (np.diag(fit.distributions[0].cholesky) > 0).all()


def filled(method, returns=None, seed=0):
    """Return a state with a full memory, and a policy."""
    state = method.init(CONTEXTS, NUM_PARAMETERS)
    policy = LinearGaussian(np.zeros((3, NUM_PARAMETERS)), np.eye(NUM_PARAMETERS))
    for number in range(method.num_remembered):
        contexts = method.sample(rng(10 * seed + number), CONTEXTS, state, method.num_rollouts)
        parameters = policy.sample(rng(100 + number), with_one(contexts))
        gained = 20.0 - ((parameters - 0.5) ** 2).sum(axis=1) if returns is None else returns
        gained = np.broadcast_to(gained, len(contexts)).astype(float)
        state = method.remember(state, contexts, parameters, gained, 100)
    return state, policy


def with_one(contexts):
    return np.column_stack([np.ones(len(contexts)), contexts])


def update(method, state, policy):
    return method.update(CONTEXTS.target, state, policy, with_one(state.contexts))


def test_the_target_does_not_pull_before_the_offset_has_passed():
    method = EpisodicUpdate(alpha_offset=2)
    state, policy = filled(method)
    alphas = []
    for _ in range(4):
        state, policy, metrics = update(method, state, policy)
        alphas.append(metrics["teacher/alpha"])
    assert alphas[:3] == [0.0, 0.0, 0.0]
    assert alphas[3] > 0.0


def test_alpha_is_zeta_times_the_mean_return_over_the_estimated_kl():
    method = EpisodicUpdate(alpha_offset=0, zeta=2.0)
    state, policy = filled(method)
    state = state._replace(num_updates=np.int64(1))
    current, target = CONTEXTS.initial, CONTEXTS.target
    kl = (current.log_density(state.contexts) - target.log_density(state.contexts)).mean()
    _, _, metrics = update(method, state, policy)
    assert metrics["teacher/alpha"] == pytest.approx(2.0 * abs(state.returns.mean()) / kl)


def test_alpha_is_at_its_largest_when_the_target_has_been_reached():
    method = EpisodicUpdate(alpha_offset=0)
    state, policy = filled(method)
    state = state._replace(
        mean=CONTEXTS.target.mean, cholesky=CONTEXTS.target.cholesky, num_updates=np.int64(1)
    )
    state = state._replace(contexts=method.sample(rng(), CONTEXTS, state, len(state.contexts)))
    new, _, metrics = update(method, state, policy)
    assert metrics["teacher/alpha"] == sprl.MAX_ALPHA
    assert metrics["teacher/dual_solved"]
    assert method.gaussian(new).kl(CONTEXTS.target) < 0.2


def test_standard_deviations_are_kept_up_while_the_target_is_far():
    bound = (5.0, 0.1)
    state, policy = filled(EpisodicUpdate())
    kept, _, _ = update(EpisodicUpdate(std_lower_bound=bound), state, policy)
    free, _, _ = update(EpisodicUpdate(std_lower_bound=bound, kl_threshold=1e9), state, policy)
    std = EpisodicUpdate().gaussian(kept).std
    assert std[0] == pytest.approx(5.0)
    assert std[1] == pytest.approx(EpisodicUpdate().gaussian(free).std[1])
    kept_covariance, free_covariance = (x.cholesky @ x.cholesky.T for x in (kept, free))
    assert kept_covariance[0, 1] == pytest.approx(free_covariance[0, 1])


def test_policy_and_contexts_move_by_no_more_than_the_bound_together():
    method = EpisodicUpdate(max_fit_kl=0.1)
    state, policy = filled(method)
    new, new_policy, metrics = update(method, state, policy)
    moved = CONTEXTS.initial.kl(method.gaussian(new))
    means = (one.mean(with_one(state.contexts)) for one in (policy, new_policy))
    pairs = zip(*means, strict=True)
    moved += np.mean(
        [Gaussian(a, policy.cholesky).kl(Gaussian(b, new_policy.cholesky)) for a, b in pairs]
    )
    assert moved == pytest.approx(metrics["teacher/kl_moved"], rel=1e-6)
    assert moved <= 0.1 * 1.02


def test_updates_move_the_policy_towards_weights_that_earn_more():
    method = EpisodicUpdate()
    state, policy = filled(method)
    _, new, _ = update(method, state, policy)
    before, after = (((p.mean(with_one(state.contexts)) - 0.5) ** 2).mean() for p in (policy, new))
    assert after < before


def test_contexts_lie_inside_the_box_and_do_not_pile_up_at_its_edge():
    method = EpisodicUpdate()
    state = method.init(CONTEXTS, NUM_PARAMETERS)
    contexts = method.sample(rng(), CONTEXTS, state, 2000)
    assert CONTEXTS.contains(contexts).all()
    assert not (contexts == CONTEXTS.lower).any()
    far = state._replace(mean=np.array([100.0, 100.0]))  # not even a hundred attempts help
    np.testing.assert_array_equal(method.sample(rng(), CONTEXTS, far, 3), [CONTEXTS.upper] * 3)


def test_the_latest_episodes_are_remembered_in_order():
    method = EpisodicUpdate(num_rollouts=2, num_remembered=3)
    state = method.init(CONTEXTS, 1)
    for number in range(5):
        assert method.is_ready(state) == (number >= 3)
        batch = np.full(2, float(number))
        state = method.remember(state, batch[:, None] + [0, 0], batch[:, None], batch, 7)
    np.testing.assert_array_equal(state.returns, [2, 2, 3, 3, 4, 4])
    np.testing.assert_array_equal(state.parameters[:, 0], state.returns)
    np.testing.assert_array_equal(state.contexts[:, 1], state.returns)
    assert state.num_steps == 35


def test_an_update_without_solution_is_skipped_and_reported(monkeypatch):
    method = EpisodicUpdate()
    state, policy = filled(method)
    monkeypatch.setattr(sprl, "solve_dual", lambda dual: solve_dual(dual)._replace(solved=False))
    new, same, metrics = update(method, state, policy)
    assert same is policy
    np.testing.assert_array_equal(new.mean, state.mean)
    assert metrics["teacher/dual_solved"] == 0.0
    assert "1 of 1 updates" in method.advice(new)[0]


def test_negative_returns_are_reported():
    assert not EpisodicUpdate().advice(filled(EpisodicUpdate())[0]._replace(returns=np.ones(250)))
    assert "negative" in EpisodicUpdate().advice(filled(EpisodicUpdate(), returns=-1.0)[0])[0]


def test_metrics_are_finite_numbers_with_a_group():
    _, _, metrics = update(EpisodicUpdate(), *filled(EpisodicUpdate()))
    assert all("/" in name and np.isfinite(value) for name, value in metrics.items())


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"max_fit_kl": 0.0}, "max_fit_kl must be positive"),
        ({"zeta": -1.0}, "zeta must be non-negative"),
        ({"std_lower_bound": (0.1, -0.1)}, "std_lower_bound"),
    ],
)
def test_wrong_settings_are_refused(settings, complaint):
    with pytest.raises(SelfpacedError, match=complaint):
        EpisodicUpdate(**settings)


def test_a_bound_of_the_wrong_length_is_refused():
    with pytest.raises(SelfpacedError, match="gate_position, gate_width"):
        EpisodicUpdate(std_lower_bound=(0.1, 0.1, 0.1)).init(CONTEXTS, 1)
