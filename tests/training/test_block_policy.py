"""Acting in NumPy around a simulator gives the actions of JAX."""

import jax
import numpy as np
import pytest

from selfpaced import PPO, SAC, TRPO, CurriculumLearning, Random
from selfpaced.learners.base import ActsInNumPy
from selfpaced.records import Spec
from selfpaced.training.block_policy import BlockPolicy, act_block
from tests.probes import Probe, UserLearner, probe_problem

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
    expected = act_block(learner, True, state, noise, observation)
    np.testing.assert_allclose(action, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("learner", [PPO(hidden=(8,)), TRPO(hidden=(8,))])
def test_on_policy_learners_act_without_compiling_anything(learner, trains, compilations):
    assert isinstance(learner, ActsInNumPy)
    state, (noise, observation) = states_of(learner), inputs()
    before = compilations.num
    BlockPolicy(learner, state, trains)(noise[:, :2], observation[:, :2])  # a new shape
    assert compilations.num == before


class Timid(UserLearner):
    """Acts in its own way, and in another way outside training, both in JAX only."""

    def act(self, noise, state, observation):
        assert noise.shape == (2,)  # one action at a time, as JAX vectorises it
        return 0.5 * jax.numpy.tanh(self.ppo.act(noise, state, observation))

    def policy(self, noise, state, observation):
        assert noise.shape == (2,)
        return 0.1 * noise + self.value(state, observation)


@pytest.mark.parametrize("trains", [True, False])
def test_a_users_learner_acts_in_its_own_way(trains):
    learner = Timid()
    state, (noise, observation) = states_of(learner), inputs()
    action = BlockPolicy(learner, state, trains)(noise, observation)
    np.testing.assert_array_equal(action, act_block(learner, trains, state, noise, observation))
    function = learner.act if trains else learner.policy
    expected = jax.vmap(jax.vmap(function, (0, None, 0)))(noise, state, observation)
    np.testing.assert_allclose(action, expected, rtol=1e-5, atol=1e-6)


def test_the_policy_keeps_its_parameters_when_the_state_is_deleted():
    learner = PPO(hidden=(8,))
    state, (noise, observation) = states_of(learner), inputs()
    policy = BlockPolicy(learner, state, trains=True)
    before = policy(noise, observation)
    for leaf in jax.tree.leaves(state):
        leaf.delete()
    np.testing.assert_array_equal(policy(noise, observation), before)


def test_uniform_actions_before_learning_starts_are_not_the_policy():
    learner = SAC(hidden=(8,), learning_starts=100)  # until then actions are uniform
    state, (noise, observation) = states_of(learner), inputs()
    training = BlockPolicy(learner, state, trains=True)(noise, observation)
    evaluated = BlockPolicy(learner, state, trains=False)(noise, observation)
    assert np.abs(training - evaluated).max() > 0.1
    policy = jax.vmap(jax.vmap(learner.policy, (0, None, 0)))(noise, state, observation)
    np.testing.assert_allclose(evaluated, policy, rtol=1e-5)


def test_evaluations_in_jax_are_of_the_policy_too():
    learner = SAC(hidden=(8,), learning_starts=100)
    method = CurriculumLearning(Random(), learner)
    with method.training(probe_problem(Probe()), (1,), 64) as training:
        state = training.init_learners()
        memory = state.replay._replace(num_added=state.replay.num_added + 100)
        before, after = (
            training.target_episodes(learners, 0, 20).discounted_return
            for learners in (state, state._replace(replay=memory))
        )
    np.testing.assert_array_equal(before, after)
