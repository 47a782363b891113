"""What callers of a single Gymnasium environment hand in, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array


def choose_context(
    rng: np.random.Generator, contexts: ContextSpace, options: dict[str, Any] | None
) -> Array:
    """The context that the options of `reset()` name, or else one from the target."""
    options = options or {}
    # a misspelt key would silently train on the target instead
    unknown = sorted(str(key) for key in options if key != "context")
    require(not unknown, f"reset() knows one option, 'context', got {', '.join(unknown)}")
    if "context" in options:
        return np.array(contexts.check(options["context"]))  # a copy, should theirs change
    return contexts.sample_target(rng, 1)[0]


def check_action(action: ArrayLike, size: int, kind: type[np.floating]) -> Array:
    """The action as an array of this kind of numbers; called in every step, so it is quick."""
    try:
        array = np.asarray(action, kind)
    except (TypeError, ValueError) as error:
        raise SelfpacedError(f"an action wants {size} numbers, got {action!r}") from error
    if array.shape != (size,):
        raise SelfpacedError(
            f"an action wants {size} components, got an array of shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise SelfpacedError(
            f"an action must be finite, got {array.tolist()} (has the policy diverged?)"
        )
    return array
