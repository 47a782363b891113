"""What holds for every registered teacher, whatever the episodes are like."""

import jax
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from selfpaced import Episodes
from selfpaced.registry import PROBLEMS, TEACHERS
from selfpaced.runs.storage import name_leaves, read_arrays, restore_leaves, write_arrays

CONTEXTS = PROBLEMS["point-mass-2d"].contexts
SCALES = st.sampled_from((0.0, 1e-12, 1.0, 1e6))
OUTCOMES = st.tuples(
    st.integers(0, 30),  # episodes
    st.sampled_from((-1.0, 0.0, 1.0)),  # mean of returns, in units of their scale
    SCALES,
    st.sampled_from(("none", "all", "some")),  # successes
    st.booleans(),  # whether all episodes have one context
)


def episodes(rng, teacher, state, outcome):
    """Return episodes of the contexts that a teacher samples, with such an outcome."""
    num, mean, scale, successes, is_same = outcome
    context = teacher.sample(rng, CONTEXTS, state, max(num, 1))[:num]
    if is_same:
        context = np.repeat(context[:1], num, axis=0)
    returns = scale * (mean + rng.normal(size=num))
    share = {"none": 0.0, "all": 1.0, "some": 0.5}[successes]
    return Episodes(
        context=context,
        first_observation=rng.normal(size=(num, 4)),
        discounted_return=returns,
        value=returns + scale * rng.normal(size=num),
        success=rng.random(num) < share,
        length=rng.integers(1, 100, num),
    )


@pytest.mark.parametrize("name", TEACHERS)
@settings(max_examples=4, deadline=None, derandomize=True, phases=[Phase.generate])
@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=4), seed=st.integers(0, 99))
def test_any_outcome_leaves_a_teacher_that_samples_inside_the_box(
    name, outcomes, seed, tmp_path_factory
):
    teacher, rng = TEACHERS[name](), np.random.default_rng(seed)
    first = state = teacher.init(rng, CONTEXTS)
    for outcome in outcomes:
        state, metrics = teacher.update(
            rng, CONTEXTS, state, episodes(rng, teacher, state, outcome)
        )
        assert np.isfinite(list(metrics.values())).all()
    assert jax.tree.structure(state) == jax.tree.structure(first)
    for leaf, original in zip(jax.tree.leaves(state), jax.tree.leaves(first), strict=True):
        assert leaf.dtype == original.dtype
    sampled = teacher.sample(np.random.default_rng(seed), CONTEXTS, state, 20)
    assert sampled.shape == (20, 2)
    assert CONTEXTS.contains(sampled).all()

    path = tmp_path_factory.getbasetemp() / f"{name}.safetensors"
    write_arrays(path, name_leaves("teacher", state), {})
    restored = restore_leaves("teacher", first, read_arrays(path)[0], same_shape=False)
    again = teacher.sample(np.random.default_rng(seed), CONTEXTS, restored, 20)
    np.testing.assert_array_equal(again, sampled)
