"""Choosing actions around a simulator: many calls, each of them about few numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np

from selfpaced.learners.base import ActsInNumPy, Learner, policy_of
from selfpaced.overriding import defined_last
from selfpaced.records import Array


class BlockPolicy:
    """The policies of all seeds as they are now, in training or not."""

    def __init__(self, learner: Learner, learner_state: Any, trains: bool) -> None:
        self._learner, self._state, self._trains = learner, learner_state, trains
        self._host_states: list[Any] | None = None
        plain = ("act",) if trains else ("policy", "act")
        in_numpy = defined_last(type(learner), "host_state", *plain) == "host_state"
        if in_numpy and isinstance(learner, ActsInNumPy):
            state = learner.host_state(learner_state)
            num_seeds = len(jax.tree.leaves(state)[0])
            self._host_states = [_seed_of(state, seed) for seed in range(num_seeds)]

    def __call__(self, noise: Array, observation: Array) -> Array:
        """Actions [S, N, A] of all actors of all seeds."""
        if self._host_states is None:
            who = self._learner, self._trains, self._state
            return np.asarray(act_block(*who, noise, observation))
        act = _choose(self._learner, self._trains)
        action = np.empty_like(noise)
        for seed, state in enumerate(self._host_states):
            action[seed] = act(noise[seed], state, observation[seed])
        return action


@partial(jax.jit, static_argnums=(0, 1))
def act_block(
    learner: Learner, trains: bool, learner_state: Any, noise: jax.Array, observation: jax.Array
) -> jax.Array:
    """Actions [S, N, A] in one compiled call."""
    act = jax.vmap(_choose(learner, trains), (0, None, 0))
    return jax.vmap(act)(noise, learner_state, observation)


def _choose(learner: Learner, trains: bool) -> Any:
    return learner.act if trains else policy_of(learner)


def _seed_of(state: Any, seed: int) -> Any:
    return jax.tree.map(lambda array: array[seed], state)
