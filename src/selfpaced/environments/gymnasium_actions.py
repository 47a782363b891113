"""Action spaces of Gymnasium as bounds of components: `Box`, `Discrete` and `MultiDiscrete`."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from selfpaced.errors import SelfpacedError
from selfpaced.records import Array, Spec


class ActionBounds(NamedTuple):
    """Bounds of every component; discrete components are whole numbers, both bounds included."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    are_discrete: bool


def action_bounds(name: str, space: gymnasium.Space[Any]) -> ActionBounds:
    """Return the bounds of the actions of an environment.

    Raises:
        SelfpacedError: the space is none of those that learners support.

    Examples:
        >>> from gymnasium.spaces import Discrete
        >>> from selfpaced.environments.gymnasium_actions import action_bounds
        >>> action_bounds("CartPole-v1", Discrete(2))
        ActionBounds(low=(0.0,), high=(1.0,), are_discrete=True)
    """
    if isinstance(space, Box) and len(space.shape) == 1:
        return ActionBounds(tuple(space.low.tolist()), tuple(space.high.tolist()), False)
    if isinstance(space, Discrete):
        return _whole_numbers(np.array([space.start]), np.array([space.n]))
    if isinstance(space, MultiDiscrete) and len(space.shape) == 1:
        return _whole_numbers(space.start, space.nvec)
    raise SelfpacedError(
        f"action space of {name} must be a Box or MultiDiscrete of one dimension or Discrete, got "
        f"{space}; register an environment that converts it"
    )


def discrete_space(spec: Spec) -> gymnasium.Space[Any]:
    """Return the space of discrete actions; one component alone is `Discrete`."""
    start = np.array(spec.action_low, np.int64)
    if spec.action_size == 1:
        return Discrete(spec.num_choices[0], start=int(start[0]))
    return MultiDiscrete(np.array(spec.num_choices), start=start)


def as_member(space: gymnasium.Space[Any], action: Array) -> Any:
    """Return components [A] as the space has them: `Discrete` has whole numbers, not arrays."""
    return action.item() if isinstance(space, Discrete) else action


def _whole_numbers(start: Array, num: Array) -> ActionBounds:
    low, high = start.astype(float), (start + num - 1).astype(float)
    return ActionBounds(tuple(low.tolist()), tuple(high.tolist()), True)
