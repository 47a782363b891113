"""Choose actions around a host simulator: many calls, each about few numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import jax
import numpy as np

from selfpaced.learners.base import ActsInNumPy, Learner, Policy
from selfpaced.records import Array

S = TypeVar("S")


class BlockPolicy(Generic[S]):
    """The policies of all seeds in one state of learning."""

    def __init__(self, policy: Learner[S] | Policy[S], state: S, trains: bool) -> None:
        """Prepare for acting; a policy that only acts outside training cannot train."""
        self._policy, self._state, self._trains = policy, state, trains
        self._act = _function(policy, trains)
        self._host_state: S | None = None
        if isinstance(policy, ActsInNumPy):
            self._host_state = policy.host_state(state)

    def __call__(self, noise: Array, observation: Array) -> Array:
        """Return actions [S, N, A] of all actors of all seeds."""
        if self._host_state is None:
            return np.asarray(
                act_block(self._policy, self._trains, self._state, noise, observation)
            )
        return np.asarray(self._act(noise, self._host_state, observation))


@partial(jax.jit, static_argnums=(0, 1))
def act_block(
    policy: Learner[S] | Policy[S],
    trains: bool,
    state: S,
    noise: jax.typing.ArrayLike,
    observation: jax.typing.ArrayLike,
) -> jax.Array:
    """Return actions [S, N, A] in one compiled call."""
    act = jax.vmap(_function(policy, trains), (0, None, 0))
    actions: jax.Array = jax.vmap(act)(noise, state, observation)
    return actions


def _function(policy: Learner[S] | Policy[S], trains: bool) -> Callable[..., jax.Array]:
    """Return how to act; NumPy arrays go in and come out of a policy that acts in NumPy."""
    if not trains:
        return policy.policy
    assert isinstance(policy, Learner)
    return policy.act
