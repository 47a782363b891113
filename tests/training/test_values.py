"""Value estimates of ragged batches: exact, in order, and compiled for few shapes."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import Episodes
from selfpaced.training.values import values_of, with_values


class Scale(NamedTuple):
    scale: jax.Array


@dataclass(frozen=True)
class Sum:
    """Values are the sum of the observation, times the state."""

    def value(self, state, observation):
        return state.scale * observation.sum(axis=-1)


STATES = Scale(jnp.array([1.0, 10.0]))  # of two seeds


def observations(num):
    return np.stack([np.arange(1.0, num + 1), np.zeros(num)], axis=1)


def episodes(num):
    zeros = np.zeros(num)
    return Episodes(np.zeros((num, 1)), observations(num), zeros, zeros, zeros > 0, zeros)


def test_every_seed_is_valued_by_its_own_learner():
    first, second = values_of(Sum(), STATES, [observations(2), observations(3)])
    np.testing.assert_array_equal(first, [1.0, 2.0])
    np.testing.assert_array_equal(second, [10.0, 20.0, 30.0])
    assert first.dtype == second.dtype == np.float64


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (0, 0), (1, 1), (4, 5)])
def test_a_seed_has_as_many_values_as_observations(lengths):
    found = values_of(Sum(), STATES, [observations(num) for num in lengths])
    assert tuple(map(len, found)) == lengths


def test_observations_without_columns_are_those_of_a_seed_without_episodes():
    first, second = values_of(Sum(), STATES, [np.zeros((0, 0)), observations(1)])
    assert first.shape == (0,)
    np.testing.assert_array_equal(second, [10.0])


def test_only_powers_of_two_are_compiled(compilations):
    learner = Sum()
    values_of(learner, STATES, [observations(5), observations(1)])  # padded to 8
    before = compilations.num
    for num in (6, 7, 8):
        values_of(learner, STATES, [observations(num), observations(2)])
    assert compilations.num == before
    values_of(learner, STATES, [observations(9), observations(2)])  # to 16
    assert compilations.num > before


def test_episodes_get_values_and_keep_everything_else():
    given = [episodes(2), episodes(1)]
    first, second = with_values(Sum(), STATES, given)
    np.testing.assert_array_equal(first.value, [1.0, 2.0])
    np.testing.assert_array_equal(second.value, [10.0])
    assert first._replace(value=None) == given[0]._replace(value=None)
    np.testing.assert_array_equal(given[0].value, 0.0)
