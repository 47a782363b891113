"""Environments of Brax and of MuJoCo Playground as an `Environment`.

Both have the same interface: `reset(key)` and `step(state, action)` with the observation, the
reward and `done` in the state, and a simulated system in an attribute. Their auto-reset wrappers
return to a cached first state, with the system of the last episode. The bridge uses the environment
inside all wrappers.

A simulation that breaks down ends its episode: the last finite observation is kept, and the reward
of the broken step is zero.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, ClassVar, Protocol, TypeVar, final

import jax
import jax.numpy as jnp

from selfpaced.environments.jax_bridge import JaxBridge, Transition, make_by_name
from selfpaced.errors import require
from selfpaced.validation import require_choice, require_extra

BRAX_EPISODE_LENGTH = 1000  # as `brax.envs.create` has it
P = TypeVar("P")


class SimulatedState(Protocol):
    """The part of a state of Brax or Playground that the bridges use."""

    obs: jax.Array | Mapping[str, jax.Array]
    reward: jax.Array
    done: jax.Array


class Simulated(Protocol):
    """The part of an environment of Brax or Playground that the bridges use."""

    @property
    def action_size(self) -> int:
        """Number of action components, each from -1 to 1."""

    @property
    def unwrapped(self) -> Simulated:
        """The environment inside all wrappers."""

    def reset(self, rng: jax.Array) -> SimulatedState:
        """Return the first state."""

    def step(self, state: SimulatedState, action: jax.Array) -> SimulatedState:
        """Return the state after an action."""


@dataclass(frozen=True)
class SimulatedBridge(JaxBridge[SimulatedState, P]):
    """An environment with a system that the context changes."""

    observation_name: str = "state"
    """entry that the policy sees, where an environment observes a dictionary"""

    system_attribute: ClassVar[str]

    @property
    def action_low(self) -> tuple[float, ...]:
        """Minus one: these packages scale actions themselves."""
        return (-1.0,) * _make(self).action_size

    @property
    def action_high(self) -> tuple[float, ...]:
        """One: these packages scale actions themselves."""
        return (1.0,) * _make(self).action_size

    @abstractmethod
    def make_by_name(self, name: str) -> Simulated:
        """Return the environment of this name."""

    def _start(self, key: jax.Array, context: jax.Array) -> tuple[SimulatedState, jax.Array]:
        with self._in_context(context) as environment:
            state = environment.reset(key)
        return state, self._observation(state)

    def _advance(
        self, key: jax.Array, state: SimulatedState, context: jax.Array, action: jax.Array
    ) -> Transition[SimulatedState]:
        del key  # an environment that needs one keeps it in its state
        own = jax.tree.map(lambda leaf: leaf, state)  # steps write into the dictionaries of a state
        with self._in_context(context) as environment:
            after = environment.step(own, action)
        observation = self._observation(after)
        is_finite = jnp.isfinite(observation).all() & jnp.isfinite(after.reward)
        return Transition(
            after,
            jnp.where(is_finite, observation, self._observation(state)),
            reward=jnp.where(is_finite, after.reward, 0.0),
            terminated=(after.done > 0) | ~is_finite,
            truncated=jnp.bool_(False),
        )

    @contextmanager
    def _in_context(self, context: jax.Array) -> Iterator[Simulated]:
        """Yield the environment with the system of a context, while a call of it is traced.

        The object itself is changed, as the packages' own domain randomisation does: environments
        keep bound methods in attributes, which a copy would not redirect.
        """
        environment, name = _make(self), self.system_attribute
        default = getattr(environment, name)
        setattr(environment, name, self.apply_context(default, context))
        try:
            yield environment
        finally:
            setattr(environment, name, default)

    def _observation(self, state: SimulatedState) -> jax.Array:
        if not isinstance(state.obs, Mapping):
            return state.obs
        require_choice("observation_name", self.observation_name, state.obs)
        return state.obs[self.observation_name]


@final
@dataclass(frozen=True)
class BraxEnvironment(SimulatedBridge[P]):
    """A Brax environment whose `brax.System` depends on the context.

    Raises:
        SelfpacedError: a setting is out of range; from the other members, Brax is missing, or the
            environment cannot be made.

    Examples:
        >>> from selfpaced.environments.brax_bridge import BraxEnvironment
        >>> def with_gravity(system, context):
        ...     return system.replace(gravity=context[0] * system.gravity)
        >>> environment = BraxEnvironment(
        ...     "inverted_pendulum", with_gravity, context_size=1, settings=(("backend", "spring"),)
        ... )
        >>> environment.observation_size, environment.action_low, environment.max_episode_steps
        (5, (-1.0,), 1000)
    """

    system_attribute: ClassVar[str] = "sys"

    @property
    def max_episode_steps(self) -> int:
        """The time limit; 1000 by default, as in Brax."""
        return self.time_limit or BRAX_EPISODE_LENGTH

    def make_by_name(self, name: str) -> Simulated:
        """Return the environment of this name, without wrappers."""
        envs = require_extra("brax", "brax.envs", "BraxEnvironment")
        made: Simulated = make_by_name(envs.get_environment, name, **dict(self.settings))
        return made


@final
@dataclass(frozen=True)
class PlaygroundEnvironment(SimulatedBridge[P]):
    """An environment of MuJoCo Playground whose `mjx.Model` depends on the context.

    `settings` overrides the environment's configuration. Its physics runs in JAX (`impl="jax"`)
    unless they say otherwise; Playground's own default requires an NVIDIA GPU. An `action_repeat`
    in the configuration has no effect: it is a setting of Playground's training wrappers.

    Raises:
        SelfpacedError: a setting is out of range; from the other members, Playground is missing, or
            the environment cannot be made.

    Examples:
        >>> from selfpaced.environments.brax_bridge import PlaygroundEnvironment
        >>> def with_gravity(model, context):
        ...     return model.tree_replace({"opt.gravity": context[0] * model.opt.gravity})
        >>> environment = PlaygroundEnvironment("CartpoleBalance", with_gravity, context_size=1)
        >>> environment.observation_size, environment.action_low, environment.max_episode_steps
        (6, (-1.0,), 1000)
    """

    system_attribute: ClassVar[str] = "_mjx_model"

    @property
    def max_episode_steps(self) -> int:
        """The time limit; by default the `episode_length` of the configuration."""
        if self.time_limit is not None:
            return self.time_limit
        require(
            isinstance(self.environment, str),
            "time_limit must be set, in steps, for an environment that is not given by its name",
        )
        default = _default_configuration(str(self.environment)).episode_length
        return int(dict(self.settings).get("episode_length", default))

    def make_by_name(self, name: str) -> Simulated:
        """Return the environment of this name, without wrappers."""
        load = _playground().registry.load
        made: Simulated = make_by_name(load, name, config_overrides=self._overrides(name))
        return made

    def _overrides(self, name: str) -> dict[str, object]:
        in_jax = {"impl": "jax"} if "impl" in _default_configuration(name) else {}
        return in_jax | dict(self.settings)


def _playground() -> ModuleType:
    return require_extra("playground", "mujoco_playground", "PlaygroundEnvironment")


def _default_configuration(name: str) -> Any:
    registry = _playground().registry
    return make_by_name(registry.get_default_config, name)


@lru_cache
def _make(bridge: SimulatedBridge[Any]) -> Simulated:
    environment: Any = bridge.environment
    if isinstance(environment, str):
        return bridge.make_by_name(environment)
    name = bridge.system_attribute
    require(
        all(hasattr(environment, method) for method in ("reset", "step", "action_size")),
        f"environment must be a name or have reset, step and action_size, got {environment!r}",
    )
    inside: Simulated = environment.unwrapped
    require(
        hasattr(inside, name),
        f"environment must keep its system in {name!r}, which {type(inside).__name__} lacks; use "
        "BraxEnvironment for Brax and PlaygroundEnvironment for MuJoCo Playground",
    )
    return inside
