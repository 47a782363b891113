"""Whether a Gymnasium environment uses its context: two short episodes from the same seed."""

from __future__ import annotations

import dataclasses

import numpy as np

from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment, GymnasiumVector
from selfpaced.records import Array

NUM_STEPS = 50


def ignores_context(environment: GymnasiumEnvironment, one: Array, two: Array) -> bool:
    """Return whether two contexts [C] give the same episode, from one seed and the same actions.

    Examples:
        >>> import numpy as np
        >>> from selfpaced.environments.context_probe import ignores_context
        >>> from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
        >>> light, heavy = np.array([0.5]), np.array([2.0])
        >>> ignores_context(GymnasiumEnvironment("Pendulum-v1", hand_over=("m",)), light, heavy)
        False
        >>> ignores_context(GymnasiumEnvironment("Pendulum-v1"), light, heavy)
        True
    """
    bare = dataclasses.replace(environment, append_context=False, in_processes=False)
    num_steps = min(NUM_STEPS, environment.max_episode_steps)
    vector = bare.make(1)
    try:
        paths = [_short_path(vector, context, num_steps) for context in (one, two)]
    finally:
        vector.close()
    return all(map(np.array_equal, *paths))


def _short_path(vector: GymnasiumVector, context: Array, num_steps: int) -> list[Array]:
    """Observations, rewards and ends of the first steps of an episode of random actions."""
    observation, _ = vector.reset(seed=0, options={"context": context[None]})
    vector.action_space.seed(0)
    path = [np.array(observation)]
    for _ in range(num_steps):
        observation, *outcome, _ = vector.step(vector.action_space.sample())
        path += [np.array(observation), np.array(outcome, float)]
    return path
