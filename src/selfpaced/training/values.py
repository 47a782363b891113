"""What the learners of several seeds think of some observations, of each seed as many as it has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from selfpaced.learners.base import Learner
from selfpaced.records import Array


def values_of(learner: Learner, learner_state: Any, observations: Sequence[Array]) -> list[Array]:
    """Values [M] of the observations [M, O] of every seed."""
    # padded to a power of two, so that few shapes are ever compiled
    most = max(map(len, observations))
    width = 1 << max(most - 1, 0).bit_length()
    size = max(seen.shape[1] for seen in observations)
    padded = np.zeros((len(observations), width, size), np.float32)
    for row, seen in zip(padded, observations, strict=True):
        if len(seen):
            row[: len(seen)] = seen
    values = np.asarray(value_block(learner, learner_state, padded), np.float64)
    return [row[: len(seen)] for row, seen in zip(values, observations, strict=True)]


@partial(jax.jit, static_argnums=0)
def value_block(learner: Learner, learner_state: Any, observation: jax.Array) -> jax.Array:
    """Values [S, M]."""
    return jax.vmap(learner.value)(learner_state, observation)
