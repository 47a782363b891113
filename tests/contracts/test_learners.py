"""What every registered learner promises."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced.learners import LEARNERS
from selfpaced.teachers import Random
from selfpaced.training.loop import Training
from tests.probes import Probe, probe_problem

PROBLEM = probe_problem(Probe(length=5, reward="action"))


STEP_BASED = [name for name in LEARNERS if name != "episodic"]  # that one belongs to SPRL


@pytest.fixture(scope="module", params=STEP_BASED, name="training")
def _training(request):
    learner = LEARNERS[request.param](hidden=(8,))
    return Training(PROBLEM, Random(), learner, (3, 4), 64)


def run(training, iterations=3):
    state = training.init()
    for iteration in range(iterations):
        state, rows = training.iterate(state, iteration)
    return state, rows


def test_a_seed_does_not_depend_on_the_seeds_beside_it(training):
    alone = Training(PROBLEM, Random(), training.learner, (4,), 64)
    together, _ = run(training)
    single, _ = run(alone)
    for a, b in zip(
        jax.tree.leaves(together.learner), jax.tree.leaves(single.learner), strict=True
    ):
        np.testing.assert_allclose(a[1], b[0], rtol=1e-3, atol=1e-5)


def test_updating_keeps_structure_shapes_and_types(training):
    before, after = training.init(), run(training)[0]
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for a, b in zip(jax.tree.leaves(before.learner), jax.tree.leaves(after.learner), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.isfinite(b).all()


def test_the_same_seed_gives_the_same_result_to_the_bit(training):
    for a, b in zip(jax.tree.leaves(run(training)), jax.tree.leaves(run(training)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_actions_and_values_have_the_right_shapes(training):
    state = jax.tree.map(lambda array: array[0], training.init().learner)
    learner, spec = training.learner, PROBLEM.spec
    action = learner.act(jnp.zeros(spec.action_size), state, jnp.zeros(spec.observation_size))
    assert action.shape == (spec.action_size,)
    assert learner.value(state, jnp.zeros((6, spec.observation_size))).shape == (6,)


def test_metrics_are_finite_numbers_with_a_group(training):
    _, rows = run(training)
    for row in rows:
        learned = {name: value for name, value in row.items() if name.startswith("learner/")}
        assert learned
        assert all(np.isfinite(value) for value in learned.values())
