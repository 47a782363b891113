"""A teacher bound to its contexts, state and random stream."""

import json
import warnings

import numpy as np
import pytest

from selfpaced import SPDL, TEACHERS, Curriculum, Default, Random, SelfpacedError, SelfpacedWarning
from tests.integrations.counting import CONTEXTS


def recorded(curriculum: Curriculum, num: int = 20) -> Curriculum:
    for context in curriculum.sample(num):
        curriculum.record(
            context,
            discounted_return=context[0],
            length=round(context[0]),
            success=context[1] > 0.5,
            first_observation=context,
        )
    return curriculum


def first_value(observations: np.ndarray) -> np.ndarray:
    return observations[:, 0] + 1.0


@pytest.mark.parametrize("name", list(TEACHERS))
def test_a_restored_curriculum_continues_bit_identically(name: str) -> None:
    original = Curriculum(TEACHERS[name](), CONTEXTS, seed=3)
    for _ in range(8):
        recorded(original).update(first_value)
    recorded(original, 5)
    restored = Curriculum(TEACHERS[name](), CONTEXTS)
    restored.load_state_dict(json.loads(json.dumps(original.state_dict())))
    for _ in range(3):
        metrics = [recorded(one).update(first_value) for one in (original, restored)]
        np.testing.assert_equal(metrics[0], metrics[1])
        np.testing.assert_array_equal(original.sample(7), restored.sample(7))
    assert original.state_dict() == restored.state_dict()


