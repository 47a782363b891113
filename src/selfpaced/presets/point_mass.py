"""The point mass: Table 5, Appendices B and C.1 of the SPDL paper, and the settings of JMLR 2021.

Where a paper's text has no value, settings are those of its published experiments. The JMLR version
(*A Probabilistic Interpretation of Self-Paced Learning with Applications to Reinforcement
Learning*) has the same environments, other networks and budgets, and threshold SPDL; its results
are not known here as numbers.
"""

from __future__ import annotations

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.point_mass import PointMass
from selfpaced.experiment import Budget
from selfpaced.learners.base import AnyLearner
from selfpaced.learners.ppo import PPO
from selfpaced.learners.sac import SAC
from selfpaced.learners.trpo import TRPO
from selfpaced.presets.preset import Preset
from selfpaced.presets.robust import NAME as ROBUST
from selfpaced.presets.robust import robust
from selfpaced.problems import Problem
from selfpaced.sprl.method import SPRL
from selfpaced.sprl.update import EpisodicUpdate
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.base import AnyTeacher
from selfpaced.teachers.goal_gan import GoalGAN
from selfpaced.teachers.spdl import SPDL
from selfpaced.teachers.threshold_spdl import ThresholdSPDL

FIGURES = ("selfpaced.reports.trajectories:TRAJECTORIES",)

POINT_MASS_3D = Problem(
    name="point-mass-3d",
    summary="steer a point mass through a narrow gate; context: gate position, width, friction",
    environment=PointMass(context_size=3),
    contexts=ContextSpace(
        names=("gate_position", "gate_width", "friction"),
        lower=(-4.0, 0.5, 0.0),
        upper=(4.0, 8.0, 4.0),
        initial=Gaussian.diagonal((0.0, 4.25, 2.0), (2.0, 1.875, 1.0)),
        target=Gaussian.diagonal((2.5, 0.5, 0.0), (0.004, 0.00375, 0.002)),
    ),
    discount=0.95,
    figures=FIGURES,
    presets=(
        ("neurips2020", "selfpaced.presets.point_mass:NEURIPS2020_3D"),
        ("jmlr2021", "selfpaced.presets.point_mass:JMLR2021_3D"),
        (ROBUST, "selfpaced.presets.point_mass:ROBUST_3D"),
    ),
)
POINT_MASS_2D = Problem(
    name="point-mass-2d",
    summary="the same without friction; context: gate position and width",
    environment=PointMass(context_size=2),
    contexts=ContextSpace(
        names=("gate_position", "gate_width"),
        lower=(-4.0, 0.5),
        upper=(4.0, 8.0),
        initial=Gaussian.diagonal((0.0, 4.25), (2.0, 1.875)),
        target=Gaussian.diagonal((2.5, 0.5), (0.004, 0.00375)),
    ),
    discount=0.95,
    figures=FIGURES,
    presets=(
        ("neurips2020", "selfpaced.presets.point_mass:NEURIPS2020_2D"),
        ("jmlr2021", "selfpaced.presets.point_mass:JMLR2021_2D"),
        (ROBUST, "selfpaced.presets.point_mass:ROBUST_2D"),
    ),
)

_LEARNERS: dict[str, AnyLearner] = {
    "ppo": PPO(
        hidden=(21,),
        num_epochs=8,
        num_minibatches=32,
        gae_lambda=0.99,
        value_coefficient=1.0,
        max_gradient_norm=None,
        time_outs="terminal",
    ),
    "trpo": TRPO(
        hidden=(21,),
        max_kl=0.004,
        gae_lambda=0.99,
        value_learning_rate=0.23921693516,
        time_outs="terminal",
    ),
    "sac": SAC(
        hidden=(21,), buffer_size=10_000, learning_starts=500, batch_size=64, time_outs="terminal"
    ),
}
_BUDGETS = {None: Budget(), "sac": Budget(iterations=400)}
_STD_3D = (0.2, 0.1875, 0.1)
_STD_2D = (0.2, 0.1875)

