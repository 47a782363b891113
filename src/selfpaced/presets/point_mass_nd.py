"""The point mass with many context components: how teachers scale (Klink et al., TPAMI 2024).

The published target has two modes. The problems without `bimodal` in their name have one, so that
teachers which need Gaussians can be compared, too; their initial distribution is ours.
"""

from __future__ import annotations

import math

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.distributions.mixture import Mixture
from selfpaced.environments.point_mass_nd import PointMassND
from selfpaced.errors import require
from selfpaced.experiment import Budget
from selfpaced.learners.ppo import PPO
from selfpaced.presets.preset import Preset
from selfpaced.problems import Problem
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.currot import CURROT
from selfpaced.teachers.gradient import GRADIENT

LOWER, UPPER = (-4.0, 0.25, 0.25), (4.0, 4.0, 4.0)  # of a position, a left and a right width
TARGET = (3.0, 0.26, 0.26)
TARGET_STD = 0.001
PRESET_SIZES = (6, 12, 24, 48)


def point_mass_nd(size: int, *, bimodal: bool = False) -> Problem:
    """Return the problem with contexts of this size.

    Args:
        size: number of context components, a multiple of 3.
        bimodal: whether the target gates are on both sides, or only on the right.

    Raises:
        SelfpacedError: the size is not a positive multiple of 3.

    Examples:
        >>> from selfpaced.presets.point_mass_nd import point_mass_nd
        >>> point_mass_nd(12).contexts.size
        12
    """
    require(
        size > 0 and size % 3 == 0,
        f"size must be a positive multiple of 3, got {size}; for 2 components use point-mass-2d",
    )
    num_gates = size // 3
    right, left = (_target(num_gates, side) for side in (1.0, -1.0))
    name = f"point-mass-{size}d" + ("-bimodal" if bimodal else "")
    return Problem(
        name=name,
        summary=f"steer a point mass through the narrowest of {num_gates} gates"
        + (", left or right" if bimodal else "")
        + f"; context: {size} numbers",
        environment=PointMassND(num_gates),
        contexts=ContextSpace(
            names=tuple(
                f"{part}_{index + 1}"
                for part in ("position", "left_width", "right_width")
                for index in range(num_gates)
            ),
            lower=_repeat(LOWER, num_gates),
            upper=_repeat(UPPER, num_gates),
            initial=Gaussian.diagonal(
                _repeat((0.0, 3.0, 3.0), num_gates), _repeat((1.0, 0.5, 0.5), num_gates)
            ),
            target=Mixture((right, left)) if bimodal else right,
            outside="redraw",
        ),
        discount=0.95,
        presets=(("tpami2024", f"selfpaced.presets.point_mass_nd:TPAMI2024_{size}D"),)
        if size in PRESET_SIZES
        else (),
    )


def _target(num_gates: int, side: float) -> Gaussian:
    position, *widths = TARGET
    mean = _repeat((side * position, *widths), num_gates)
    return Gaussian.diagonal(mean, (TARGET_STD,) * len(mean))


def _repeat(values: tuple[float, ...], num: int) -> tuple[float, ...]:
    return tuple(value for value in values for _ in range(num))


def _preset(size: int) -> Preset:
    widths = zip(LOWER, UPPER, strict=True)
    diagonal = math.sqrt(size / 3 * sum((upper - lower) ** 2 for lower, upper in widths))
    return Preset(
        learners={
            "ppo": PPO(
                hidden=(128, 128, 128),
                learning_rate=3e-4,
                num_epochs=10,
                num_minibatches=32,
                gae_lambda=0.99,
                time_outs="terminal",
                shared_trunk=True,
            )
        },
        budgets={None: Budget(iterations=200, steps_per_iteration=4096, evaluation_episodes=100)},
        teachers={
            "currot": {None: CURROT(threshold=4.0, radius=round(0.05 * diagonal, 2), wait=True)},
            "gradient": {None: GRADIENT(step=0.2, threshold=3.0)},
            "alp-gmm": {None: ALPGMM(p_random=0.1, num_rollouts=100, buffer_size=500)},
        },
    )


TPAMI2024_6D, TPAMI2024_12D, TPAMI2024_24D, TPAMI2024_48D = map(_preset, PRESET_SIZES)

POINT_MASS_6D = point_mass_nd(6)
POINT_MASS_12D = point_mass_nd(12)
POINT_MASS_24D = point_mass_nd(24)
POINT_MASS_48D = point_mass_nd(48)
POINT_MASS_6D_BIMODAL = point_mass_nd(6, bimodal=True)
POINT_MASS_12D_BIMODAL = point_mass_nd(12, bimodal=True)
POINT_MASS_24D_BIMODAL = point_mass_nd(24, bimodal=True)
POINT_MASS_48D_BIMODAL = point_mass_nd(48, bimodal=True)
