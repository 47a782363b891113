"""Episodes are checked where they enter the library: shapes, finite numbers, the box."""

import numpy as np
import pytest

from selfpaced import ContextSpace, Episodes, Gaussian, SelfpacedError

CONTEXTS = ContextSpace(
    names=("mass", "torque"),
    lower=(0.1, 0.5),
    upper=(3.0, 8.0),
    initial=Gaussian.diagonal((1.0, 6.0), (0.2, 1.0)),
    target=Gaussian.diagonal((2.0, 1.8), (0.05, 0.05)),
)


def episodes(num=4, **changes):
    rng = np.random.default_rng(0)
    columns = {
        "context": CONTEXTS.sample_uniform(rng, num),
        "first_observation": rng.normal(size=(num, 3)),
        "discounted_return": rng.normal(size=num),
        "value": rng.normal(size=num),
        "success": np.arange(num) % 2 == 0,
        "length": np.full(num, 200),
    }
    return Episodes(**(columns | changes))


def changed(column, value, index):
    array = np.array(getattr(episodes(), column), float)
    array[index] = value
    return episodes(**{column: array})


def test_valid_episodes_are_returned_bit_identically():
    given = episodes()
    for before, after in zip(given, CONTEXTS.check_episodes(given), strict=True):
        assert after is before


def test_lists_become_arrays_with_the_same_numbers():
    given = episodes()
    checked = CONTEXTS.check_episodes(Episodes(*(column.tolist() for column in given)))
    for before, after in zip(given, checked, strict=True):
        np.testing.assert_array_equal(after, before)


def test_no_episodes_are_valid_and_have_the_shape_of_contexts():
    for empty in (episodes(0), Episodes([], [], [], [], [], [])):
        assert CONTEXTS.check_episodes(empty).context.shape == (0, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": np.ones((4, 3))}, "context of the episodes must have shape [episodes, 2] for "
         "mass, torque, got [4, 3]; give one row per episode"),
        ({"context": np.ones(4)}, "for mass, torque, got [4]; give one row per episode"),
        ({"context": np.ones(())}, "for mass, torque, got []; give one row per episode"),
        ({"discounted_return": np.zeros(3)}, "discounted return of the episodes must have one "
         "entry for each of 4 contexts, got shape [3]; give all columns one row per episode"),
        ({"value": np.zeros((4, 1))}, "value of the episodes must have one entry for each of 4 "
         "contexts, got shape [4, 1]"),
        ({"first_observation": np.zeros((5, 3))}, "first observation of the episodes must have one "
         "entry for each of 4 contexts, got shape [5, 3]"),
        ({"success": np.zeros(())}, "success of the episodes must have one entry"),
        ({"success": ["yes", "no", "no", "no"]}, "success of the episodes must be an array of "
         "numbers, got list of <U3; stack the episodes with numpy.array"),
        ({"first_observation": [[1.0], [1.0, 2.0], [], []]}, "first observation of the episodes "
         "must be an array of numbers, got list of object"),
        ({"value": [None] * 4}, "value of the episodes must be an array of numbers"),
    ],
)  # fmt: skip
def test_a_column_of_the_wrong_shape_or_kind_is_named(changes, message):
    with pytest.raises(SelfpacedError) as error:
        CONTEXTS.check_episodes(episodes(**changes))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (changed("value", np.nan, 2), "value of the episodes must be finite, got nan in episode 2; "
         "check the environment's rewards and observations, or lower the learning rate"),
        (changed("discounted_return", np.inf, 1), "discounted return of the episodes must be "
         "finite, got inf in episode 1"),
        (changed("first_observation", -np.inf, (3, 1)), "first observation of the episodes must be "
         "finite, got ["),
        (changed("context", 9.0, (1, 1)), "context component 'torque' must lie in [0.5, 8], got 9 "
         "in episode 1; give the contexts that sample has returned"),
        (changed("context", np.nan, (0, 0)), "context component 'mass' must lie in"),
        (changed("success", 0.5, 3), "success of the episodes must be true or false, got 0.5 in "
         "episode 3; give True or False"),
        (changed("length", 0, 3), "length of the episodes must be positive, got 0.0 in episode 3; "
         "count the steps"),
        (changed("length", np.nan, 2), "length of the episodes must be positive, got nan"),
    ],
)  # fmt: skip
def test_a_wrong_number_is_named_with_its_episode(wrong, message):
    with pytest.raises(SelfpacedError) as error:
        CONTEXTS.check_episodes(wrong)
    assert message in str(error.value)


def test_bounds_in_single_precision_are_inside_the_box():
    corner = np.array([CONTEXTS.lower, CONTEXTS.upper] * 2, np.float32)
    assert CONTEXTS.check_episodes(episodes(context=corner)).context.dtype == np.float32


def test_contexts_outside_the_box_can_be_allowed_but_not_infinite_ones():
    CONTEXTS.check_episodes(changed("context", 9.0, (1, 1)), stays_in_box=False)
    with pytest.raises(SelfpacedError, match="context of the episodes must be finite, got"):
        CONTEXTS.check_episodes(changed("context", np.inf, (1, 1)), stays_in_box=False)


def test_success_as_zeros_and_ones_is_valid():
    CONTEXTS.check_episodes(episodes(success=np.array([0, 1, 1, 0])))
    CONTEXTS.check_episodes(episodes(success=np.array([0.0, 1.0, 1.0, 0.0])))