NEURIPS2020_3D = Preset(
    learners=_LEARNERS,
    budgets=_BUDGETS,
    teachers={
        "spdl": {
            "trpo": SPDL(pacing="tradeoff", alpha_offset=70, zeta=1.6, std_lower_bound=_STD_3D),
            "ppo": SPDL(pacing="tradeoff", alpha_offset=10, zeta=1.4, std_lower_bound=_STD_3D),
            "sac": SPDL(pacing="tradeoff", alpha_offset=50, zeta=1.2, std_lower_bound=_STD_3D),
            None: SPDL(pacing="tradeoff", std_lower_bound=_STD_3D),
        },
        "alp-gmm": {
            "trpo": ALPGMM(p_random=0.1, num_rollouts=100, buffer_size=1000),
            "ppo": ALPGMM(p_random=0.1, num_rollouts=100, buffer_size=500),
            "sac": ALPGMM(p_random=0.1, num_rollouts=200, buffer_size=1000),
        },
        "goal-gan": {
            "trpo": GoalGAN(noise_level=0.05, num_rollouts=200, p_success=0.2),
            "ppo": GoalGAN(noise_level=0.025, num_rollouts=200, p_success=0.1),
            "sac": GoalGAN(noise_level=0.1, num_rollouts=100, p_success=0.1),
        },
    },
    sprl=SPRL(EpisodicUpdate(zeta=2.0, std_lower_bound=_STD_3D)),
    published={  # Table 1
        "ppo": {
            "spdl": (9.35, 0.1),
            "alp-gmm": (2.34, 0.2),
            "goal-gan": (0.50, 0.0),
            "random": (0.53, 0.0),
            "default": (2.46, 0.0),
        },
        "sac": {
            "spdl": (4.43, 0.7),
            "alp-gmm": (0.96, 0.3),
            "goal-gan": (1.08, 0.4),
            "random": (0.60, 0.1),
            "default": (2.26, 0.0),
        },
    },
)
NEURIPS2020_2D = Preset(
    learners=_LEARNERS,
    budgets=_BUDGETS,
    teachers={
        "spdl": {
            "trpo": SPDL(pacing="tradeoff", alpha_offset=70, zeta=1.6, std_lower_bound=_STD_2D),
            "ppo": SPDL(pacing="tradeoff", alpha_offset=10, zeta=1.4, std_lower_bound=_STD_2D),
            "sac": SPDL(pacing="tradeoff", alpha_offset=50, zeta=1.2, std_lower_bound=_STD_2D),
            None: SPDL(pacing="tradeoff", std_lower_bound=_STD_2D),
        },
        "alp-gmm": {
            "trpo": ALPGMM(p_random=0.3, num_rollouts=100, buffer_size=500),
            "ppo": ALPGMM(p_random=0.2, num_rollouts=100, buffer_size=500),
            "sac": ALPGMM(p_random=0.2, num_rollouts=200, buffer_size=1000),
        },
        "goal-gan": {
            "trpo": GoalGAN(noise_level=0.1, num_rollouts=200, p_success=0.2),
            "ppo": GoalGAN(noise_level=0.1, num_rollouts=200, p_success=0.3),
            "sac": GoalGAN(noise_level=0.025, num_rollouts=50, p_success=0.2),
        },
    },
    sprl=SPRL(EpisodicUpdate(zeta=1.5, std_lower_bound=_STD_2D)),
    published={  # Table 1
        "ppo": {
            "spdl": (9.02, 0.4),
            "alp-gmm": (5.24, 0.4),
            "goal-gan": (1.39, 0.5),
            "random": (1.34, 0.3),
            "default": (2.47, 0.0),
        },
        "sac": {
            "spdl": (4.69, 0.7),
            "alp-gmm": (1.15, 0.4),
            "goal-gan": (0.72, 0.2),
            "random": (0.93, 0.3),
            "default": (2.23, 0.0),
        },
    },
)

