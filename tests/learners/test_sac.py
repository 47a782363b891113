from collections import deque
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from selfpaced import SAC, SelfpacedError
from selfpaced.learners.base import Rollout
from selfpaced.learners.hashed_random import normals, random_words
from selfpaced.learners.networks import apply_layers
from selfpaced.learners.replay import add_rows, empty_replay, sample_rows
from selfpaced.learners.sac import Batch, sample_squashed
from tests.probes import DISCOUNT, Probe, actions, probe_problem, trained, values

QUICK = SAC(hidden=(16,), learning_rate=3e-3, buffer_size=2000, learning_starts=64)
SPEC = probe_problem(Probe()).spec  # two numbers are seen, the action lies in [-2, 2]
SMALL = SAC(hidden=(4,), learning_starts=3, batch_size=2, buffer_size=8, target_rate=0.25)


def some_steps(num_environments=1, truncated=False):
    shape = (1, num_environments)
    flags = jnp.zeros(shape, bool)
    seen = jnp.arange(2.0 * num_environments).reshape(*shape, 2)
    return Rollout(
        seen, jnp.ones((*shape, 1)), jnp.ones(shape), flags, flags | truncated, seen + 100.0
    )


def some_batch(num=16):
    keys = jax.random.split(jax.random.key(7), 3)
    seen, after = jax.random.normal(keys[0], (2, 2, num))
    action = jax.random.uniform(keys[1], (1, num), minval=-1.0)
    reward, noise = 0.5 * jax.random.normal(keys[2], (2, num))
    return Batch(seen, action, reward, jnp.ones(num), after), noise[None]


@pytest.fixture(scope="module")
def cue_states():
    """Return states trained to match the cue; the reward is minus the squared distance."""
    return trained(Probe(length=1, reward="action"), QUICK, 30)


def test_the_policy_finds_the_best_action_for_every_cue(cue_states):
    cues = [-0.7, 0.0, 0.7]
    np.testing.assert_allclose(actions(QUICK, cue_states, cues), [cues, cues], atol=0.15)


def test_the_entropy_reaches_its_target(cue_states):
    # minus the number of action components: -1
    seen = jax.random.uniform(jax.random.key(0), (2, 4000), minval=-1.0).at[1].set(0.0)
    noise = jax.random.normal(jax.random.key(1), (1, 4000))
    policies = cue_states.parameters["policy"]
    _, log_probability = jax.vmap(lambda layers: sample_squashed(layers, noise, seen))(policies)
    np.testing.assert_allclose(-log_probability.mean(1), -1.0, atol=0.2)


def test_coefficient_and_value_are_those_of_the_best_policy_with_this_entropy(cue_states):
    # exp(Q / coefficient) with Q = -(2a - cue)^2 is a Gaussian of variance coefficient / 8
    variance = np.exp(-2.0) / (2.0 * np.pi * np.e)  # of entropy -1
    coefficient = 8.0 * variance
    np.testing.assert_allclose(
        np.exp(cue_states.parameters["log_coefficient"]), coefficient, rtol=0.4
    )
    soft_value = -4.0 * variance - coefficient
    np.testing.assert_allclose(values(QUICK, cue_states, [-0.5, 0.0, 0.5]), soft_value, atol=0.1)


@pytest.mark.slow
def test_a_later_reward_is_discounted():
    states = trained(Probe(length=3, reward="last"), QUICK, 30)
    np.testing.assert_allclose(values(QUICK, states, [0.0], time=0), DISCOUNT**2, atol=0.1)
    np.testing.assert_allclose(values(QUICK, states, [0.0], time=2), 1.0, atol=0.1)


def test_the_squashed_density_integrates_to_one_and_agrees_with_the_closed_form():
    mean, log_std = 0.4, -0.3
    layers = [(jnp.zeros((2, 2)), jnp.array([mean, log_std]))]
    noise = jnp.linspace(-5.0, 5.0, 4001)[None]
    action, log_probability = sample_squashed(layers, noise, jnp.zeros((2, 4001)))
    assert np.trapezoid(np.exp(log_probability), action[0]) == pytest.approx(1.0, abs=2e-3)
    middle = np.abs(np.asarray(noise[0])) < 2.0
    unsquashed = mean + np.exp(log_std) * np.asarray(noise[0], np.float64)
    expected = norm(mean, np.exp(log_std)).logpdf(unsquashed) - np.log(
        1.0 - np.tanh(unsquashed) ** 2
    )
    np.testing.assert_allclose(log_probability[middle], expected[middle], atol=2e-3)


