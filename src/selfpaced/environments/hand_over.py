"""How a context reaches a Gymnasium environment, and how it becomes part of the observation.

A context is handed over in one of three ways, always before or with `reset`:

- `"options"`: `reset(options={"context": context})`,
- a tuple of names: one attribute of the unwrapped environment per component,
- a function of the environment and the context.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias, final

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict
from numpy.typing import ArrayLike

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array
from selfpaced.validation import require_choice

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
HandOver: TypeAlias = Literal["options"] | tuple[str, ...] | Callable[[AnyEnv, Array], object]
CONTEXT_KEY = "context"  # in options of reset, and in observations that are dictionaries


def reset_in_context(
    env: AnyEnv,
    hand_over: HandOver,
    context: Array,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Start an episode in a context; return its first observation and its info.

    Args:
        env: the environment, wrapped or not.
        hand_over: `"options"`, names of attributes of `env.unwrapped`, or a function that is called
            with `env` and the context before the reset.
        context: the context [C].
        seed: the seed for `reset`.
        options: further options for `reset`; with `"options"` the context is added to them.

    Raises:
        SelfpacedError: the environment has no such attribute, or their number is not C.

    Examples:
        >>> import gymnasium, numpy as np
        >>> from selfpaced.environments.hand_over import reset_in_context
        >>> env = gymnasium.make("Pendulum-v1")
        >>> observation, info = reset_in_context(env, ("m", "l"), np.array([2.0, 0.5]), seed=0)
        >>> env.unwrapped.m, env.unwrapped.l
        (2.0, 0.5)
    """
    if hand_over == "options":
        given = {} if options is None else options
        given[CONTEXT_KEY] = context
        return env.reset(seed=seed, options=given)
    if isinstance(hand_over, tuple):
        _set_attributes(env.unwrapped, hand_over, context)
    elif callable(hand_over):
        hand_over(env, context)
    else:
        raise _unknown(hand_over)
    return env.reset(seed=seed, options=options) if options else env.reset(seed=seed)


def require_hand_over(env: AnyEnv, hand_over: HandOver, size: int) -> None:
    """Require that an environment can take contexts of this size in this way.

    Raises:
        SelfpacedError: `reset` has no argument `options`, an attribute is missing or is not a
            number, or the number of attributes is not the number of components.
    """
    if hand_over == "options":
        _require_options(env.unwrapped)
    elif isinstance(hand_over, tuple):
        _require_size(hand_over, size)
        for name in hand_over:
            _require_attribute(env.unwrapped, name)
    elif not callable(hand_over):
        raise _unknown(hand_over)


@final
@dataclass(frozen=True)
class AppendedContext:
    """Adds the context to observations: at the end of a flat one, as an entry of a dictionary.

    Args:
        lower: lower bound of every component.
        upper: upper bound of every component.
        scaled: map the box of contexts to [-1, 1].

    Examples:
        >>> import numpy as np
        >>> from gymnasium.spaces import Box
        >>> from selfpaced.environments.hand_over import AppendedContext
        >>> appended = AppendedContext(lower=(0.0, 0.0), upper=(4.0, 2.0), scaled=True)
        >>> appended.space(Box(-8.0, 8.0, (1,))).high.tolist()
        [8.0, 1.0, 1.0]
        >>> appended.observation(np.array([5.0]), np.array([4.0, 1.0])).tolist()
        [5.0, 1.0, 0.0]
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    scaled: bool = False

    def space(self, observation_space: gymnasium.Space[Any]) -> Box | Dict:
        """Return the space of observations with a context.

        Raises:
            SelfpacedError: the space is neither a flat Box nor a Dict, or has a context already.
        """
        if isinstance(observation_space, Dict):
            require(
                CONTEXT_KEY not in observation_space.spaces,
                f"observation space must have no entry {CONTEXT_KEY!r} to append the context, got "
                "one; do not append it",
            )
            return Dict({**observation_space.spaces, CONTEXT_KEY: self._box(np.float32)})
        if isinstance(observation_space, Box) and len(observation_space.shape) == 1:
            kind = _float_kind(observation_space.dtype)
            added = self._box(kind)
            low = np.concatenate([observation_space.low.astype(kind), added.low])
            high = np.concatenate([observation_space.high.astype(kind), added.high])
            return Box(low, high, dtype=kind)
        raise SelfpacedError(
            "observation space must be a Box of one dimension or a Dict to append the context, got "
            f"{observation_space}; flatten it by gymnasium.wrappers.FlattenObservation"
        )

    def observation(self, observation: Any, context: ArrayLike) -> Any:
        """Return an observation with a context, an array or a dictionary like the one given."""
        added = np.asarray(context, np.float64)
        if self.scaled:
            lower, upper = np.array(self.lower), np.array(self.upper)
            added = 2.0 * (added - lower) / (upper - lower) - 1.0
        if isinstance(observation, dict):
            return {**observation, CONTEXT_KEY: added.astype(np.float32)}
        given = np.asarray(observation)
        return np.concatenate([given, added]).astype(_float_kind(given.dtype))

    def _box(self, kind: type[np.floating]) -> Box:
        low, high = np.array(self.lower), np.array(self.upper)
        if self.scaled:
            low, high = -np.ones_like(low), np.ones_like(high)
        return Box(low.astype(kind), high.astype(kind), dtype=kind)


def _float_kind(dtype: np.dtype[Any] | None) -> type[np.floating]:
    return np.float64 if dtype == np.float64 else np.float32


def _set_attributes(env: AnyEnv, names: tuple[str, ...], context: Array) -> None:
    _require_size(names, len(context))
    for name, value in zip(names, context, strict=True):
        _require_attribute(env, name)
        setattr(env, name, float(value))


def _require_size(names: tuple[str, ...], size: int) -> None:
    require(
        len(names) == size,
        f"hand_over must be one attribute for each of {size} context components, got "
        f"{len(names)}: {', '.join(names)}",
    )


def _require_attribute(env: AnyEnv, name: str) -> None:
    what = f"{name!r} must be an attribute of {type(env).__name__} that holds a number"
    if not hasattr(env, name):
        numbers = [key for key, value in vars(env).items() if isinstance(value, Real)]
        require_choice(f"hand_over attribute of {type(env).__name__}", name, numbers)
    value = getattr(env, name)
    require(
        isinstance(value, Real),
        f"{what}, got {type(value).__name__}; hand the context over by a function",
    )


def _require_options(env: AnyEnv) -> None:
    parameters = inspect.signature(env.reset).parameters.values()
    require(
        any(each.name == "options" or each.kind is each.VAR_KEYWORD for each in parameters),
        f"reset of {type(env).__name__} must take options to receive its context, got "
        f"reset{inspect.signature(env.reset)}; hand the context over by attributes or a function",
    )


def _unknown(hand_over: object) -> SelfpacedError:
    return SelfpacedError(
        "hand_over must be 'options', a tuple of attribute names or a function of environment and "
        f"context, got {hand_over!r}"
    )
