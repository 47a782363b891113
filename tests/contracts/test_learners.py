"""The contract of learners: every entry of the registry fulfils it, with all abilities it has."""

from dataclasses import is_dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import LEARNERS, CurriculumLearning, Random
from selfpaced.learners.base import (
    ActsInNumPy,
    ClonesBehaviour,
    KeepsReplay,
    Learner,
    Rollout,
)
from tests.probes import Probe, probe_problem, train

PROBLEM = probe_problem(Probe(length=5, reward="action"))
SPEC = PROBLEM.spec
KEY = jax.random.key(7)
NOISE = jax.random.normal(jax.random.key(1), (6, SPEC.action_size))
OBSERVATION = jax.random.normal(jax.random.key(2), (6, SPEC.observation_size))


def make(name):
    return LEARNERS[name](hidden=(8,))


def having(ability):
    return [name for name in LEARNERS if isinstance(make(name), ability)]


def make_training(learner, seeds=(3, 4)):
    return CurriculumLearning(Random(), learner).training(PROBLEM, seeds, 64)


def trained_state(learner):
    """Return the state of one seed after learning has started."""
    with make_training(learner) as training:
        states = train(training, 3)[0].learner
    return jax.tree.map(lambda array: array[0], states)


def some_rollout(learner):
    shape = (learner.steps_per_update or 16, 4)
    keys = jax.random.split(jax.random.key(5), 4)
    seen, after = jax.random.normal(keys[0], (2, *shape, SPEC.observation_size))
    action = jax.random.normal(keys[1], (*shape, SPEC.action_size))
    terminated, truncated = jax.random.bernoulli(keys[2], 0.2, (2, *shape))
    return Rollout(seen, action, jax.random.normal(keys[3], shape), terminated, truncated, after)


def batched(choose, state, noise=NOISE):
    return jax.vmap(choose, (0, None, 0))(noise, state, OBSERVATION)


def assert_identical(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.fixture(params=LEARNERS, name="learner", scope="module")
def _learner(request):
    return make(request.param)


@pytest.fixture(name="training", scope="module")
def _training(learner):
    with make_training(learner) as training:
        yield training


@pytest.fixture(name="state", scope="module")
def _state(learner):
    return trained_state(learner)


def test_it_fulfils_the_protocol(learner):
    assert isinstance(learner, Learner)


def test_it_is_a_frozen_final_dataclass_that_compares_by_its_settings(learner):
    kind = type(learner)
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert kind.__final__
    assert kind(hidden=(8,)) == learner != kind(hidden=(9,))
    assert hash(kind(hidden=(8,))) == hash(learner)


def test_its_defaults_are_legal(learner):
    assert isinstance(type(learner)(), Learner)


def test_its_functions_are_pure(learner, state):
    before = jax.tree.map(np.array, state)
    rollout = some_rollout(learner)

    def everything():
        return (
            learner.init(KEY, SPEC),
            batched(learner.act, state),
            batched(learner.policy, state),
            learner.value(state, OBSERVATION),
            learner.update(KEY, SPEC, state, rollout),
        )

    assert_identical(everything(), everything())
    assert_identical(jax.tree.map(np.array, state), before)


def test_it_vectorises_over_seeds(learner):
    keys = jax.random.split(KEY, 3)
    rollout = some_rollout(learner)

    @jax.jit
    def one_seed(key):
        state, metrics = learner.update(key, SPEC, learner.init(key, SPEC), rollout)
        return state, metrics, batched(learner.act, state), learner.value(state, OBSERVATION)

    together, alone = jax.jit(jax.vmap(one_seed))(keys), one_seed(keys[1])
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a[1], b, rtol=1e-3, atol=1e-5), together, alone
    )