def test_the_log_std_is_clipped():
    for log_std, used in ((5.0, 2.0), (-30.0, -20.0)):
        layers = [(jnp.zeros((2, 2)), jnp.array([0.0, log_std]))]
        _, log_probability = sample_squashed(layers, jnp.zeros((1, 1)), jnp.zeros((2, 1)))
        expected = -0.5 * np.log(2.0 * np.pi) - used
        assert float(log_probability[0]) == pytest.approx(expected, rel=1e-4)


def test_initial_weights_are_glorot_uniform():
    spec = SPEC._replace(observation_size=30, action_low=(-1.0,) * 20, action_high=(1.0,) * 20)
    parameters = SAC(hidden=(40,)).init(jax.random.key(0), spec).parameters
    for weight, fans in (
        (parameters["policy"][0][0], 30 + 40),
        (parameters["policy"][1][0], 40 + 20),  # mean and log-std are two layers of 20
        (parameters["action_values"][0][0], 50 + 40),
        (parameters["value"][1][0], 40 + 1),
    ):
        limit = np.sqrt(6.0 / fans)
        assert 0.9 * limit < float(jnp.abs(weight).max()) <= limit
    assert not any(bias.any() for network in ("policy", "value") for _, bias in parameters[network])
    assert float(parameters["log_coefficient"]) == 0.0


