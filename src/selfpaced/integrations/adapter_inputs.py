"""Checked inputs of the Gymnasium adapters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array


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


def check_action(action: ArrayLike, size: int, kind: type[np.floating]) -> Array:
    """Return the action as an array of this kind of numbers; called in every step, hence fast."""
    try:
        array = np.asarray(action, kind)
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
    return array
