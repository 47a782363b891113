"""Running statistics that scale observations and returns; part of a learner's state.

Statistics only change in `update`: all actions of an iteration see the same ones. They cover all
steps so far with equal weight (Chan, Golub and LeVeque, 1979).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-8  # added to variances
CLIP = 10.0  # standard deviations, of an observation


class Moments(NamedTuple):
    """Mean and variance of all rows so far."""

    num: jax.Array
    mean: jax.Array  # [F]
    variance: jax.Array  # [F]


class Scaling(NamedTuple):
    """Statistics of observations and of returns; None where nothing is scaled."""

    observation: Moments | None
    returns: Moments | None


def init_moments(size: int) -> Moments:
    """Return the moments before any rows: scaling with them changes nothing."""
    return Moments(jnp.float32(0.0), jnp.zeros(size), jnp.ones(size))


def init_scaling(observation_size: int, observations: bool, rewards: bool) -> Scaling:
    """Return the statistics before training."""
    return Scaling(
        init_moments(observation_size) if observations else None,
        init_moments(1) if rewards else None,
    )


def add_rows(moments: Moments, rows: jax.Array) -> Moments:
    """Return the moments of all rows so far and these [..., F].

    Examples:
        >>> import jax.numpy as jnp
        >>> from selfpaced.learners.normalisation import add_rows, init_moments
        >>> moments = add_rows(init_moments(1), jnp.array([[1.0], [3.0]]))
        >>> add_rows(moments, jnp.array([[8.0]])).mean
        Array([4.], dtype=float32)
    """
    rows = rows.reshape(-1, rows.shape[-1])
    num = moments.num + len(rows)
    share = len(rows) / num
    distance = rows.mean(0) - moments.mean
    within = (1.0 - share) * moments.variance + share * rows.var(0)
    between = share * (1.0 - share) * distance**2
    return Moments(num, moments.mean + share * distance, within + between)


def standardise(moments: Moments | None, observation: jax.Array) -> jax.Array:
    """Return observations in standard deviations from the mean; unchanged without moments."""
    if moments is None:
        return observation
    library = np if isinstance(observation, np.ndarray) else jnp
    standard = (observation - moments.mean) / library.sqrt(moments.variance + EPSILON)
    scaled: jax.Array = library.clip(standard, -CLIP, CLIP)
    return scaled


def scale_of(moments: Moments) -> jax.Array:
    """Return the root mean square of returns, the unit of a critic; one before any rows.

    Unlike their standard deviation it does not vanish for returns that are all the same.
    """
    return jnp.sqrt(moments.mean**2 + moments.variance + EPSILON)[0]
