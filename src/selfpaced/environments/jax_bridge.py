"""Environments of other JAX packages as an `Environment`: what all such bridges share.

The parameters of an episode are a user's function of the package's default parameters and the
context. Three things differ from the loops of those packages:

- episodes never reset by themselves: the package's own auto-reset would start the next episode in
  the context of the last one, and some packages even in the same first state,
- the time limit is counted here, so that time-outs are told from terminations,
- a package whose steps need random keys gets them from a key in the state, which is drawn at reset;
  randomness stays a function of (seed, iteration, purpose).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from selfpaced.environments.base import Step
from selfpaced.errors import SelfpacedError, require
from selfpaced.validation import require_positive, require_setting_pairs

S = TypeVar("S")  # state of the package's environment
P = TypeVar("P")  # parameters that the context changes


class BridgeState(NamedTuple, Generic[S]):
    """State of one episode."""

    inner: S
    context: jax.Array  # [C]
    key: jax.Array  # [2] of the random numbers of all steps
    time: jax.Array  # steps taken


class Transition(NamedTuple, Generic[S]):
    """Outcome of one action, as the package reports it."""

    state: S
    observation: jax.Array  # of any shape
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array  # by the package; the time limit comes on top


@dataclass(frozen=True)
class JaxBridge(ABC, Generic[S, P]):
    """An environment of another package, by its name or as an object.

    Raises:
        SelfpacedError: a setting is out of range; from the other members, the environment cannot be
            made, or its spaces are not supported.
    """

    environment: Hashable
    """name under which the package makes it, or an environment of the package"""
    apply_context: Callable[[P, jax.Array], P]
    """function of the package's default parameters and a context [C]; returns the parameters of an
    episode. It is compiled, so it must be written in JAX"""
    context_size: int
    """number of context components"""
    is_success: Callable[[S, jax.Array], jax.Array] | None = None
    """function of the package's state after a step and the context; whether the step fulfils the
    purpose of the context. None: not reported"""
    shows_context: bool = True
    """append the context to every observation; a policy that does not see it has to guess"""
    time_limit: int | None = None
    """time limit in steps; None: the limit of the package"""
    min_episode_steps: int = 1
    """length of the shortest possible episode; 1 is always safe"""
    settings: tuple[tuple[str, Any], ...] = ()
    """further arguments for making the environment by name, as pairs of name and value"""

    def __post_init__(self) -> None:
        require_positive(self, "context_size", "min_episode_steps")
        require_positive(self, "time_limit", none_allowed=True)
        require_setting_pairs(self, "settings")
        for name in ("apply_context", "is_success"):
            function = getattr(self, name)
            require(
                callable(function) or (function is None and name == "is_success"),
                f"{name} must be a function, got {function!r}",
            )

    @property
    def observation_size(self) -> int:
        """Length of an observation, visible context included."""
        return _observation_size(self)

    @property
    def reports_success(self) -> bool:
        """Whether there is a function that tells success."""
        return self.is_success is not None

    @property
    @abstractmethod
    def action_low(self) -> tuple[float, ...]:
        """Lower bound of every action component."""

    @property
    @abstractmethod
    def action_high(self) -> tuple[float, ...]:
        """Upper bound of every action component."""

    @property
    @abstractmethod
    def max_episode_steps(self) -> int:
        """The time limit."""

    @property
    def noise_size(self) -> int:
        """No normals: packages draw what they need from keys."""
        return 0

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, BridgeState[S]]:
        """Start an episode in this context."""
        key_start, key_steps = jax.random.key_data(jax.random.split(key))
        inner, observation = self._start(key_start, context)
        inner = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf)), inner)
        return (
            self._observe(observation, context),
            BridgeState(inner, context, key_steps, jnp.int32(0)),
        )

    def step(self, noise: jax.Array, state: BridgeState[S], action: jax.Array) -> Step:
        """Apply one action."""
        del noise
        key = jax.random.fold_in(state.key, state.time)
        after = self._advance(key, state.inner, state.context, action)
        # loops in JAX need states of constant types, also where a package assigns a plain 1.0
        inner = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), after.state, state.inner)
        time = state.time + 1
        terminated = jnp.asarray(after.terminated, bool).reshape(())
        over = jnp.asarray(after.truncated, bool).reshape(()) | (time >= self.max_episode_steps)
        success = False if self.is_success is None else self.is_success(inner, state.context)
        return Step(
            state._replace(inner=inner, time=time),
            self._observe(after.observation, state.context),
            reward=_real("reward", after.reward).reshape(()),
            terminated=terminated,
            truncated=over & ~terminated,
            success=jnp.asarray(success, bool).reshape(()),
        )

    @abstractmethod
    def _start(self, key: jax.Array, context: jax.Array) -> tuple[S, jax.Array]:
        """Return the package's first state and observation."""

    @abstractmethod
    def _advance(
        self, key: jax.Array, state: S, context: jax.Array, action: jax.Array
    ) -> Transition[S]:
        """Apply one action in the package's environment, without its auto-reset."""

    def _observe(self, observation: jax.Array, context: jax.Array) -> jax.Array:
        flat = jnp.ravel(_real("observation", observation))
        return jnp.concatenate([flat, context]) if self.shows_context else flat


def _real(what: str, value: jax.Array) -> jax.Array:
    """Return numbers in single precision; JAX would drop an imaginary part with a warning."""
    require(
        not jnp.iscomplexobj(value),
        f"{what} of the environment must be real numbers, got complex ones",
    )
    return jnp.asarray(value, jnp.float32)


def make_by_name(make: Callable[..., Any], name: str, **settings: object) -> Any:
    """Return the environment that a package makes.

    Raises:
        SelfpacedError: the package reports a failure.
    """
    try:
        with jax.ensure_compile_time_eval():  # its arrays outlive the function that is being traced
            return make(name, **settings)
    except Exception as error:  # of the package or of the environment
        given = "".join(f", {key}={value!r}" for key, value in settings.items())
        raise SelfpacedError(
            f"{make.__module__}.{make.__name__}({name!r}{given}) failed with "
            f"{type(error).__name__}: {error}"
        ) from error


@lru_cache
def _observation_size(bridge: JaxBridge[Any, Any]) -> int:
    context = jax.ShapeDtypeStruct((bridge.context_size,), jnp.float32)
    observation, _ = jax.eval_shape(bridge.reset, jax.random.key(0), context)
    return int(observation.shape[0])
