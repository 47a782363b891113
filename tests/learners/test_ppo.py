from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from selfpaced import PPO, SelfpacedError
from selfpaced.learners.actor_critic import Samples, outputs_of
from selfpaced.learners.base import Rollout
from selfpaced.learners.shuffling import shuffled
from tests.probes import DISCOUNT, Probe, actions, probe_problem, trained, values

QUICK = PPO(
    hidden=(32,), learning_rate=3e-3, num_epochs=8, num_minibatches=4, value_coefficient=1.0
)


def log_probability(state, seen, action):
    return state.distribution.log_probability(outputs_of(state.parameters, seen), action)


def test_the_value_of_a_constant_reward_is_that_reward():
    states = trained(Probe(length=1, reward="one"), QUICK, 40)
    np.testing.assert_allclose(values(QUICK, states, [-0.5, 0.0, 0.5]), 1.0, atol=0.05)


def test_the_value_of_a_visible_reward_is_that_reward():
    states = trained(Probe(length=1, reward="cue"), QUICK, 60)
    cues = [-0.8, 0.0, 0.8]
    np.testing.assert_allclose(values(QUICK, states, cues), [cues, cues], atol=0.1)


def test_a_later_reward_is_discounted():
    states = trained(Probe(length=3, reward="last"), QUICK, 60)
    np.testing.assert_allclose(values(QUICK, states, [0.0], time=0), DISCOUNT**2, atol=0.06)
    np.testing.assert_allclose(values(QUICK, states, [0.0], time=2), 1.0, atol=0.06)


def test_the_policy_finds_the_best_action_for_every_cue():
    states = trained(Probe(length=1, reward="action"), QUICK, 150)
    cues = [-0.7, 0.0, 0.7]
    np.testing.assert_allclose(actions(QUICK, states, cues), [cues, cues], atol=0.2)


@pytest.mark.slow
def test_time_outs_decide_the_value_of_an_endless_reward():
    endless = Probe(length=2, reward="one", ends_by="time_out")
    slow = replace(QUICK, gae_lambda=0.5)
    terminal = replace(slow, time_outs="terminal")
    states = trained(endless, terminal, 60)
    np.testing.assert_allclose(values(terminal, states, [0.0]), 1 + DISCOUNT, atol=0.1)
    assert slow.time_outs == "bootstrap"
    states = trained(endless, slow, 250)
    assert (values(slow, states, [0.0]) > 5.0).all()  # 1 / (1 - 0.9) = 10 in the limit


def test_zero_noise_gives_the_mean_and_noise_is_scaled_by_the_standard_deviation():
    state = QUICK.init(jax.random.key(0), probe_problem(Probe()).spec)
    seen = jnp.array([0.3, 0.0])
    mean = QUICK.act(jnp.zeros(1), state, seen)
    state.parameters["log_std"] = jnp.log(jnp.array([0.25]))
    np.testing.assert_allclose(QUICK.act(jnp.ones(1) * 2, state, seen), mean + 0.5, rtol=1e-6)


def test_initial_parameters_are_orthogonal_with_the_published_gains():
    spec = probe_problem(Probe()).spec._replace(observation_size=7)
    parameters = PPO(hidden=(21,)).init(jax.random.key(1), spec).parameters
    (first, bias), (last, _) = parameters["policy"]
    np.testing.assert_allclose(first @ first.T, 2.0 * np.eye(7), atol=1e-5)
    np.testing.assert_allclose(last.T @ last, 1e-4 * np.eye(1), atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(parameters["value"][1][0]), 1.0, rtol=1e-5)
    assert not bias.any()
    assert not parameters["log_std"].any()


def test_log_probability_agrees_with_scipy():
    spec = probe_problem(Probe()).spec
    state = QUICK.init(jax.random.key(2), spec)
    state.parameters["log_std"] = jnp.array([-0.7])
    seen, action = jnp.array([0.2, 0.1]), jnp.array([1.3])
    mean = QUICK.act(jnp.zeros(1), QUICK.init(jax.random.key(2), spec), seen)
    expected = norm(float(mean[0]), np.exp(-0.7)).logpdf(1.3)
    assert float(log_probability(state, seen, action)) == pytest.approx(expected, rel=1e-5)


