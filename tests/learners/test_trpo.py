from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from selfpaced import TRPO, SelfpacedError
from selfpaced.learners.actor_critic import Samples, outputs_of
from selfpaced.learners.base import Rollout
from selfpaced.learners.trust_region import (
    conjugate_gradient,
    fisher_product,
    line_search,
)
from tests.probes import (
    DISCOUNT,
    DiscreteProbe,
    Probe,
    actions,
    probe_problem,
    trained,
    values,
)

QUICK = TRPO(hidden=(32,), max_kl=0.05, value_learning_rate=0.01, value_minibatch=64)
SPEC = probe_problem(Probe()).spec
DISCRETE = probe_problem(DiscreteProbe()).spec
DAMPING = 0.01


def policy_of(state):
    return {name: part for name, part in state.parameters.items() if name != "value"}


def some_samples(state, num=200):
    keys = jax.random.split(jax.random.key(5), 3)
    seen = jax.random.uniform(keys[0], (num, 2), minval=-1.0)
    action = jnp.clip(jnp.round(2.0 * jax.random.normal(keys[1], (num, 1))), -1.0, 1.0)
    advantage = jax.random.normal(keys[2], (num,)) - (action[:, 0] - seen[:, 0]) ** 2
    before = state.distribution.log_probability(outputs_of(state.parameters, seen), action)
    return Samples(seen, action, before, advantage, seen[:, 0])


def test_the_value_of_a_visible_reward_is_that_reward():
    states = trained(Probe(length=1, reward="cue"), QUICK, 60)
    cues = [-0.8, 0.0, 0.8]
    np.testing.assert_allclose(values(QUICK, states, cues), [cues, cues], atol=0.1)


def test_a_later_reward_is_discounted():
    states = trained(Probe(length=3, reward="last"), QUICK, 60)
    np.testing.assert_allclose(values(QUICK, states, [0.0], time=0), DISCOUNT**2, atol=0.06)
    np.testing.assert_allclose(values(QUICK, states, [0.0], time=2), 1.0, atol=0.06)


def test_the_policy_finds_the_best_action_for_every_cue():
    states = trained(Probe(length=1, reward="action"), QUICK, 100)
    cues = [-0.7, 0.0, 0.7]
    np.testing.assert_allclose(actions(QUICK, states, cues), [cues, cues], atol=0.2)


@pytest.mark.parametrize("spec", [SPEC, DISCRETE], ids=["continuous", "discrete"])
@pytest.mark.parametrize("max_kl", [0.001, 0.1])
def test_a_step_improves_the_surrogate_and_keeps_its_kl_bound(max_kl, spec):
    learner = replace(QUICK, max_kl=max_kl)
    state = learner.init(jax.random.key(0), spec)
    samples = some_samples(state)
    new, metrics = jax.jit(learner.improve_policy)(state.parameters, state.distribution, samples)
    old = outputs_of(state.parameters, samples.observation)
    kl = state.distribution.kl(old, outputs_of(new, samples.observation))
    assert float(metrics["learner/step_accepted"]) == 1.0
    assert float(metrics["learner/surrogate_improvement"]) > 0.0
    assert float(metrics["learner/kl"]) == pytest.approx(float(kl), rel=1e-4)
    assert 0.3 * max_kl < float(kl) <= 1.5 * max_kl


@pytest.mark.parametrize("spec", [SPEC, DISCRETE], ids=["continuous", "discrete"])
def test_the_fisher_product_is_the_hessian_of_the_kl(spec):
    state = replace(QUICK, hidden=(4,)).init(jax.random.key(1), spec)
    policy, distribution = policy_of(state), state.distribution
    if "log_std" in policy:
        policy["log_std"] = jnp.array([-0.5])
    seen = some_samples(state, 30).observation
    flat, unravel = ravel_pytree(policy)
    old = outputs_of(policy, seen)

    def kl(candidate):
        return distribution.kl(old, outputs_of(unravel(candidate), seen))

    dense = jax.jit(jax.hessian(kl))(flat) + DAMPING * jnp.eye(len(flat))
    multiply = fisher_product(policy, distribution, seen, DAMPING)
    np.testing.assert_allclose(jax.jit(jax.vmap(multiply))(jnp.eye(len(flat))), dense, atol=1e-5)


def test_conjugate_gradient_solves_a_system_in_as_many_iterations_as_it_has_unknowns():
    matrix = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
    solution = jnp.array([1.0, -2.0, 0.5])
    found = conjugate_gradient(lambda x: matrix @ x, matrix @ solution, 3)
    np.testing.assert_allclose(found, solution, atol=1e-5)
    np.testing.assert_allclose(  # solved early: stops instead of dividing by nothing
        conjugate_gradient(lambda x: matrix @ x, matrix @ solution, 50), solution, atol=1e-5
    )


def test_conjugate_gradient_starts_with_the_steepest_descent():
    matrix, right_side = jnp.diag(jnp.array([1.0, 10.0])), jnp.array([1.0, 1.0])
    found = conjugate_gradient(lambda x: matrix @ x, right_side, 1)
    np.testing.assert_allclose(found, right_side * 2.0 / 11.0, rtol=1e-6)


