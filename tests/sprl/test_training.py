"""SPRL's iterations: whole episodes, joint updates, the same face as the other training."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import SelfpacedError
from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.base import Step
from selfpaced.problems import POINT_MASS_3D, Problem
from selfpaced.runs.storage import name_leaves, read_arrays, restore_leaves, write_arrays
from selfpaced.sprl.dual import quadratic_features, regress
from selfpaced.sprl.policy import EpisodicPolicy, EpisodicState
from selfpaced.sprl.training import EpisodicTraining, roll_out
from selfpaced.sprl.update import SPRL
from selfpaced.training.evaluation import evaluate
from tests.probes import Probe, probe_problem, train

HIDDEN, NUM_STEPS = (), 3
TEACHER = SPRL(alpha_offset=5, num_rollouts=10, num_remembered=4, kl_threshold=0.0)


class LeverState(NamedTuple):
    context: jax.Array
    time: jax.Array


@dataclass(frozen=True)
class Lever:
    """Reward exp(-(a - 2 c)²) in each of three steps: the best lever position depends on c."""

    max_episode_steps: int = NUM_STEPS

    observation_size = 2
    action_low = (-5.0,)
    action_high = (5.0,)
    min_episode_steps = NUM_STEPS
    noise_size = 1

    def reset(self, key, context):
        state = LeverState(context, jnp.int32(0))
        return self.observe(state), state

    def step(self, noise, state, action):
        after = LeverState(state.context, state.time + 1)
        miss = action[0] - 2.0 * state.context[0]
        over = after.time >= self.max_episode_steps
        never = jnp.bool_(False)
        return Step(
            after, self.observe(after), jnp.exp(-(miss**2)), never, over, jnp.abs(miss) < 0.3
        )

    def observe(self, state):
        return jnp.concatenate([jnp.ones(1), state.context])


LEVER = Problem(
    "lever",
    "a lever",
    Lever(),
    ContextSpace(
        names=("place",),
        lower=(-2.0,),
        upper=(2.0,),
        initial=Gaussian.diagonal([0.0], [0.5]),
        target=Gaussian.diagonal([1.5], [0.05]),
    ),
    0.9,
)


def lever_training(seeds=(1, 2), teacher=TEACHER, steps=60):
    return EpisodicTraining(LEVER, teacher, EpisodicPolicy(hidden=HIDDEN), seeds, steps)


def assert_same(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module", name="point_mass")
def _point_mass():
    teacher = SPRL(num_rollouts=5, num_remembered=3, alpha_offset=1)
    return EpisodicTraining(POINT_MASS_3D, teacher, EpisodicPolicy(hidden=(4,)), (11, 12), 256)


def test_stopping_and_going_on_changes_nothing(point_mass, tmp_path):
    straight, rows = train(point_mass, 8)
    half, _ = train(point_mass, 4)
    write_arrays(tmp_path / "half.safetensors", name_leaves("state", half), {})
    arrays, _ = read_arrays(tmp_path / "half.safetensors")
    half = restore_leaves("state", point_mass.init(), arrays)
    resumed, late_rows = train(point_mass, 4, half, start=4)
    assert_same(straight, resumed)
    np.testing.assert_equal(late_rows, rows[4:])


def test_updating_keeps_structure_shapes_and_types(point_mass):
    before, after = point_mass.init(), train(point_mass, 6)[0]
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        assert np.isfinite(b).all()


def test_a_seed_does_not_depend_on_the_seeds_beside_it():
    together, _ = train(lever_training((1, 2)), 5)
    alone, _ = train(lever_training((2,)), 5)
    for a, b in zip(jax.tree.leaves(together.learner), jax.tree.leaves(alone.learner), strict=True):
        np.testing.assert_allclose(a[1], b[0], rtol=1e-6, atol=1e-9)


def test_nothing_is_compiled_again_in_the_loop(point_mass):
    state, _ = train(point_mass, 2)
    point_mass.evaluate(state, 2, 10)
    before = roll_out._cache_size()
    state, _ = train(point_mass, 4, state, start=2)
    point_mass.evaluate(state, 6, 10)
    assert roll_out._cache_size() == before


def test_every_seed_takes_the_steps_of_an_iteration_and_at_most_one_batch_more(point_mass):
    state = point_mass.init()
    longest = point_mass.teacher.num_rollouts * POINT_MASS_3D.environment.max_episode_steps
    for number in range(8):
        state, _ = point_mass.iterate(state, number)
        for memory in state.teachers:
            excess = memory.num_steps - (number + 1) * point_mass.steps_per_iteration
            assert 0 <= excess < longest


def test_the_memory_is_filled_before_the_first_update():
    training = lever_training(steps=10 * NUM_STEPS)  # one batch in each iteration
    _, rows = train(training, 5)
    assert [row[0]["teacher/updates"] for row in rows] == [0, 0, 0, 1, 2]
    assert "teacher/alpha" not in rows[2][0]


def test_an_iteration_may_pass_without_an_episode():
    training = lever_training(steps=NUM_STEPS)  # a batch has the steps of ten iterations
    _, rows = train(training, 11)
    assert [row[0]["train/episodes"] for row in rows] == [10, *[0] * 9, 10]
    assert np.isnan(rows[1][0]["train/return"])
    assert np.isfinite(rows[1][0]["teacher/kl_to_target"])


def test_the_first_contexts_seen_are_those_issued_and_all_are_in_the_box(point_mass):
    state = point_mass.init()
    for number in range(3):
        issued = point_mass.sample_contexts(state, number)
        assert issued.shape == (2, 64, 3)
        state, lesson = point_mass.learn(state, issued, number)
        for index, episodes in enumerate(lesson.episodes):
            first = issued[index, : min(5, episodes.num)]  # there may be no episode
            np.testing.assert_array_equal(episodes.context[:5], first)
            assert POINT_MASS_3D.contexts.contains(episodes.context).all()
            np.testing.assert_allclose(
                episodes.first_observation[:, 4:], episodes.context, rtol=1e-6, atol=1e-6
            )


@pytest.mark.parametrize(("discount", "known"), [(None, 1.0 + 0.9 + 0.81), (1.0, 3.0)])
def test_returns_belong_to_the_remembered_weights(discount, known):
    training = lever_training(steps=10 * NUM_STEPS)
    training = replace(training, teacher=replace(training.teacher, discount=discount))
    state, lesson = training.learn(training.init(), training.sample_contexts(training.init(), 0), 0)
    memory = state.teachers[0]
    weight, bias = memory.parameters[-10:].T
    action = np.clip(weight + bias, -5.0, 5.0)  # the network's only input is one
    reward = np.exp(-((action - 2.0 * memory.contexts[-10:, 0]) ** 2))
    expected = reward * known
    np.testing.assert_allclose(memory.returns[-10:], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(lesson.episodes[0].discounted_return, memory.returns[-10:])


def test_mean_weights_are_what_act_uses_and_deterministic_evaluation_measures():
    training = lever_training()
    state, _ = train(training, 10)
    ours = training.evaluate(state, 10, 20)
    keys = jax.random.split(jax.random.key(0), 2)
    contexts = np.stack([np.full((20, 1), 1.5)] * 2).astype(np.float32)
    theirs = evaluate(LEVER, training.learner, keys, state.learner, contexts)
    assert ours.discounted_return.shape == (2, 2, 20)
    np.testing.assert_allclose(
        ours.discounted_return[:, 1].mean(-1), theirs.discounted_return[:, 1].mean(-1), rtol=0.05
    )
    # weights are drawn once per episode: act on its own has no randomness left
    np.testing.assert_array_equal(theirs.discounted_return[:, 0], theirs.discounted_return[:, 1])
    assert ours.discounted_return[0, 0].std() > ours.discounted_return[0, 1].std()


def test_a_lever_is_learned_in_the_target_contexts():
    training = lever_training(steps=10 * NUM_STEPS)
    state, rows = train(training, 150)
    best = 1.0 + 0.9 + 0.81
    assert (training.evaluate(state, 150, 50).discounted_return[:, 1].mean(-1) > 0.97 * best).all()
    for memory in state.teachers:
        assert training.teacher.distribution(memory).kl(LEVER.contexts.target) < 0.5
    assert rows[0][0]["teacher/kl_to_target"] > 100


def test_the_value_is_a_regression_of_the_remembered_returns():
    training = lever_training()
    state, _ = train(training, 5)
    contexts = training.sample_contexts(state, 5)
    state, lesson = training.learn(state, contexts, 5)
    memory, episodes = state.teachers[0], lesson.episodes[0]
    coefficients = regress(quadratic_features(memory.contexts), memory.returns)
    expected = quadratic_features(episodes.context) @ coefficients
    np.testing.assert_allclose(episodes.value, expected, rtol=1e-4)


def test_the_network_of_the_point_mass_has_as_many_weights_as_layers_need():
    spec = POINT_MASS_3D.spec
    assert EpisodicPolicy(hidden=(21,), biases=False).num_parameters(spec, 3) == 126
    assert EpisodicPolicy(hidden=(21,), biases=True).num_parameters(spec, 3) == 149


def test_the_network_computes_what_its_weights_say():
    weights, bias = np.array([[1.0, -2.0], [0.5, 0.0]]), np.array([0.1, 0.2])
    out, out_bias = np.array([[2.0], [3.0]]), np.array([-1.0])
    parameters = np.concatenate([weights.ravel(), bias, out.ravel(), out_bias])
    state = EpisodicState(np.stack([parameters, 0 * parameters]), None, None)
    observation = np.array([0.3, -0.4, 9.0])  # the last one is the context
    expected = np.tanh(observation[:2] @ weights + bias) @ out + out_bias
    action = EpisodicPolicy(hidden=(2,), biases=True).act(jnp.zeros(1), state, observation)
    np.testing.assert_allclose(action, expected, rtol=1e-5)


def test_problems_that_hide_the_context_are_refused():
    problem = probe_problem(Probe(length=2))  # its context comes first
    with pytest.raises(SelfpacedError, match="end with the context"):
        EpisodicTraining(problem, TEACHER, EpisodicPolicy(), (1,), 64)


def test_rewards_that_are_not_numbers_are_told_with_seed_and_iteration():
    training = lever_training()
    state = training.init()
    contexts = training.sample_contexts(state, 0)
    contexts[1, 3] = np.nan
    with pytest.raises(SelfpacedError, match="seed 2, iteration 1: episode 3"):
        training.learn(state, contexts, 0)


def test_layers_without_units_are_refused():
    with pytest.raises(SelfpacedError, match="hidden wants positive"):
        EpisodicPolicy(hidden=(0,))