def test_the_loss_is_the_clipped_surrogate_plus_half_the_squared_value_error():
    state = QUICK.init(jax.random.key(3), probe_problem(Probe()).spec)
    seen = jnp.array([[0.1, 0.0], [0.4, 0.0]])
    action = jnp.array([[0.5], [-0.5]])
    now = log_probability(state, seen, action)
    before = now - jnp.log(jnp.array([2.0, 0.5]))  # ratios 2 and one half
    batch = Samples(seen, action, before, jnp.array([3.0, 1.0]), jnp.array([1.0, -1.0]))
    loss, _ = QUICK.loss(state.parameters, state.distribution, batch)
    advantage = np.array([1.0, -1.0])  # standardised
    surrogate = np.mean([min(2.0, 1.2) * advantage[0], max(0.5, 0.8) * advantage[1]])
    error = np.asarray(
        QUICK.value(QUICK.init(jax.random.key(3), probe_problem(Probe()).spec), seen)
    )
    expected = -surrogate + 0.5 * np.mean((error - np.array([1.0, -1.0])) ** 2)
    assert float(loss) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("num", [1, 2, 100, 2048, 40_000])
def test_shuffling_uses_every_sample_once(num):
    order = np.asarray(shuffled(jax.random.key(0), num))
    np.testing.assert_array_equal(np.sort(order), np.arange(num))


def test_shuffling_many_samples_leaves_no_order():
    order = np.asarray(shuffled(jax.random.key(0), 100_000))
    rising = (np.diff(order) > 0).mean()
    assert rising == pytest.approx(0.5, abs=0.01)


def test_shuffling_puts_every_sample_anywhere():
    orders = np.asarray(
        jax.vmap(lambda key: shuffled(key, 8))(jax.random.split(jax.random.key(1), 8000))
    )
    share = np.stack([(orders == index).mean(axis=0) for index in range(8)])
    np.testing.assert_allclose(share, 1 / 8, atol=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate must be positive, got -1.0"),
        ({"num_epochs": 0}, "num_epochs must be positive"),
        ({"gae_lambda": 1.5}, r"gae_lambda must lie in \[0, 1\], got 1.5; the paper uses 0.99"),
        ({"time_outs": "terminate"}, "did you mean 'terminal'"),
        ({"hidden": (0,)}, "hidden must be a tuple of positive layer sizes"),
    ],
)
def test_a_setting_out_of_range_is_refused(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(QUICK, **changes)


def test_minibatches_that_do_not_divide_the_steps_are_refused():
    learner, spec = replace(QUICK, num_minibatches=3), probe_problem(Probe()).spec
    column = jnp.zeros((4, 1))
    flags = column.astype(bool)
    steps = Rollout(
        jnp.zeros((4, 1, 2)), jnp.zeros((4, 1, 1)), column, flags, flags, jnp.zeros((4, 1, 2))
    )
    with pytest.raises(SelfpacedError, match="num_minibatches must divide the 4 steps"):
        learner.update(jax.random.key(0), spec, learner.init(jax.random.key(0), spec), steps)


def test_a_shared_trunk_serves_policy_and_critic_and_learns_from_both():
    learner = replace(QUICK, shared_trunk=True, activation="relu", hidden=(32, 16))
    spec = probe_problem(Probe()).spec
    parameters = learner.init(jax.random.key(0), spec).parameters
    shapes = {name: [w.shape for w, _ in parameters[name]] for name in ("trunk", "policy", "value")}
    assert shapes == {"trunk": [(2, 32), (32, 16)], "policy": [(16, 1)], "value": [(16, 1)]}

    states = trained(Probe(length=1, reward="action"), learner, 150)
    cues = [-0.7, 0.0, 0.7]
    np.testing.assert_allclose(actions(learner, states, cues), [cues, cues], atol=0.2)


def test_a_policy_with_a_shared_trunk_acts_in_numpy_as_in_jax():
    learner = replace(QUICK, shared_trunk=True, activation="relu")
    state = learner.init(jax.random.key(0), probe_problem(Probe()).spec)
    host = learner.host_state(jax.tree.map(lambda array: array[None], state))  # one seed
    seen = np.array([[0.3, 0.0], [-0.4, 1.0]], np.float32)
    assert "value" not in host.parameters
    np.testing.assert_allclose(
        learner.act(np.zeros((1, 2, 1), np.float32), host, seen[None])[0],
        jax.vmap(learner.act, (0, None, 0))(jnp.zeros((2, 1)), state, jnp.array(seen)),
        rtol=1e-5,
        atol=1e-7,
    )


def test_an_unknown_activation_is_refused():
    with pytest.raises(SelfpacedError, match="activation must be one of tanh, relu, got 'gelu'"):
        PPO(activation="gelu")