_JMLR_LEARNERS: dict[str, AnyLearner] = {
    "ppo": PPO(
        hidden=(64, 64),
        num_epochs=8,
        num_minibatches=32,
        gae_lambda=0.99,
        value_coefficient=1.0,
        max_gradient_norm=None,
        time_outs="terminal",
    ),
    "trpo": TRPO(
        hidden=(64, 64),
        max_kl=0.01,
        gae_lambda=0.99,
        value_learning_rate=3e-4,
        time_outs="terminal",
    ),
    "sac": SAC(
        hidden=(64, 64),
        buffer_size=10_000,
        learning_starts=500,
        batch_size=64,
        update_every=5,
        time_outs="terminal",
    ),
}
_JMLR_GRIDS = {  # without the unlimited buffer of ALP-GMM
    "alp-gmm": {
        "p_random": (0.1, 0.2, 0.3),
        "num_rollouts": (25, 50, 100, 200),
        "buffer_size": (500, 1000, 2000),
    },
    "goal-gan": {
        "noise_level": (0.025, 0.05, 0.1),
        "num_rollouts": (25, 50, 100, 200),
        "p_success": (0.1, 0.2, 0.3),
    },
}


def _jmlr2021(
    std: tuple[float, ...],
    alp_gmm: dict[str | None, AnyTeacher],
    goal_gan: dict[str | None, AnyTeacher],
) -> Preset:
    """Return the preset of one of the two point masses, which differ in few settings."""
    return Preset(
        learners=_JMLR_LEARNERS,
        budgets={None: Budget(iterations=400)},
        teachers={
            "spdl": {
                "trpo": SPDL(pacing="tradeoff", alpha_offset=20, zeta=1.6, std_lower_bound=std),
                "ppo": SPDL(pacing="tradeoff", alpha_offset=10, zeta=1.6, std_lower_bound=std),
                "sac": SPDL(pacing="tradeoff", alpha_offset=25, zeta=1.1, std_lower_bound=std),
                None: SPDL(pacing="tradeoff", std_lower_bound=std),
            },
            "threshold-spdl": {
                "sac": ThresholdSPDL(threshold=3.5, std_lower_bound=std, signal="return"),
                None: ThresholdSPDL(threshold=3.5, std_lower_bound=std),
            },
            "alp-gmm": alp_gmm,
            "goal-gan": goal_gan,
        },
        grids=_JMLR_GRIDS,
    )


JMLR2021_3D = _jmlr2021(
    _STD_3D,
    {
        "trpo": ALPGMM(p_random=0.2, num_rollouts=50, buffer_size=500),
        "ppo": ALPGMM(p_random=0.3, num_rollouts=100, buffer_size=500),
        "sac": ALPGMM(p_random=0.1, num_rollouts=200, buffer_size=500),
    },
    {
        "trpo": GoalGAN(noise_level=0.1, num_rollouts=50, p_success=0.2),
        "ppo": GoalGAN(noise_level=0.025, num_rollouts=100, p_success=0.1),
        "sac": GoalGAN(noise_level=0.1, num_rollouts=100, p_success=0.3),
    },
)
JMLR2021_2D = _jmlr2021(
    _STD_2D,
    {
        "trpo": ALPGMM(p_random=0.2, num_rollouts=200, buffer_size=2000),
        "ppo": ALPGMM(p_random=0.3, num_rollouts=100, buffer_size=500),
        "sac": ALPGMM(p_random=0.2, num_rollouts=200, buffer_size=1000),
    },
    {
        "trpo": GoalGAN(noise_level=0.05, num_rollouts=25, p_success=0.2),
        "ppo": GoalGAN(noise_level=0.1, num_rollouts=50, p_success=0.2),
        "sac": GoalGAN(noise_level=0.05, num_rollouts=25, p_success=0.1),
    },
)

ROBUST_3D, ROBUST_2D = robust(NEURIPS2020_3D), robust(NEURIPS2020_2D)  # ours
