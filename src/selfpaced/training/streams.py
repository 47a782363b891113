"""Random streams derived from (seed, iteration, purpose) and never carried along.

A resumed run therefore draws the same numbers as one that was never stopped, and the random numbers
of a seed do not depend on the other seeds in its block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np


class Purpose(IntEnum):
    """What random numbers are for; renumbering would change results."""

    INIT = 0
    SAMPLE = 1
    TRAIN = 2
    UPDATE = 3
    EVALUATE = 4
    REPORT = 5
    IMITATE = 6
    SAMPLE_MORE = 7
    EVALUATE_KEPT = 8


@dataclass(frozen=True)
class Streams:
    """The random streams of a block of seeds for one purpose."""

    seeds: tuple[int, ...]
    iteration: int
    purpose: Purpose
    number: int | None = None  # tells several batches of one iteration apart

    @cached_property
    def generators(self) -> list[np.random.Generator]:
        """One NumPy generator per seed."""
        return [host_stream(seed, self.iteration, self.purpose) for seed in self.seeds]

    @cached_property
    def keys(self) -> jax.Array:
        """One JAX key per seed."""
        keys = keys_of_seeds(self.seeds, self.iteration, self.purpose)
        if self.number is not None:
            keys = _fold(keys, self.number)
        return keys


def host_stream(seed: int, iteration: int, purpose: Purpose) -> np.random.Generator:
    """Return a NumPy generator for teachers and evaluation contexts."""
    return np.random.default_rng((seed, iteration, purpose))


def keys_of_seeds(seeds: Sequence[int], iteration: int, purpose: Purpose) -> jax.Array:
    """Return one JAX key per seed."""
    keys: jax.Array = _keys(jnp.asarray(seeds, jnp.uint32), iteration, int(purpose))
    return keys


@partial(jax.jit, static_argnums=2)
def _keys(seeds: jax.Array, iteration: int, purpose: int) -> jax.Array:
    def derive(seed: jax.Array) -> jax.Array:
        return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), iteration), purpose)

    return jax.vmap(derive)(seeds)


@jax.jit
def _fold(keys: jax.Array, number: int) -> jax.Array:
    return jax.vmap(jax.random.fold_in, (0, None))(keys, number)
