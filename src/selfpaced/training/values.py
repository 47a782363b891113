"""Value estimates for a ragged batch of observations per seed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import jax
import numpy as np

from selfpaced.learners.base import Learner
from selfpaced.records import Array, Episodes

S = TypeVar("S")


def with_values(
    learner: Learner[S], learner_state: S, episodes: Sequence[Episodes]
) -> tuple[Episodes, ...]:
    """Return the episodes with the learner's estimates at their first observations."""
    values = values_of(learner, learner_state, [one.first_observation for one in episodes])
    return tuple(one._replace(value=value) for one, value in zip(episodes, values, strict=True))


def values_of(learner: Learner[S], learner_state: S, observations: Sequence[Array]) -> list[Array]:
    """Return values [M] of the observations [M, O] of every seed."""
    # padded to a power of two, so that few shapes are ever compiled
    width = 1 << max(max(map(len, observations)) - 1, 0).bit_length()
    size = max(observed.shape[1] for observed in observations)
    padded = np.zeros((len(observations), width, size), np.float32)
    for row, observed in zip(padded, observations, strict=True):
        if len(observed):
            row[: len(observed)] = observed
    values = np.asarray(value_block(learner, learner_state, padded), np.float64)
    return [row[: len(observed)] for row, observed in zip(values, observations, strict=True)]


@partial(jax.jit, static_argnums=0)
def value_block(learner: Learner[S], learner_state: S, observation: jax.Array) -> jax.Array:
    """Return values [S, M] of observations [S, M, O]."""
    return jax.vmap(learner.value)(learner_state, observation)
