"""Register every problem with Gymnasium.

Gymnasium dropped its entry-point plugins in version 1.0, so this package must be imported first:
`import selfpaced`, or `gymnasium.make("selfpaced:selfpaced/PointMass3D-v0")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

from selfpaced.registry import PROBLEMS, find_problem

if TYPE_CHECKING:
    from selfpaced.records import Array

GYMNASIUM_IDS = {f"selfpaced/{''.join(name.title().split('-'))}-v0": name for name in PROBLEMS}


def register_environments() -> None:
    """Make every problem known to `gymnasium.make`; a second call changes nothing."""
    for id, problem in GYMNASIUM_IDS.items():
        if id not in gymnasium.registry:
            # No max_episode_steps: our environments have their own time limit, and Gymnasium's
            # wrapper would report a crash in the last step as a time-out as well.
            gymnasium.register(
                id=id,
                entry_point="selfpaced.integrations.registration:make_environment",
                kwargs={"problem": problem},
            )


def make_environment(problem: str, **settings: Any) -> gymnasium.Env[Array, Array]:
    """Return the adapter of a problem: of one in JAX, or of one on the host."""
    if find_problem(problem).is_hosted:
        from selfpaced.integrations.host_adapter import HostAdapter

        return HostAdapter(problem, **settings)
    from selfpaced.integrations.jax_adapter import JaxAdapter

    return JaxAdapter(problem, **settings)