def test_zero_noise_gives_the_deterministic_action_amid_the_others(learner, state):
    middle = np.asarray(batched(learner.policy, state, jnp.zeros_like(NOISE)))
    np.testing.assert_array_equal(batched(learner.policy, state, -jnp.zeros_like(NOISE)), middle)
    assert (batched(learner.policy, state, -jnp.ones_like(NOISE)) < middle).all()
    assert (batched(learner.policy, state, jnp.ones_like(NOISE)) > middle).all()


def test_actions_and_values_have_the_right_shapes(learner, state):
    for choose in (learner.act, learner.policy):
        assert choose(NOISE[0], state, OBSERVATION[0]).shape == (SPEC.action_size,)
    assert learner.value(state, OBSERVATION).shape == (6,)
    assert learner.value(state, OBSERVATION[0]).shape == ()


def test_updating_keeps_structure_shapes_and_types(training):
    before, after = training.init(), train(training, 3)[0]
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for a, b in zip(jax.tree.leaves(before.learner), jax.tree.leaves(after.learner), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.isfinite(b).all()


def test_a_seed_does_not_depend_on_the_seeds_beside_it(training):
    with make_training(training.learner, seeds=(4,)) as alone:
        single, _ = train(alone, 3)
    together, _ = train(training, 3)
    for a, b in zip(
        jax.tree.leaves(together.learner), jax.tree.leaves(single.learner), strict=True
    ):
        np.testing.assert_allclose(a[1], b[0], rtol=1e-3, atol=1e-5)


def test_the_same_seed_gives_bit_identical_results(training):
    assert_identical(train(training, 3), train(training, 3))


def test_metrics_are_finite_numbers_with_a_group(training):
    _, rows = train(training, 3)
    for row in rows[-1]:
        learned = {name: value for name, value in row.items() if name.startswith("learner/")}
        assert learned
        assert all(np.isfinite(value) for value in learned.values())


@pytest.mark.parametrize("name", having(ActsInNumPy))
def test_acting_in_numpy_gives_the_actions_of_jax(name):
    learner = make(name)
    state = trained_state(learner)
    host = learner.host_state(jax.tree.map(lambda array: array[None], state))  # one seed
    assert all(isinstance(array, np.ndarray) for array in jax.tree.leaves(host))
    for choose in (learner.act, learner.policy):
        found = choose(np.asarray(NOISE)[None], host, np.asarray(OBSERVATION)[None])
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found[0], batched(choose, state), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", having(ClonesBehaviour))
def test_parameters_can_be_taken_out_and_put_back(name):
    learner = make(name)
    state = trained_state(learner)
    parameters = learner.parameters(state)
    assert_identical(learner.with_parameters(state, parameters), state)
    other = jax.tree.map(lambda array: array + 0.1, parameters)
    changed = learner.with_parameters(state, other)
    assert_identical(learner.parameters(changed), other)
    assert_identical(learner.with_parameters(changed, parameters), state)


@pytest.mark.parametrize("name", having(ClonesBehaviour))
def test_the_policy_depends_on_the_parameters_that_are_cloned(name):
    learner = make(name)
    state = trained_state(learner)

    def action(parameters):
        return learner.policy(NOISE[0], learner.with_parameters(state, parameters), OBSERVATION[0])

    gradient = jax.jacobian(action)(learner.parameters(state))
    assert any(np.asarray(array).any() for array in jax.tree.leaves(gradient))


@pytest.mark.parametrize("name", having(KeepsReplay))
def test_policy_and_value_are_bit_identical_without_the_replay(name):
    learner = make(name)
    state = trained_state(learner)
    small = learner.without_replay(state)
    assert sum(array.size for array in jax.tree.leaves(small)) < sum(
        array.size for array in jax.tree.leaves(state)
    )
    assert_identical(batched(learner.policy, small), batched(learner.policy, state))
    assert_identical(learner.value(small, OBSERVATION), learner.value(state, OBSERVATION))


def test_every_ability_is_tested_with_some_learner():
    for ability in (ActsInNumPy, ClonesBehaviour, KeepsReplay):
        assert having(ability)