def test_every_loss_moves_its_own_parameters_only():
    state = SAC(hidden=(6,)).init(jax.random.key(3), SPEC)
    parameters = state.parameters | {"log_coefficient": jnp.float32(-0.5)}
    batch, noise = some_batch()
    target = batch.reward + 0.5
    found, _ = jax.jit(jax.grad(SAC().loss, has_aux=True))(parameters, batch, noise, target)

    now, coefficient = parameters, np.exp(-0.5)
    seen = batch.observation.T

    def act(policy):
        return sample_squashed(policy, noise, batch.observation)

    def both(layers, action):
        inputs = jnp.concatenate([seen, action.T], 1)
        first = jax.tree.map(lambda array: array[0], layers)
        second = jax.tree.map(lambda array: array[1], layers)
        return apply_layers(first, inputs)[:, 0], apply_layers(second, inputs)[:, 0]

    def policy_loss(policy):
        action, log_probability = act(policy)
        return (coefficient * log_probability - both(now["action_values"], action)[0]).mean()

    def action_value_loss(layers):
        first, second = both(layers, batch.action)
        return 0.5 * ((first - target) ** 2).mean() + 0.5 * ((second - target) ** 2).mean()

    def value_loss(layers):
        action, log_probability = act(now["policy"])
        smaller = jnp.minimum(*both(now["action_values"], action))
        soft_value = smaller - coefficient * log_probability
        return 0.5 * ((apply_layers(layers, seen)[:, 0] - soft_value) ** 2).mean()

    @jax.jit
    def gradients():
        return {
            "policy": jax.grad(policy_loss)(now["policy"]),
            "action_values": jax.grad(action_value_loss)(now["action_values"]),
            "value": jax.grad(value_loss)(now["value"]),
            "log_coefficient": -(act(now["policy"])[1] - 1.0).mean(),  # target entropy -1
        }

    expected = gradients()
    for name, gradient in expected.items():
        for a, b in zip(jax.tree.leaves(found[name]), jax.tree.leaves(gradient), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_a_buffer_smaller_than_one_step_of_all_environments_is_refused():
    learner = replace(SMALL, buffer_size=4)
    state = learner.init(jax.random.key(0), SPEC)
    with pytest.raises(SelfpacedError, match=r"number of environments \(5\), got 4; raise it"):
        learner.update(jax.random.key(1), SPEC, state, some_steps(5))


def test_parameters_stay_as_drawn_until_learning_starts():
    state = start = SMALL.init(jax.random.key(0), SPEC)
    update = jax.jit(lambda key, state: SMALL.update(key, SPEC, state, some_steps())[0])
    for _ in range(3):
        state = update(jax.random.key(1), state)
    for before, after in zip(
        jax.tree.leaves((start.parameters, start.target, start.optimiser)),
        jax.tree.leaves((state.parameters, state.target, state.optimiser)),
        strict=True,
    ):
        np.testing.assert_array_equal(before, after)
    state = update(jax.random.key(1), state)  # the first step that the policy chose
    step = state.parameters["log_coefficient"] - start.parameters["log_coefficient"]
    assert abs(float(step)) == pytest.approx(SMALL.learning_rate, rel=1e-3)  # Adam's first


def test_the_slow_copy_moves_by_its_rate_towards_the_new_value():
    state = replace(SMALL, learning_starts=0).init(jax.random.key(0), SPEC)
    learner = replace(SMALL, learning_starts=0, learning_rate=0.1, batch_size=1)
    after, _ = jax.jit(lambda key, state: learner.update(key, SPEC, state, some_steps()))(
        jax.random.key(1), state
    )
    for slow, fast, before in zip(
        jax.tree.leaves(after.target),
        jax.tree.leaves(after.parameters["value"]),
        jax.tree.leaves(state.target),
        strict=True,
    ):
        assert (np.asarray(fast) != np.asarray(before)).any()
        np.testing.assert_allclose(slow, 0.75 * before + 0.25 * fast, rtol=1e-5, atol=1e-7)


def test_actions_are_uniform_in_the_box_until_learning_starts():
    spec = SPEC._replace(action_low=(-1.0,), action_high=(3.0,))
    state = QUICK.init(jax.random.key(0), spec)
    noise = jax.random.normal(jax.random.key(1), (4000, 1))
    act = jax.jit(jax.vmap(QUICK.act, (0, None, None)))
    chosen = act(noise, state, jnp.ones(2))
    assert kstest(np.asarray(chosen[:, 0]), "uniform", (-1.0, 4.0)).pvalue > 0.01
    np.testing.assert_allclose(QUICK.act(jnp.zeros(1), state, jnp.ones(2)), [1.0])  # the median

    started = state._replace(replay=state.replay._replace(num_added=jnp.int32(64)))
    mean, log_std = apply_layers(state.parameters["policy"], jnp.ones(2))
    expected = 1.0 + 2.0 * np.tanh(mean + np.exp(log_std) * noise[:, 0])
    np.testing.assert_allclose(act(noise, started, jnp.ones(2))[:, 0], expected, atol=1e-5)
    np.testing.assert_allclose(
        QUICK.act(jnp.zeros(1), started, jnp.ones(2)), [1.0 + 2.0 * np.tanh(mean)], rtol=1e-5
    )


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_the_buffer_overwrites_the_oldest_first_and_wraps_exactly(at_once):
    replay, expected = empty_replay(5, 1), deque(maxlen=5)
    add = jax.jit(add_rows)
    for first in range(0, 6 * at_once, at_once):
        rows = np.arange(first, first + at_once, dtype=np.float32)[:, None]
        replay = add(replay, rows)
        expected.extend(rows[:, 0])
        stored = np.asarray(replay.rows)[: min(int(replay.num_added), 5), 0]
        np.testing.assert_array_equal(np.sort(stored), expected)


def test_sampling_is_uniform_over_the_stored_rows_only():
    replay = add_rows(empty_replay(10, 1), jnp.arange(1.0, 8.0)[:, None])
    words = random_words(jax.random.key(0), (7000,))
    drawn = np.asarray(sample_rows(words, replay))[:, 0]
    counts = np.bincount(drawn.astype(int), minlength=8)
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 0.01


@pytest.mark.parametrize(("time_outs", "future"), [("terminal", 0.0), ("bootstrap", 1.0)])
def test_time_outs_decide_whether_there_is_a_future(time_outs, future):
    learner = replace(SMALL, time_outs=time_outs)
    box = learner.init(jax.random.key(0), SPEC).box
    row = np.asarray(learner.rows(box, some_steps(truncated=True)))[0]
    # observation, action in [-1, 1], reward, future, next observation
    np.testing.assert_array_equal(row, [0.0, 1.0, 0.5, 1.0, future, 100.0, 101.0])


def test_several_environments_are_stored_side_by_side():
    state = SMALL.init(jax.random.key(0), SPEC)
    update = jax.jit(lambda key, state: SMALL.update(key, SPEC, state, some_steps(3))[0])
    for _ in range(2):
        state = update(jax.random.key(1), state)
    assert int(state.replay.num_added) == 6
    np.testing.assert_array_equal(state.replay.rows[:, 0], [0, 2, 4, 0, 2, 4, 0, 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate must be positive, got -1.0"),
        ({"buffer_size": 0}, "buffer_size must be positive"),
        ({"buffer_size": 10}, r"buffer_size must be at least batch_size \(64\), got 10"),
        ({"learning_starts": -1}, "learning_starts must be non-negative, got -1"),
        ({"target_rate": 0.0}, r"target_rate must lie in \(0, 1\], got 0.0; the paper uses 0.005"),
        ({"time_outs": "terminate"}, "did you mean 'terminal'"),
        ({"hidden": (0,)}, "hidden must be a tuple of positive layer sizes"),
    ],
)
def test_a_setting_out_of_range_is_refused(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(QUICK, **changes)


def test_an_unbounded_box_is_refused():
    with pytest.raises(SelfpacedError, match="action bounds must be finite for SAC"):
        QUICK.init(jax.random.key(0), SPEC._replace(action_high=(np.inf,)))


def test_training_without_the_replay_is_refused():
    state = QUICK.without_replay(QUICK.init(jax.random.key(0), SPEC))
    with pytest.raises(AssertionError, match="training needs the replay"):
        QUICK.act(jnp.zeros(1), state, jnp.zeros(2))


@pytest.mark.slow
def test_without_a_state_value_targets_are_the_smaller_slow_action_value_and_the_entropy():
    learner = replace(
        SMALL, state_value=False, learning_starts=0, batch_size=1, buffer_size=1, activation="relu"
    )
    state = learner.init(jax.random.key(0), SPEC)
    assert "value" not in state.parameters
    frozen = {"policy": state.parameters["policy"], "log_coefficient": jnp.float32(0.0)}
    _, metrics = learner.update(jax.random.key(1), SPEC, state, some_steps())

    words = random_words(jax.random.key(1), (3, 1))
    after = jnp.array([[100.0], [101.0]])
    action, log_probability = sample_squashed(frozen["policy"], normals(words[2:]), after, "relu")

    def both(seen, action):
        inputs = jnp.concatenate([seen, action]).T
        first = jax.tree.map(lambda array: array[0], state.target)
        second = jax.tree.map(lambda array: array[1], state.target)
        pair = (first, second)
        return jnp.stack([apply_layers(layers, inputs, "relu")[:, 0] for layers in pair])

    target = 1.0 + DISCOUNT * (both(after, action).min(0) - log_probability)
    seen = jnp.array([[0.0], [1.0]])
    loss = 0.5 * ((both(seen, jnp.array([[0.5]])) - target) ** 2).sum()  # an action of 1 in ±2
    np.testing.assert_allclose(metrics["learner/action_value_loss"], loss, rtol=1e-4)


@pytest.mark.slow
def test_without_a_state_value_the_policy_and_its_value_are_learned_as_well():
    learner = replace(QUICK, state_value=False, activation="relu")
    states = trained(Probe(length=1, reward="action"), learner, 30)
    cues = [-0.7, 0.0, 0.7]
    np.testing.assert_allclose(actions(learner, states, cues), [cues, cues], atol=0.2)
    assert np.abs(values(learner, states, cues)).max() < 0.5  # the best reward is zero


def test_update_every_is_the_number_of_steps_between_updates():
    assert SAC().steps_per_update == 1
    assert replace(QUICK, update_every=5).steps_per_update == 5
    with pytest.raises(SelfpacedError, match="update_every must be positive, got 0"):
        SAC(update_every=0)
    quarter = replace(QUICK, update_every=4, learning_rate=1e-2)
    states = trained(Probe(length=1, reward="one"), quarter, 40)
    np.testing.assert_allclose(values(quarter, states, [0.0]), 1.0, atol=0.5)
