"""Settings for a policy rather than a replication: those of a paper with three safeguards.

PPO clips its gradients, SPDL is paced by mastery, and the best policy of an evaluation is kept.
They are ours and not published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from selfpaced.learners.ppo import PPO
from selfpaced.presets.preset import Preset
from selfpaced.teachers.spdl import SPDL

NAME = "robust"
GRADIENT_NORM = 0.5

_SPDL = {"spdl": SPDL()}


def robust(paper: Preset, spdl: Mapping[str, SPDL] = _SPDL) -> Preset:
    """Return the settings of a paper with the safeguards, and without the results of the paper.

    Args:
        paper: settings of the problem.
        spdl: SPDL by name, with an asterisk for a starred variant.

    Examples:
        >>> from selfpaced.presets.neurips2020 import published
        >>> published("point-mass-3d", name="robust").method.learner.max_gradient_norm
        0.5
    """
    ppo = paper.learners["ppo"]
    assert isinstance(ppo, PPO)
    return replace(
        paper,
        learners={**paper.learners, "ppo": replace(ppo, max_gradient_norm=GRADIENT_NORM)},
        budgets={name: replace(budget, keep="best") for name, budget in paper.budgets.items()},
        teachers={**paper.teachers, **{name: {None: one} for name, one in spdl.items()}},
        published={},
        curves={},
    )
