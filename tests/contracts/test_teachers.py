"""What every registered teacher promises."""

import jax
import numpy as np
import pytest

from selfpaced import Episodes
from selfpaced.problems import POINT_MASS_3D
from selfpaced.runs.storage import name_leaves, read_arrays, restore_leaves, write_arrays
from selfpaced.teachers import TEACHERS

CONTEXTS = POINT_MASS_3D.contexts


# SPRL is not a teacher in this sense, it also improves the policy: see teachers/test_sprl.py
@pytest.fixture(params=[name for name in TEACHERS if name != "sprl"], name="teacher")
def _teacher(request):
    return TEACHERS[request.param]()


def rng(number=0):
    return np.random.default_rng(number)


def some_episodes(contexts):
    num = len(contexts)
    return Episodes(
        context=contexts,
        first_observation=np.zeros((num, 7)),
        discounted_return=rng(1).uniform(0, 10, num),
        value=rng(2).uniform(0, 10, num),
        success=rng(3).uniform(size=num) < 0.5,
        length=np.full(num, 100),
    )


def after(teacher, num_updates):
    state = teacher.init(rng(), CONTEXTS)
    for number in range(num_updates):
        contexts = teacher.sample(rng(number), state, 40)
        state, _ = teacher.update(rng(number), state, some_episodes(contexts))
    return state


def assert_same(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


def test_contexts_lie_inside_the_box(teacher):
    for num_updates in (0, 20):
        contexts = teacher.sample(rng(7), after(teacher, num_updates), 500)
        assert contexts.shape == (500, 3)
        assert CONTEXTS.contains(contexts).all()


def test_sampling_is_pure(teacher):
    state = after(teacher, 8)
    first = teacher.sample(rng(5), state, 30)
    np.testing.assert_array_equal(first, teacher.sample(rng(5), state, 30))
    assert (first != teacher.sample(rng(6), state, 30)).any()


def test_updating_leaves_the_given_state_alone_and_keeps_its_structure(teacher):
    state = after(teacher, 8)
    copy = jax.tree.map(np.copy, state)
    episodes = some_episodes(teacher.sample(rng(), state, 40))
    new, metrics = teacher.update(rng(), state, episodes)
    assert_same(state, copy)
    assert jax.tree.structure(new) == jax.tree.structure(state)
    assert all("/" in name and np.isfinite(value) for name, value in metrics.items())


def test_the_same_random_stream_gives_the_same_result(teacher):
    assert_same(after(teacher, 12), after(teacher, 12))


def test_iterations_without_a_finished_episode_are_survived(teacher):
    state = after(teacher, 8)
    empty = some_episodes(np.zeros((0, 3)))
    for _ in range(3):
        state, _ = teacher.update(rng(), state, empty)
    assert CONTEXTS.contains(teacher.sample(rng(), state, 100)).all()


def test_the_state_survives_storage_exactly(teacher, tmp_path):
    state = after(teacher, 12)
    write_arrays(tmp_path / "teacher.safetensors", name_leaves("teacher", state), {})
    arrays, _ = read_arrays(tmp_path / "teacher.safetensors")
    template = teacher.init(rng(), CONTEXTS)
    restored = restore_leaves("teacher", template, arrays, same_shape=False)
    assert_same(restored, state)
    np.testing.assert_array_equal(
        teacher.sample(rng(9), restored, 20), teacher.sample(rng(9), state, 20)
    )
    episodes = some_episodes(teacher.sample(rng(9), state, 40))
    assert_same(
        teacher.update(rng(), restored, episodes)[0], teacher.update(rng(), state, episodes)[0]
    )


def test_advice_is_text(teacher):
    assert all(isinstance(text, str) for text in teacher.advice(after(teacher, 8), 1000))
