"""Random numbers from a hash of the key: a few hundred at a time, in a few operations.

Keys are far apart already, so a strong integer hash is enough to expand one key into a few hundred
words. JAX's own generator is a loop on CPUs, and slower than the rest of an update of SAC.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def random_words(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return random words, uint32: hashes of the position between the two words of the key."""
    first, second = jax.random.key_data(key)
    position = jnp.arange(np.prod(shape), dtype=jnp.uint32).reshape(shape)
    return _mix(_mix(position + first) ^ second)


def normals(bits: jax.Array) -> jax.Array:
    """Return standard normals from random words; finite, as both ends are half a step away."""
    uniform: jax.Array = ((bits >> 9).astype(jnp.float32) + 0.5) * 2.0**-22 - 1.0
    standard: jax.Array = 2.0**0.5 * jax.lax.erf_inv(uniform)
    return standard


def _mix(word: jax.Array) -> jax.Array:
    """Apply the hash `triple32` of the hash-prospector project: every bit depends on every bit."""
    for shift, factor in ((17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB)):
        word = (word ^ (word >> shift)) * jnp.uint32(factor)
    return word ^ (word >> 14)
