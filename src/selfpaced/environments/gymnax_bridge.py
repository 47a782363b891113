"""A gymnax environment, or one with the same methods, as an `Environment`.

`step` of gymnax resets an environment that is done by itself, with the parameters of the last
episode. The bridge calls `step_env` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeVar, cast, final

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.environments.gymnasium_actions import ActionBounds
from selfpaced.environments.jax_bridge import JaxBridge, Transition, make_by_name
from selfpaced.errors import SelfpacedError, require
from selfpaced.validation import require_extra

S = TypeVar("S")
P = TypeVar("P")
_METHODS = ("default_params", "reset_env", "step_env", "is_truncated", "action_space")


class Gymnax(Protocol[S, P]):
    """The part of gymnax's interface that the bridge uses (gymnax 1.0)."""

    @property
    def default_params(self) -> P:
        """The parameters that `apply_context` changes."""

    def reset_env(self, key: jax.Array, params: P) -> tuple[jax.Array, S]:
        """Return first observation and state."""

    def step_env(
        self, key: jax.Array, state: S, action: jax.Array, params: P
    ) -> tuple[jax.Array, S, jax.Array, jax.Array, dict[Any, Any]]:
        """Return observation, state, reward, terminated and info; do not reset."""

    def is_truncated(self, state: S, params: P) -> jax.Array:
        """Return whether the time limit of the parameters is reached."""

    def action_space(self, params: P) -> Any:
        """Return a space with `low`, `high` and `shape`, or with a number `n` of choices."""


@final
@dataclass(frozen=True)
class GymnaxEnvironment(JaxBridge[S, P]):
    """A gymnax environment whose parameters depend on the context.

    Actions are bounded as with the default parameters, in every context. They may be discrete.

    Raises:
        SelfpacedError: a setting is out of range; from the other members, gymnax is missing, the
            environment cannot be made, has no time limit, or its actions are neither a vector nor
            discrete.

    Examples:
        >>> from selfpaced.environments.gymnax_bridge import GymnaxEnvironment
        >>> def with_gravity(params, context):
        ...     return params.replace(g=context[0])
        >>> environment = GymnaxEnvironment("Pendulum-v1", with_gravity, context_size=1)
        >>> environment.observation_size, environment.action_low, environment.max_episode_steps
        (4, (-2.0,), 200)
    """

    @property
    def action_low(self) -> tuple[float, ...]:
        """Lower bound of every action component."""
        return _action_bounds(self).low

    @property
    def action_high(self) -> tuple[float, ...]:
        """Upper bound of every action component."""
        return _action_bounds(self).high

    @property
    def has_discrete_actions(self) -> bool:
        """Whether actions are whole numbers."""
        return _action_bounds(self).are_discrete

    @property
    def max_episode_steps(self) -> int:
        """The time limit; at most that of the default parameters."""
        own = getattr(_made(self).default_params, "max_steps_in_episode", None)
        limit = self.time_limit or own
        if limit is None:
            raise SelfpacedError(
                f"time_limit must be set, in steps: the parameters of {self.environment} have no "
                "max_steps_in_episode"
            )
        require(
            own is None or limit <= own,
            f"time_limit must be at most {own}, the max_steps_in_episode of {self.environment}, "
            f"got {limit}",
        )
        return int(limit)

    def _start(self, key: jax.Array, context: jax.Array) -> tuple[S, jax.Array]:
        environment = _made(self)
        params = self.apply_context(environment.default_params, context)
        observation, state = environment.reset_env(key, params)
        return state, observation

    def _advance(
        self, key: jax.Array, state: S, context: jax.Array, action: jax.Array
    ) -> Transition[S]:
        environment = _made(self)
        params = self.apply_context(environment.default_params, context)
        if self.has_discrete_actions:
            action = action.reshape(()).astype(jnp.int32)
        observation, state, reward, terminated, _ = environment.step_env(key, state, action, params)
        truncated = environment.is_truncated(state, params)
        return Transition(state, observation, reward, terminated, truncated)


def _made(bridge: GymnaxEnvironment[S, P]) -> Gymnax[S, P]:
    return cast("Gymnax[S, P]", _make(bridge))


@lru_cache
def _make(bridge: GymnaxEnvironment[Any, Any]) -> object:
    environment: object = bridge.environment
    if isinstance(environment, str):
        gymnax = require_extra("gymnax", "gymnax", "GymnaxEnvironment")
        environment, _ = make_by_name(gymnax.make, environment, **dict(bridge.settings))
    lacking = [name for name in _METHODS if not hasattr(environment, name)]
    require(
        not lacking,
        f"environment must be a name or have the methods of gymnax 1.0; "
        f"{type(environment).__name__} lacks {', '.join(lacking)}",
    )
    return environment


@lru_cache
def _action_bounds(bridge: GymnaxEnvironment[Any, Any]) -> ActionBounds:
    environment = _made(bridge)
    space = environment.action_space(environment.default_params)
    if hasattr(space, "n"):
        return ActionBounds((0.0,), (float(space.n - 1),), are_discrete=True)
    require(
        hasattr(space, "low") and len(space.shape) == 1,
        f"action space of {bridge.environment} must be Discrete or a Box of one dimension, "
        f"got {space}",
    )
    low, high = (
        np.broadcast_to(np.asarray(at, float), space.shape) for at in (space.low, space.high)
    )
    return ActionBounds(tuple(low.tolist()), tuple(high.tolist()), are_discrete=False)
