"""The goal maze: sparse goal reaching of CURROT (Klink et al., ICML 2022 and TPAMI 2024).

Deviation from the published experiments: the initial weights of SAC are Glorot's.
"""

from __future__ import annotations

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.distributions.mixture import Mixture
from selfpaced.distributions.uniform import Uniform
from selfpaced.environments.goal_maze import INNER, OUTER, GoalMaze
from selfpaced.experiment import Budget
from selfpaced.learners.sac import SAC
from selfpaced.presets.preset import Curve, Preset
from selfpaced.problems import Problem
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.currot import CURROT
from selfpaced.teachers.goal_gan import GoalGAN
from selfpaced.teachers.gradient import GRADIENT
from selfpaced.teachers.plr import PLR

GOALS = 9.0  # goals lie within ±GOALS, only some of them in the ring
TOLERANCE = 0.05  # of the target
_SIDES = (  # of the ring: left and right in full height, top and bottom between them
    ((-OUTER, -OUTER), (-INNER, OUTER)),
    ((INNER, -OUTER), (OUTER, OUTER)),
    ((-INNER, INNER), (INNER, OUTER)),
    ((-INNER, -OUTER), (INNER, -INNER)),
)
_AREAS = tuple((upper[0] - lower[0]) * (upper[1] - lower[1]) for lower, upper in _SIDES)

GOAL_MAZE = Problem(
    name="goal-maze",
    summary="reach a goal in a square ring, with a sparse reward; context: goal and tolerance",
    environment=GoalMaze(),
    contexts=ContextSpace(
        names=("goal_x", "goal_y", "tolerance"),
        lower=(-GOALS, -GOALS, TOLERANCE),
        upper=(GOALS, GOALS, 18.0),
        initial=Gaussian.diagonal((0.0, 0.0, 10.0), (4.0, 4.0, 5.0)),
        target=Uniform((-GOALS, -GOALS, TOLERANCE), (GOALS, GOALS, TOLERANCE)),
        outside="redraw",
    ),
    discount=0.995,
    presets=(("tpami2024", "selfpaced.presets.goal_maze:TPAMI2024"),),
    evaluation=Mixture(  # goals that can be reached
        tuple(Uniform((*lower, TOLERANCE), (*upper, TOLERANCE)) for lower, upper in _SIDES),
        tuple(area / sum(_AREAS) for area in _AREAS),
    ),
)

TPAMI2024 = Preset(
    learners={
        "sac": SAC(
            hidden=(128, 128, 128),
            learning_rate=3e-4,
            buffer_size=200_000,
            learning_starts=1000,
            batch_size=512,
            time_outs="bootstrap",
            update_every=5,
            activation="relu",
            state_value=False,
        )
    },
    budgets={
        None: Budget(
            iterations=400,
            steps_per_iteration=10_000,
            evaluate_every=10,
            evaluation_episodes=200,
        ),
    },
    teachers={
        "currot": {
            None: CURROT(
                num_particles=500,
                num_rollouts=50,
                threshold=0.8,
                radius=1.2,
                signal="success",
                wait=True,
            )
        },
        "gradient": {
            None: GRADIENT(
                step=0.05, num_particles=500, num_rollouts=50, threshold=0.6, signal="success"
            )
        },
        "plr": {None: PLR(p_replay=0.55, temperature=0.15, staleness=0.45)},
        "alp-gmm": {None: ALPGMM(p_random=0.2, num_rollouts=200, buffer_size=500)},
        "goal-gan": {None: GoalGAN(noise_level=0.1, num_rollouts=200, p_success=0.2)},
    },
    curves={
        "sac": {
            "currot": (
                Curve(
                    "CURROT, code of 2022",
                    "success",
                    ((30, 0.52), (60, 0.75), (90, 0.85), (150, 0.90), (240, 0.95), (390, 0.96)),
                    reading_error=0.03,
                ),
                Curve(
                    "CURROT, ICML 2022",
                    "success",
                    ((30, 0.52), (60, 0.68), (90, 0.77), (150, 0.77), (240, 0.80), (390, 0.80)),
                    reading_error=0.03,
                ),
            )
        }
    },
)
