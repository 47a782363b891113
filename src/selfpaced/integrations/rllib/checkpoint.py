"""Makes a curriculum part of the checkpoints of an RLlib algorithm.

RLlib has no hook on saving, and `on_checkpoint_loaded` is not called by `from_checkpoint`. All ways
to save and restore pass through `get_state` and `set_state` of the algorithm, so these are extended
in the one object at hand. No subclass is needed, and checkpoints have the class of the algorithm.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm

from selfpaced.errors import SelfpacedWarning
from selfpaced.integrations.plain_state import Plain

STATE_KEY = "selfpaced_curriculum"  # in the state of an algorithm


def add_to_checkpoints(
    algorithm: Algorithm, save: Callable[[], Plain], load: Callable[[Plain], None]
) -> None:
    """Add what `save` returns to the state of an algorithm; give it to `load` when it is set."""
    get_state, set_state = algorithm.get_state, algorithm.set_state

    def get_extended(components: Any = None, **kwargs: Any) -> dict[str, Any]:
        state: dict[str, Any] = get_state(components, **kwargs)
        return state if components is not None else {**state, STATE_KEY: save()}

    def set_extended(state: dict[str, Any]) -> None:
        set_state(state)
        if STATE_KEY in state:
            load(state[STATE_KEY])
        else:
            warnings.warn(
                "checkpoint has no curriculum, so the curriculum starts from its beginning",
                SelfpacedWarning,
                stacklevel=2,
            )

    algorithm.get_state, algorithm.set_state = get_extended, set_extended
