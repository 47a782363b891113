"""Random streams derived from (seed, iteration, purpose) and never carried along.

A run that was stopped and resumed therefore draws the same numbers as one that never stopped, and
no seed's random numbers depend on which other seeds ran beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


class Purpose(IntEnum):
    """What random numbers are for; never renumber, results would change."""

    INIT = 0
    SAMPLE = 1
    TRAIN = 2
    UPDATE = 3
    EVALUATE = 4
    REPORT = 5
    IMITATE = 6
    SAMPLE_MORE = 7


def host_stream(seed: int, iteration: int, purpose: Purpose) -> np.random.Generator:
    """A NumPy generator for teachers and evaluation contexts."""
    return np.random.default_rng((seed, iteration, purpose))


def keys_of_seeds(seeds: Sequence[int], iteration: int, purpose: Purpose) -> jax.Array:
    """One JAX key per seed."""
    return _keys(jnp.asarray(seeds, jnp.uint32), iteration, int(purpose))


@partial(jax.jit, static_argnums=2)
def _keys(seeds: jax.Array, iteration: int, purpose: int) -> jax.Array:
    def derive(seed: jax.Array) -> jax.Array:
        return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), iteration), purpose)

    return jax.vmap(derive)(seeds)