def test_two_seeds_draw_different_contexts_and_one_seed_the_same() -> None:
    drawn = [Curriculum(Random(), CONTEXTS, seed).sample(4).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_every_draw_is_new() -> None:
    curriculum = Curriculum(Random(), CONTEXTS)
    first = curriculum.sample(2)
    second = curriculum.sample(2)
    recorded(curriculum, 1).update()
    assert len({*map(tuple, first), *map(tuple, second), *map(tuple, curriculum.sample(2))}) == 6


def test_values_reach_the_teacher_as_numbers_or_from_a_function() -> None:
    teacher = SPDL(pacing="tradeoff", update_offset=0, alpha_offset=0)
    by_function, by_number, by_return = (Curriculum(teacher, CONTEXTS) for _ in range(3))
    observations = recorded(by_number).first_observations
    recorded(by_function).update(first_value)
    by_number.update(first_value(observations))
    np.testing.assert_array_equal(by_function.sample(5), by_number.sample(5))
    with pytest.warns(SelfpacedWarning, match="SPDL uses discounted returns"):
        recorded(by_return).update()
    assert not np.array_equal(by_function.sample(5), by_return.sample(5))


def test_returns_in_place_of_values_are_warned_of_once_and_only_where_they_matter() -> None:
    curriculum = Curriculum(SPDL(pacing="tradeoff"), CONTEXTS)
    with pytest.warns(SelfpacedWarning):
        recorded(curriculum).update()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorded(curriculum).update()
        recorded(Curriculum(SPDL(pacing="mastery"), CONTEXTS)).update()
        recorded(Curriculum(Random(), CONTEXTS)).update()


def test_an_update_reports_averages_of_its_episodes_and_forgets_them() -> None:
    curriculum = Curriculum(Default(), CONTEXTS)
    curriculum.record([2.0, 0.0], discounted_return=1.0, length=2)
    curriculum.record([4.0, 1.0], discounted_return=3.0, length=4, success=True)
    metrics = curriculum.update()
    assert metrics["train/episodes"] == 2
    assert metrics["train/return"] == 2.0
    assert metrics["train/success"] == 0.5
    assert metrics["context/length_mean"] == 3.0
    assert curriculum.num_recorded == 0
    assert curriculum.update()["train/episodes"] == 0


@pytest.mark.parametrize(
    ("episode", "message"),
    [
        ({"context": [9.0, 0.5], "discounted_return": 1.0, "length": 3}, "'length' must lie in"),
        ({"context": [3.0, 0.5], "discounted_return": np.nan, "length": 3}, "finite"),
        ({"context": [3.0, 0.5], "discounted_return": 1.0, "length": 0}, "positive"),
        ({"context": [3.0, 0.5], "discounted_return": 1.0, "length": 2.5}, "whole number, got 2.5"),
        (
            {"context": [3.0, 0.5], "discounted_return": np.complex128(1j), "length": 3},
            "discounted_return must be a number, got",
        ),
        (
            {"context": np.array([3.0, 0.5j]), "discounted_return": 1.0, "length": 3},
            "contexts must be real numbers",
        ),
    ],
)
def test_an_invalid_episode_is_named_and_leaves_the_curriculum_unchanged(episode, message) -> None:
    curriculum = Curriculum(Random(), CONTEXTS)
    before = curriculum.state_dict()
    with pytest.raises(SelfpacedError, match=message):
        curriculum.record(**episode)
    assert curriculum.state_dict() == before


def test_an_invalid_value_is_named_and_keeps_the_episodes() -> None:
    curriculum = recorded(Curriculum(Random(), CONTEXTS), 2)
    before = curriculum.state_dict()
    with pytest.raises(SelfpacedError, match="finite"):
        curriculum.update([1.0, np.nan])
    assert curriculum.state_dict() == before


def test_a_context_of_the_wrong_size_is_refused_when_it_is_recorded() -> None:
    with pytest.raises(SelfpacedError, match=r"2 numbers \(length, label\)"):
        Curriculum(Random(), CONTEXTS).record([3.0], discounted_return=1.0, length=3)


def test_a_function_needs_first_observations_and_must_return_one_value_each() -> None:
    curriculum = Curriculum(Random(), CONTEXTS)
    curriculum.record([3.0, 0.5], discounted_return=1.0, length=3)
    with pytest.raises(SelfpacedError, match="first_observation must be given"):
        curriculum.update(first_value)
    curriculum = recorded(Curriculum(Random(), CONTEXTS))
    with pytest.raises(SelfpacedError, match="one number for each of 20"):
        curriculum.update(lambda observations: np.zeros(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SPDL, CONTEXTS), "instance of its settings"),
        (("spdl", CONTEXTS), "instance of its settings"),
        ((SPDL(), [0, 1]), "ContextSpace"),
        ((SPDL(), CONTEXTS, -1), "seed"),
    ],
)
def test_wrong_arguments_are_named(arguments, message: str) -> None:
    with pytest.raises(SelfpacedError, match=message):
        Curriculum(*arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"teacher": "ALPGMM()"}, "must have the teacher Random"),
        ({"contexts": ["mass"]}, "must have the contexts"),
        ({"format": 7}, "format 1"),
        ({"records": [[1, 2]]}, "5 entries"),
        ({"records": [["x"] * 5]}, "damaged"),
    ],
)
def test_a_foreign_or_damaged_save_is_refused(change, message: str) -> None:
    curriculum = Curriculum(Random(), CONTEXTS)
    with pytest.raises(SelfpacedError, match=message):
        curriculum.load_state_dict(curriculum.state_dict() | change)


def test_a_save_that_lacks_an_entry_is_refused() -> None:
    curriculum = Curriculum(Random(), CONTEXTS)
    saved = curriculum.state_dict()
    del saved["state"]
    with pytest.raises(SelfpacedError, match="must have state"):
        curriculum.load_state_dict(saved)


def test_advice_of_the_teacher_is_warned_of_once():
    curriculum = Curriculum(SPDL(pacing="tradeoff", update_offset=0), CONTEXTS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(40):
            for context in curriculum.sample(2):
                curriculum.record(context, discounted_return=1.0, length=5, success=True)
            curriculum.update(values=np.ones(2))
    texts = [str(warning.message) for warning in caught if "episodes per update" in str(warning)]
    assert len(texts) == 1
    assert "2 episodes per update are few" in texts[0]
    assert all(warning.filename == __file__ for warning in caught)
