"""The contract of teachers, for every entry of the registry."""

import dataclasses
import inspect

import jax
import numpy as np
import pytest

from selfpaced import Episodes, Samples, SelfpacedError
from selfpaced.registry import PROBLEMS, TEACHERS
from selfpaced.runs.storage import name_leaves, read_arrays, restore_leaves, write_arrays
from selfpaced.teachers.base import (
    GivesAdvice,
    HasGaussian,
    HasParticles,
    MayLeaveBox,
    RequiresGaussians,
    ReusesEpisodes,
    Teacher,
    UpdatesBlocks,
)

CONTEXTS = PROBLEMS["point-mass-3d"].contexts
PROTOCOLS = (
    Teacher,
    UpdatesBlocks,
    ReusesEpisodes,
    HasGaussian,
    HasParticles,
    RequiresGaussians,
    GivesAdvice,
    MayLeaveBox,
)


def having(ability):
    """Run a test for every registered teacher with this ability, as the argument `teacher`."""
    names = [name for name in TEACHERS if issubclass(TEACHERS[name], ability)]
    assert names
    return pytest.mark.parametrize("teacher", [TEACHERS[name]() for name in names], ids=names)


@pytest.fixture(params=TEACHERS, name="teacher")
def _teacher(request):
    return TEACHERS[request.param]()


def rng(number=0):
    return np.random.default_rng(number)


def some_episodes(contexts, seed=0):
    num = len(contexts)
    return Episodes(
        context=contexts,
        first_observation=np.zeros((num, 7)),
        discounted_return=rng(seed + 1).uniform(0, 10, num),
        value=rng(seed + 2).uniform(0, 10, num),
        success=rng(seed + 3).uniform(size=num) < 0.5,
        length=np.full(num, 100),
    )


def after(teacher, num_updates, seed=0):
    state = teacher.init(rng(seed), CONTEXTS)
    for number in range(seed, seed + num_updates):
        contexts = teacher.sample(rng(number), CONTEXTS, state, 40)
        state, _ = teacher.update(rng(number), CONTEXTS, state, some_episodes(contexts))
    return state


def assert_same(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_is_a_frozen_final_dataclass_with_defaults(name):
    kind = TEACHERS[name]
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert kind.__final__
    assert kind.__mro__ == (kind, object)
    assert kind() == kind()
    assert hash(kind()) == hash(kind())


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_fulfils_the_protocol(name):
    assert isinstance(TEACHERS[name](), Teacher)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", TEACHERS)
def test_methods_have_the_arguments_of_their_protocol(name, protocol):
    methods = [method for method in vars(protocol) if not method.startswith("_")]
    methods = [method for method in methods if inspect.isfunction(getattr(protocol, method))]
    present = [method for method in methods if hasattr(TEACHERS[name], method)]
    assert present in ([], methods)  # an ability is complete or absent
    for method in present:
        expected = inspect.signature(getattr(protocol, method)).parameters
        assert list(inspect.signature(getattr(TEACHERS[name], method)).parameters) == list(expected)


def test_the_state_is_a_named_tuple_of_numpy_arrays(teacher):
    for num_updates in (0, 8):
        state = after(teacher, num_updates)
        assert isinstance(state, tuple)
        assert isinstance(state._fields, tuple)
        for leaf in jax.tree.leaves(state):
            assert isinstance(leaf, np.ndarray | np.generic)


def test_contexts_lie_inside_the_box(teacher):
    for num_updates in (0, 20):
        contexts = teacher.sample(rng(7), CONTEXTS, after(teacher, num_updates), 500)
        assert contexts.shape == (500, 3)
        assert CONTEXTS.contains(contexts).all()


def test_sampling_is_pure(teacher):
    state = after(teacher, 8)
    copy = jax.tree.map(np.copy, state)
    first = teacher.sample(rng(5), CONTEXTS, state, 30)
    np.testing.assert_array_equal(first, teacher.sample(rng(5), CONTEXTS, state, 30))
    assert (first != teacher.sample(rng(6), CONTEXTS, state, 30)).any()
    assert_same(state, copy)


def test_updating_leaves_the_given_state_alone_and_keeps_its_structure(teacher):
    state = after(teacher, 8)
    copy = jax.tree.map(np.copy, state)
    episodes = some_episodes(teacher.sample(rng(), CONTEXTS, state, 40))
    new, metrics = teacher.update(rng(), CONTEXTS, state, episodes)
    assert_same(state, copy)
    assert jax.tree.structure(new) == jax.tree.structure(state)
    assert all("/" in name and np.isfinite(value) for name, value in metrics.items())


def test_the_same_random_stream_gives_the_same_result(teacher):
    assert_same(after(teacher, 12), after(teacher, 12))


def test_iterations_without_a_finished_episode_are_survived(teacher):
    state = after(teacher, 8)
    empty = some_episodes(np.zeros((0, 3)))
    for _ in range(3):
        state, _ = teacher.update(rng(), CONTEXTS, state, empty)
    assert CONTEXTS.contains(teacher.sample(rng(), CONTEXTS, state, 100)).all()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("context", np.zeros((40, 2)), r"context of the episodes must have shape \[episodes, 3\]"),
        ("context", np.full((40, 3), 99.0), "context component 'gate_position' must lie in"),
        (
            "discounted_return",
            np.zeros(39),
            "discounted return of the episodes must have one entry",
        ),
        (
            "value",
            np.full(40, np.inf),
            "value of the episodes must be finite, got inf in episode 0",
        ),
        ("length", np.zeros(40), "length of the episodes must be positive, got 0.0 in episode 0"),
    ],
)
def test_episodes_with_a_mistake_are_refused(teacher, column, value, message):
    state = teacher.init(rng(), CONTEXTS)
    episodes = some_episodes(teacher.sample(rng(), CONTEXTS, state, 40))
    with pytest.raises(SelfpacedError, match=message):
        teacher.update(rng(), CONTEXTS, state, episodes._replace(**{column: value}))


