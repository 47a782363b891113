"""Look at a user's Gymnasium environment before training: a context without effect is no use."""

from __future__ import annotations

import numpy as np

from selfpaced.environments.context_probe import NUM_STEPS, ignores_context
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.errors import SelfpacedError
from selfpaced.problems import Problem


def context_advice(problem: Problem) -> str | None:
    """Return a warning if the context of a Gymnasium problem has no effect, None otherwise.

    Raises:
        SelfpacedError: the environment cannot be made, or cannot take its context in this way.
    """
    environment = problem.environment
    if not isinstance(environment, GymnasiumEnvironment):
        return None
    lower, upper = problem.contexts.box
    contexts = (lower + share * (upper - lower) for share in np.array([0.25, 0.75]))
    try:
        is_ignored = ignores_context(environment, *contexts)
    except SelfpacedError:
        raise
    except Exception:  # an error of the environment: the workers report it with file and line
        return None
    if not is_ignored:
        return None
    return (
        f"{environment.id} seems to ignore its context: with another one, {NUM_STEPS} steps from "
        f"the same seed are the same ({_way_out(environment)}; `selfpaced check` looks closer)"
    )


def _way_out(environment: GymnasiumEnvironment) -> str:
    if environment.hand_over == "options":
        return 'use options["context"] in reset, or set hand_over to attributes or a function'
    return "check hand_over"
