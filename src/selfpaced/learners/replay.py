"""A replay buffer on the device: the latest steps, one row of numbers each."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Replay(NamedTuple):
    """Rows in a ring; one array, so that storing and sampling are one operation each."""

    rows: jax.Array  # [capacity, F]
    num_added: jax.Array  # in total, overwritten rows included


def empty_replay(capacity: int, row_size: int) -> Replay:
    """Return a buffer without any rows stored."""
    return Replay(jnp.zeros((capacity, row_size)), jnp.int32(0))


def add_rows(replay: Replay, rows: jax.Array) -> Replay:
    """Store rows [M, F] in order, in place of the oldest."""
    capacity = len(replay.rows)
    place = (replay.num_added + jnp.arange(len(rows))) % capacity
    stored = replay.rows.at[place].set(rows, unique_indices=True, mode="promise_in_bounds")
    return Replay(stored, replay.num_added + len(rows))


def sample_rows(bits: jax.Array, replay: Replay) -> jax.Array:
    """Return one stored row for every random word [B], uniformly and with replacement."""
    num_stored = jnp.minimum(replay.num_added, len(replay.rows)).astype(jnp.uint32)
    place = (bits % num_stored).astype(jnp.int32)  # words are so long that the bias is below 1e-5
    return replay.rows.at[place].get(mode="promise_in_bounds")
