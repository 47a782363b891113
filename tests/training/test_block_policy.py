"""Acting in NumPy around a simulator chooses what JAX would."""

import jax
import numpy as np
import pytest

from selfpaced import PPO, SAC, TRPO, Random
from selfpaced.environments.base import Spec
from selfpaced.learners.base import ActsInNumPy
from selfpaced.training.block_policy import BlockPolicy, act_block
from selfpaced.training.loop import Training
from tests.probes import Probe, probe_problem

SPEC = Spec(observation_size=5, action_low=(-1.0, -1.0), action_high=(1.0, 1.0), discount=0.9)
NUM_SEEDS, NUM_ACTORS = 3, 4


def states_of(learner):
    keys = jax.random.split(jax.random.key(0), NUM_SEEDS)
    return jax.vmap(lambda key: learner.init(key, SPEC))(keys)


def inputs():
    rng = np.random.default_rng(1)
    shape = NUM_SEEDS, NUM_ACTORS
    noise, observation = rng.standard_normal((*shape, 2)), rng.standard_normal((*shape, 5))
    return noise.astype(np.float32), observation.astype(np.float32)


@pytest.mark.parametrize("learner", [PPO(hidden=(8, 8)), TRPO(hidden=(8,)), SAC(hidden=(8,))])
def test_every_seed_acts_with_its_own_policy(learner):
    state, (noise, observation) = states_of(learner), inputs()
    action = BlockPolicy(learner, state, trains=True)(noise, observation)
    assert isinstance(action, np.ndarray)
    assert action.dtype == np.float32
    wanted = act_block(learner, True, state, noise, observation)
    np.testing.assert_allclose(action, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("learner", [PPO(hidden=(8,)), TRPO(hidden=(8,))])
def test_on_policy_learners_leave_jax_out(learner):
    assert isinstance(learner, ActsInNumPy)
    state = states_of(learner)
    before = act_block._cache_size()
    noise, observation = inputs()
    BlockPolicy(learner, state, trains=True)(noise[:, :2], observation[:, :2])  # a new shape
    assert act_block._cache_size() == before


class Timid(PPO):
    """Somebody's own way to act, for JAX only."""

    def act(self, noise, state, observation):
        assert noise.shape == (2,)  # one action at a time, as JAX vectorises it
        return 0.5 * jax.numpy.tanh(super().act(noise, state, observation))


def test_a_derived_learner_acts_its_own_way():
    learner = Timid(hidden=(8,))
    state, (noise, observation) = states_of(learner), inputs()
    action = BlockPolicy(learner, state, trains=True)(noise, observation)
    np.testing.assert_array_equal(action, act_block(learner, True, state, noise, observation))
    assert np.abs(action).max() <= 0.5


class Confident(PPO):
    """Somebody's own way to be evaluated, for JAX only."""

    def policy(self, noise, state, observation):
        assert noise.shape == (2,)
        return 0.1 * noise + self.value(state, observation)


def test_a_derived_learner_is_evaluated_its_own_way():
    learner = Confident(hidden=(8,))
    state, (noise, observation) = states_of(learner), inputs()
    evaluated = BlockPolicy(learner, state, trains=False)(noise, observation)
    np.testing.assert_array_equal(evaluated, act_block(learner, False, state, noise, observation))
    before = act_block._cache_size()
    BlockPolicy(learner, state, trains=True)(noise[:, :2], observation[:, :2])
    assert act_block._cache_size() == before  # in training it still acts in NumPy


def test_the_policy_keeps_its_parameters_when_the_state_is_given_away():
    learner = PPO(hidden=(8,))
    state, (noise, observation) = states_of(learner), inputs()
    policy = BlockPolicy(learner, state, trains=True)
    before = policy(noise, observation)
    for leaf in jax.tree.leaves(state):
        leaf.delete()
    np.testing.assert_array_equal(policy(noise, observation), before)


def test_what_a_learner_begins_with_is_not_its_policy():
    learner = SAC(hidden=(8,), learning_starts=100)  # until then actions are uniform
    state, (noise, observation) = states_of(learner), inputs()
    training = BlockPolicy(learner, state, trains=True)(noise, observation)
    evaluated = BlockPolicy(learner, state, trains=False)(noise, observation)
    assert np.abs(training - evaluated).max() > 0.1
    policy = jax.vmap(jax.vmap(learner.policy, (0, None, 0)))(noise, state, observation)
    np.testing.assert_allclose(evaluated, policy, rtol=1e-5)


def test_evaluations_on_jax_environments_are_of_the_policy_too():
    learner = SAC(hidden=(8,), learning_starts=100)
    training = Training(probe_problem(Probe()), Random(), learner, (1,), 64)
    evaluation = training.evaluate(training.init(), 0, 20)
    state = training.init().learner
    memory = state.replay._replace(num_added=state.replay.num_added + 100)
    later = training.init()._replace(learner=state._replace(replay=memory))
    np.testing.assert_array_equal(
        evaluation.discounted_return, training.evaluate(later, 0, 20).discounted_return
    )
