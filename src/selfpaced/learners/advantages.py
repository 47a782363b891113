"""Generalised advantage estimation (Schulman et al., 2016), with a choice for time-outs."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp

from selfpaced.learners.base import Rollout

TimeOuts = Literal["terminal", "bootstrap"]
"""`terminal` treats truncation as termination, as in the paper's experiments, whose outcome depends
on it. `bootstrap` estimates the value behind the truncation."""


def advantages(
    rollout: Rollout,
    value: jax.Array,
    next_value: jax.Array,
    discount: float,
    gae_lambda: float,
    time_outs: TimeOuts,
) -> jax.Array:
    """Return the advantage of every step [T, N].

    `value` and `next_value` are the values of `observation` and `next_observation`.
    """
    ended = rollout.terminated | rollout.truncated
    without_future = ended if time_outs == "terminal" else rollout.terminated
    error = rollout.reward + discount * jnp.where(without_future, 0.0, next_value) - value
    decay = discount * gae_lambda * (1.0 - ended)

    def backwards(
        later: jax.Array, step: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        here, weight = step
        advantage = here + weight * later  # Eq. (16)
        return advantage, advantage

    start = jnp.zeros_like(error[0])
    return jax.lax.scan(backwards, start, (error, decay), reverse=True)[1]