def test_episodes_may_be_lists(teacher):
    state = after(teacher, 8)
    episodes = some_episodes(teacher.sample(rng(), CONTEXTS, state, 40))
    lists = Episodes(*(column.tolist() for column in episodes))
    arrays, expected = teacher.update(rng(), CONTEXTS, state, episodes)
    new, metrics = teacher.update(rng(), CONTEXTS, state, lists)
    assert_same(new, arrays)
    assert metrics == expected


def test_the_state_survives_storage_exactly(teacher, tmp_path):
    state = after(teacher, 12)
    write_arrays(tmp_path / "teacher.safetensors", name_leaves("teacher", state), {})
    arrays, _ = read_arrays(tmp_path / "teacher.safetensors")
    template = teacher.init(rng(), CONTEXTS)
    restored = restore_leaves("teacher", template, arrays, same_shape=False)
    assert_same(restored, state)
    np.testing.assert_array_equal(
        teacher.sample(rng(9), CONTEXTS, restored, 20), teacher.sample(rng(9), CONTEXTS, state, 20)
    )
    episodes = some_episodes(teacher.sample(rng(9), CONTEXTS, state, 40))
    assert_same(
        teacher.update(rng(), CONTEXTS, restored, episodes)[0],
        teacher.update(rng(), CONTEXTS, state, episodes)[0],
    )


@having(UpdatesBlocks)
def test_a_block_is_updated_like_its_seeds_one_by_one(teacher):
    seeds = (1, 2, 3)
    states = [after(teacher, 12, seed) for seed in seeds]
    contexts = [
        teacher.sample(rng(seed), CONTEXTS, state, 30 + seed)
        for seed, state in zip(seeds, states, strict=True)
    ]
    episodes = [some_episodes(*each) for each in zip(contexts, seeds, strict=True)]
    together = teacher.update_block([rng(seed) for seed in seeds], CONTEXTS, states, episodes)
    for seed, state, ended, (new, metrics) in zip(seeds, states, episodes, together, strict=True):
        alone, alone_metrics = teacher.update(rng(seed), CONTEXTS, state, ended)
        # programs compiled for a block sum in another order: equal up to rounding
        for a, b in zip(jax.tree.leaves(new), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        assert metrics == pytest.approx(alone_metrics, rel=1e-9, abs=1e-12)


@having(UpdatesBlocks)
def test_a_block_of_one_seed_is_updated_bit_identically(teacher):
    state = after(teacher, 12)
    episodes = some_episodes(teacher.sample(rng(), CONTEXTS, state, 40))
    ((new, metrics),) = teacher.update_block([rng(1)], CONTEXTS, [state], [episodes])
    alone, alone_metrics = teacher.update(rng(1), CONTEXTS, state, episodes)
    assert_same(new, alone)
    assert metrics == alone_metrics


@having(ReusesEpisodes)
def test_remembered_episodes_take_new_values(teacher):
    state = after(teacher, 8)
    observations = teacher.remembered(state)
    new = teacher.revalued(state, np.arange(len(observations), dtype=np.float64))
    assert jax.tree.structure(new) == jax.tree.structure(state)
    np.testing.assert_array_equal(teacher.remembered(new), observations)


@having(HasGaussian)
def test_contexts_are_drawn_from_the_gaussian_and_clipped(teacher):
    for num_updates in (0, 8):
        state = after(teacher, num_updates)
        drawn = teacher.gaussian(CONTEXTS, state).sample(rng(5), 50)
        np.testing.assert_array_equal(
            teacher.sample(rng(5), CONTEXTS, state, 50), CONTEXTS.clip(drawn)
        )


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_trains_towards_samples_or_names_teachers_that_do(name):
    samples = dataclasses.replace(CONTEXTS, target=Samples(CONTEXTS.sample_target(rng(), 30)))
    teacher = TEACHERS[name]()
    if isinstance(teacher, RequiresGaussians):
        with pytest.raises(SelfpacedError, match=r"must be a Gaussian .* only needs samples"):
            teacher.init(rng(), samples)
        return
    state = teacher.init(rng(), samples)
    for number in range(5):
        contexts = teacher.sample(rng(number), samples, state, 40)
        state, _ = teacher.update(rng(number), samples, state, some_episodes(contexts))
    assert samples.contains(teacher.sample(rng(), samples, state, 40)).all()


@pytest.mark.parametrize("name", TEACHERS)
def test_a_teacher_samples_log_scaled_components_inside_the_box(name):
    scaled = dataclasses.replace(CONTEXTS, scales=("linear", "log", "linear"))
    teacher = TEACHERS[name]()
    state = teacher.init(rng(), scaled)
    for number in range(5):
        contexts = teacher.sample(rng(number), scaled, state, 40)
        assert scaled.contains(contexts).all()
        state, _ = teacher.update(rng(number), scaled, state, some_episodes(contexts))


@having(GivesAdvice)
def test_advice_is_a_tuple_of_texts_and_pure(teacher):
    for num_updates in (0, 8):
        state = after(teacher, num_updates)
        copy = jax.tree.map(np.copy, state)
        advice = teacher.advice(CONTEXTS, state, 1000)
        assert isinstance(advice, tuple)
        assert all(isinstance(text, str) for text in advice)
        assert_same(state, copy)
