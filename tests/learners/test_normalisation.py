from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import PPO, SAC, TRPO
from selfpaced.learners.base import Rollout
from selfpaced.learners.normalisation import add_rows, init_moments, scale_of, standardise
from tests.probes import DISCOUNT, Probe, actions, probe_problem, trained, values

SPEC = probe_problem(Probe()).spec
PLAIN = PPO(hidden=(32,), learning_rate=3e-3, num_epochs=8, value_coefficient=1.0)
QUICK = replace(PLAIN, normalise_observations=True, normalise_rewards=True)
QUICK_TRPO = TRPO(
    hidden=(32,), max_kl=0.05, value_learning_rate=0.01, value_minibatch=64,
    normalise_observations=True, normalise_rewards=True,
)  # fmt: skip
ROWS = np.random.default_rng(1).normal([3.0, -100.0], [0.1, 40.0], (5, 40, 2)).astype(np.float32)


def rollout(observation, reward=1.0):
    shape = observation.shape[:2]
    over = jnp.ones(shape, bool)
    return Rollout(
        jnp.asarray(observation), jnp.zeros((*shape, 1)), jnp.full(shape, reward), over, ~over,
        jnp.asarray(observation),
    )  # fmt: skip


def test_running_moments_are_those_of_numpy_on_all_rows():
    moments = init_moments(2)
    for batch in ROWS:
        moments = add_rows(moments, jnp.asarray(batch))
    everything = ROWS.reshape(-1, 2)
    assert float(moments.num) == len(everything)
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-5)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-4)


def test_standardised_rows_have_mean_zero_and_std_one_within_ten_std():
    moments = add_rows(init_moments(2), jnp.asarray(ROWS))
    scaled = np.asarray(standardise(moments, jnp.asarray(ROWS))).reshape(-1, 2)
    np.testing.assert_allclose(scaled.mean(0), 0.0, atol=1e-3)
    np.testing.assert_allclose(scaled.std(0), 1.0, rtol=1e-3)
    far = standardise(moments, jnp.array([[1e6, -1e6]]))
    np.testing.assert_array_equal(far, [[10.0, -10.0]])


def test_before_any_rows_nothing_is_scaled():
    seen = jnp.array([[2.0, -3.0]])
    np.testing.assert_allclose(standardise(init_moments(2), seen), seen, rtol=1e-6)
    assert float(scale_of(init_moments(1))) == pytest.approx(1.0)


def test_the_scale_of_returns_is_their_root_mean_square():
    returns = np.array([[3.0], [-4.0], [12.0]], np.float32)
    scale = scale_of(add_rows(init_moments(1), jnp.asarray(returns)))
    assert float(scale) == pytest.approx(np.sqrt((returns**2).mean()), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [QUICK, QUICK_TRPO, SAC(normalise_observations=True)])
def test_an_update_takes_its_observations_into_the_statistics(learner):
    state = learner.init(jax.random.key(0), SPEC)
    state, _ = learner.update(jax.random.key(1), SPEC, state, rollout(ROWS[:, :20]))
    scaling = state.scaling if isinstance(learner, SAC) else state.scaling.observation
    np.testing.assert_allclose(scaling.mean, ROWS[:, :20].reshape(-1, 2).mean(0), rtol=1e-5)


def test_without_the_settings_a_state_has_no_statistics():
    state = PLAIN.init(jax.random.key(0), SPEC)
    assert not jax.tree.leaves(state.scaling)
    scaled = QUICK.init(jax.random.key(0), SPEC)
    assert len(jax.tree.leaves(scaled)) == len(jax.tree.leaves(state)) + 6


@pytest.mark.parametrize("learner", [QUICK, pytest.param(QUICK_TRPO, marks=pytest.mark.slow)])
def test_values_stay_in_units_of_the_rewards(learner):
    states = trained(Probe(length=3, reward="last"), learner, 60)
    np.testing.assert_allclose(values(learner, states, [0.0], time=0), DISCOUNT**2, atol=0.06)
    np.testing.assert_allclose(values(learner, states, [0.0], time=2), 1.0, atol=0.06)


@pytest.mark.slow
def test_values_do_not_jump_when_the_scale_of_returns_moves():
    still = replace(QUICK, learning_rate=1e-12, normalise_observations=False)
    state = still.init(jax.random.key(2), SPEC)
    seen = jnp.asarray(ROWS[0] / 100.0)
    before = still.value(state, seen)
    state, _ = still.update(jax.random.key(3), SPEC, state, rollout(ROWS / 100.0, reward=500.0))
    assert float(scale_of(state.scaling.returns)) == pytest.approx(500.0, rel=1e-4)
    np.testing.assert_allclose(still.value(state, seen), before, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("learner", [QUICK, pytest.param(QUICK_TRPO, marks=pytest.mark.slow)])
def test_the_best_action_is_found_with_scaled_observations(learner):
    states = trained(Probe(length=1, reward="action"), learner, 150)
    cues = [-0.7, 0.0, 0.7]
    np.testing.assert_allclose(actions(learner, states, cues), [cues, cues], atol=0.2)


@pytest.mark.slow
def test_sac_learns_with_scaled_observations():
    learner = SAC(
        hidden=(16,), learning_rate=3e-3, buffer_size=2000, learning_starts=64,
        normalise_observations=True,
    )  # fmt: skip
    states = trained(Probe(length=1, reward="action"), learner, 30)
    cues = [-0.7, 0.0, 0.7]
    np.testing.assert_allclose(actions(learner, states, cues), [cues, cues], atol=0.2)
