"""The contract of learners with discrete actions: every entry of the registry learns or refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import LEARNERS, CurriculumLearning, Random, SelfpacedError
from selfpaced.learners.base import ActsInNumPy
from tests.probes import DiscreteProbe, probe_problem, train

PROBLEM = probe_problem(DiscreteProbe(length=5, reward="action", num_components=2))
SPEC = PROBLEM.spec
NOISE = jax.random.normal(jax.random.key(1), (6, SPEC.noise_size))
OBSERVATION = jax.random.normal(jax.random.key(2), (6, SPEC.observation_size))
REFUSING = ("sac",)


def make(name, **settings):
    return LEARNERS[name](hidden=(8,), **settings)


def make_training(learner, seeds=(3, 4)):
    return CurriculumLearning(Random(), learner).training(PROBLEM, seeds, 64)


@pytest.fixture(
    params=[
        (name, settings)
        for name in LEARNERS
        if name not in REFUSING
        for settings in ({}, {"normalise_observations": True, "normalise_rewards": True})
    ],
    ids=lambda given: f"{given[0]}{'-scaled' if given[1] else ''}",
    name="learner",
    scope="module",
)
def _learner(request):
    name, settings = request.param
    return make(name, **settings)


@pytest.fixture(name="trained", scope="module")
def _trained(learner):
    with make_training(learner) as training:
        return training.init(), *train(training, 3)


def state_of(trained):
    return jax.tree.map(lambda array: array[0], trained[1].learner)


def batched(choose, state, noise):
    return np.asarray(jax.vmap(choose, (0, None, 0))(noise, state, OBSERVATION))


def test_actions_are_whole_numbers_between_the_bounds(learner, trained):
    for choose in (learner.act, learner.policy):
        found = batched(choose, state_of(trained), NOISE)
        assert found.shape == (6, SPEC.action_size)
        np.testing.assert_array_equal(found, np.round(found))
        assert (found >= SPEC.action_low).all()
        assert (found <= SPEC.action_high).all()


def test_noise_of_any_sign_of_zero_gives_the_same_action(learner, trained):
    zeros = jnp.zeros_like(NOISE)
    state = state_of(trained)
    np.testing.assert_array_equal(
        batched(learner.policy, state, zeros), batched(learner.policy, state, -zeros)
    )


def test_updating_keeps_structure_shapes_and_types(trained):
    before, after, _ = trained
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for a, b in zip(jax.tree.leaves(before.learner), jax.tree.leaves(after.learner), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.isfinite(b).all()


def test_metrics_are_finite(trained):
    for row in trained[2][-1]:
        learned = {name: value for name, value in row.items() if name.startswith("learner/")}
        assert "learner/policy_entropy" in learned
        assert all(np.isfinite(value) for value in learned.values())


def test_acting_in_numpy_gives_the_actions_of_jax(learner, trained):
    assert isinstance(learner, ActsInNumPy)
    state = state_of(trained)
    host = learner.host_state(jax.tree.map(lambda array: array[None], state))  # one seed
    found = learner.act(np.asarray(NOISE)[None], host, np.asarray(OBSERVATION)[None])
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found[0], batched(learner.act, state, NOISE))


@pytest.mark.parametrize("name", REFUSING)
def test_a_learner_of_continuous_actions_names_those_that_fit(name):
    with (
        make_training(make(name)) as training,
        pytest.raises(SelfpacedError, match=r"actions must be continuous .* use PPO or TRPO"),
    ):
        training.init()
