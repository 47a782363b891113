"""The names under which `gymnasium.make` finds our problems.

Gymnasium dropped its entry-point plugins in version 1.0, so somebody has to import us first:
`import selfpaced`, or `gymnasium.make("selfpaced:selfpaced/PointMass3D-v0")`.
"""

from __future__ import annotations

import gymnasium

from selfpaced.environments.host import HostEnvironment
from selfpaced.problems import PROBLEMS

GYMNASIUM_IDS = {
    "selfpaced/PointMass3D-v0": "point-mass-3d",
    "selfpaced/PointMass2D-v0": "point-mass-2d",
    "selfpaced/BallCatching-v0": "ball-catching",
    "selfpaced/AntGate-v0": "ant-gate",
}
_JAX_FACE = "selfpaced.integrations.jax_adapter:GymnasiumFace"
_HOST_FACE = "selfpaced.integrations.host_adapter:HostFace"


def register_environments() -> None:
    """Tell Gymnasium about every problem; doing so twice changes nothing."""
    for name, problem in GYMNASIUM_IDS.items():
        if name not in gymnasium.registry:
            # No max_episode_steps: our environments keep their own time limit, and Gymnasium's
            # wrapper would call a crash in the last step a time-out as well.
            is_hosted = isinstance(PROBLEMS[problem].environment, HostEnvironment)
            face = _HOST_FACE if is_hosted else _JAX_FACE
            gymnasium.register(id=name, entry_point=face, kwargs={"problem": problem})
