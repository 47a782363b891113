"""Checked inputs of the Gymnasium adapters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array, Spec


def choose_context(
    rng: np.random.Generator, contexts: ContextSpace, options: dict[str, ArrayLike] | None
) -> Array:
    """Return a copy of the context in the options of `reset()`; default: drawn from the target."""
    options = options or {}
    # a misspelt key would silently train on the target
    unknown = sorted(str(key) for key in options if key != "context")
    require(not unknown, f"options of reset() must be 'context', got {', '.join(unknown)}")
    if "context" in options:
        return np.array(contexts.check(options["context"]))
    context: Array = contexts.sample_target(rng, 1)[0]
    return context


def check_action(action: ArrayLike, spec: Spec, kind: type[np.floating]) -> Array:
    """Return the action as an array of this kind of numbers; called in every step, hence fast."""
    size = spec.action_size
    try:
        array = np.asarray(action, kind)
        if spec.has_discrete_actions and not array.shape:
            array = array[None]  # a member of Discrete
    except (TypeError, ValueError) as error:
        raise SelfpacedError(f"action must be {size} numbers, got {action!r}") from error
    if array.shape != (size,):
        raise SelfpacedError(
            f"action must have {size} components, got an array of shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise SelfpacedError(
            f"action must be finite, got {array.tolist()}; check whether the policy has diverged"
        )
    if spec.has_discrete_actions:
        _require_whole(array, spec)
    return array


def _require_whole(action: Array, spec: Spec) -> None:
    fits = (action == np.round(action)) & (action >= spec.action_low) & (action <= spec.action_high)
    if not fits.all():
        raise SelfpacedError(
            f"action must be whole numbers from {list(map(int, spec.action_low))} to "
            f"{list(map(int, spec.action_high))}, got {action.tolist()}"
        )
