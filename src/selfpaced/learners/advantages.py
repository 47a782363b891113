"""Generalised advantage estimation (Schulman et al., 2016), and what a time-out means to it."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp

from selfpaced.learners.base import Rollout

TimeOuts = Literal["terminal", "bootstrap"]
"""A time-out is the end of everything (`terminal`, as in the paper's experiments, which decides
their outcome), or a cut through a life that would have gone on (`bootstrap`)."""


def advantages(
    rollout: Rollout,
    value: jax.Array,
    next_value: jax.Array,
    discount: float,
    gae_lambda: float,
    time_outs: TimeOuts,
) -> jax.Array:
    """Advantage of every step [T, N], given the values of `observation` and `next_observation`."""
    ended = rollout.terminated | rollout.truncated
    without_future = ended if time_outs == "terminal" else rollout.terminated
    surprise = rollout.reward + discount * jnp.where(without_future, 0.0, next_value) - value
    carry_on = discount * gae_lambda * (1.0 - ended)

    def backwards(
        later: jax.Array, step: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        here, weight = step
        advantage = here + weight * later
        return advantage, advantage

    start = jnp.zeros_like(surprise[0])
    return jax.lax.scan(backwards, start, (surprise, carry_on), reverse=True)[1]