@pytest.mark.parametrize(("improvement", "kl"), [(-1.0, 0.0), (1.0, 1.0), (np.nan, np.nan)])
def test_the_line_search_restores_the_policy_when_nothing_improves(improvement, kl):
    start = jnp.array([1.0, 2.0])
    flat, metrics = line_search(
        lambda _: (jnp.float32(improvement), jnp.float32(kl)),
        start,
        jnp.ones(2),
        jnp.bool_(True),
        max_kl=0.01,
    )
    np.testing.assert_array_equal(flat, start)
    assert float(metrics["learner/step_accepted"]) == 0.0
    assert float(metrics["learner/kl"]) == 0.0


def test_the_line_search_halves_the_step_until_the_kl_fits():
    flat, metrics = line_search(
        lambda candidate: (jnp.float32(1.0), candidate[0]),  # the KL is the distance
        jnp.zeros(1),
        jnp.ones(1),
        jnp.bool_(True),
        max_kl=0.1,
    )
    assert float(flat[0]) == 0.125  # 1/8 is the first power within 1.5 * 0.1
    assert float(metrics["learner/kl"]) == 0.125


def test_the_line_search_stops_after_ten_attempts():
    smallest = 0.5**9
    for threshold, accepted in ((smallest, 1.0), (0.9 * smallest, 0.0)):
        _, metrics = line_search(
            lambda candidate, threshold=threshold: (threshold - candidate[0], jnp.float32(0.0)),
            jnp.zeros(1),
            jnp.ones(1),
            jnp.bool_(True),
            max_kl=0.1,
        )
        assert float(metrics["learner/step_accepted"]) == accepted


def test_without_any_advantage_the_policy_stays_as_it_is():
    state = QUICK.init(jax.random.key(2), SPEC)
    samples = some_samples(state)._replace(advantage=jnp.zeros(200))
    new, metrics = jax.jit(QUICK.improve_policy)(state.parameters, state.distribution, samples)
    for old_leaf, new_leaf in zip(
        jax.tree.leaves(policy_of(state)), jax.tree.leaves(new), strict=True
    ):
        np.testing.assert_array_equal(old_leaf, new_leaf)
    assert float(metrics["learner/step_accepted"]) == 0.0


def rollout_of(rewards):
    num = len(rewards)
    seen = jnp.linspace(-1.0, 1.0, 2 * num).reshape(num, 1, 2)
    flags = jnp.ones((num, 1), bool)
    return Rollout(seen, jnp.ones((num, 1, 1)), jnp.array(rewards)[:, None], flags, ~flags, seen)


def test_advantages_are_standardised_over_the_whole_batch():
    state = QUICK.init(jax.random.key(3), SPEC)
    _, samples = QUICK.prepare(SPEC, state, rollout_of([1.0, 2.0, 4.0, 8.0]))
    assert float(samples.advantage.mean()) == pytest.approx(0.0, abs=1e-6)
    assert float(samples.advantage.std()) == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_allclose(samples.target_value, [1.0, 2.0, 4.0, 8.0], rtol=1e-5)


@pytest.mark.parametrize(("time_outs", "future"), [("terminal", 0.0), ("bootstrap", DISCOUNT)])
def test_time_outs_decide_whether_there_is_a_future(time_outs, future):
    learner = replace(QUICK, time_outs=time_outs)
    state = learner.init(jax.random.key(3), SPEC)
    steps = rollout_of([1.0, 2.0])
    cut = steps._replace(terminated=steps.truncated, truncated=steps.terminated)
    _, samples = learner.prepare(SPEC, state, cut)
    next_value = learner.value(state, cut.next_observation)[:, 0]
    expected = np.array([1.0, 2.0]) + future * np.asarray(next_value)
    np.testing.assert_allclose(samples.target_value, expected, rtol=1e-5)


@pytest.mark.parametrize(("num", "per_epoch"), [(260, 2), (50, 1)])
def test_incomplete_minibatches_of_the_value_function_are_dropped(num, per_epoch):
    learner = replace(QUICK, value_minibatch=128, num_value_epochs=3)
    state = learner.init(jax.random.key(4), SPEC)
    _, memory, _ = jax.jit(learner.fit_value)(jax.random.key(0), state, some_samples(state, num))
    assert int(memory[0].count) == 3 * per_epoch  # steps that Adam took


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_kl": -0.1}, "max_kl must be positive, got -0.1; the default is 0.01"),
        ({"cg_iterations": 0}, "cg_iterations must be positive"),
        ({"cg_damping": -1.0}, "cg_damping must be non-negative, got -1.0"),
        ({"value_minibatch": 0}, "value_minibatch must be positive"),
        ({"gae_lambda": 1.5}, r"gae_lambda must lie in \[0, 1\], got 1.5; the paper uses 0.99"),
        ({"time_outs": "terminate"}, "did you mean 'terminal'"),
        ({"hidden": (0,)}, "hidden must be a tuple of positive layer sizes"),
    ],
)
def test_a_setting_out_of_range_is_refused(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(QUICK, **changes)
