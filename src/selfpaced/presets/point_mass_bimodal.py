"""The point mass with two gates to master: experiments of CURROT (Klink et al., TPAMI 2024)."""

from __future__ import annotations

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.distributions.mixture import Mixture
from selfpaced.environments.point_mass import PointMass
from selfpaced.experiment import Budget
from selfpaced.learners.ppo import PPO
from selfpaced.presets.point_mass import FIGURES
from selfpaced.presets.preset import Curve, Preset
from selfpaced.problems import Problem
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.currot import CURROT
from selfpaced.teachers.goal_gan import GoalGAN
from selfpaced.teachers.gradient import GRADIENT
from selfpaced.teachers.plr import PLR

POINT_MASS_2D_BIMODAL = Problem(
    name="point-mass-2d-bimodal",
    summary="steer a point mass through a narrow gate on the left or on the right",
    environment=PointMass(context_size=2),
    contexts=ContextSpace(
        names=("gate_position", "gate_width"),
        lower=(-4.0, 0.5),
        upper=(4.0, 8.0),
        initial=Gaussian.diagonal((0.0, 4.25), (2.0, 1.875)),
        target=Mixture(
            (
                Gaussian.diagonal((3.0, 0.5), (0.01, 0.01)),
                Gaussian.diagonal((-3.0, 0.5), (0.01, 0.01)),
            )
        ),
        outside="redraw",
    ),
    discount=0.95,
    figures=FIGURES,
    presets=(("tpami2024", "selfpaced.presets.point_mass_bimodal:TPAMI2024"),),
)

TPAMI2024 = Preset(
    learners={
        "ppo": PPO(
            hidden=(128, 128, 128),
            shared_trunk=True,  # separate networks lose one of the gates after 100 iterations
            learning_rate=3e-4,
            num_epochs=10,
            num_minibatches=32,
            gae_lambda=0.99,
            value_coefficient=1.0,  # theirs is 0.5, of an error that is not halved
            time_outs="terminal",
        )
    },
    budgets={
        None: Budget(iterations=200, steps_per_iteration=4096, evaluation_episodes=100),
    },
    teachers={
        "currot": {None: CURROT(threshold=4.0, radius=0.7, wait=True)},
        "gradient": {None: GRADIENT(step=0.2, threshold=3.0)},
        "plr": {None: PLR(p_replay=0.85, temperature=0.45, staleness=0.15)},
        "alp-gmm": {None: ALPGMM(p_random=0.1, num_rollouts=100, buffer_size=500)},
        "goal-gan": {None: GoalGAN(noise_level=0.1, num_rollouts=200, p_success=0.2)},
    },
    curves={
        "ppo": {
            "currot": (
                Curve(
                    "CURROT, code of 2022",
                    "return",
                    ((30, 2.2), (60, 3.8), (90, 4.8), (120, 5.3), (150, 5.7), (200, 6.0)),
                    reading_error=0.2,
                ),
                Curve(
                    "CURROT, ICML 2022",
                    "return",
                    ((30, 0.8), (60, 2.8), (90, 4.7), (120, 5.5), (150, 5.9), (200, 6.4)),
                    reading_error=0.2,
                ),
            )
        }
    },
)
