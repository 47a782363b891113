"""Ball catching: Appendices B and C.3 of the SPDL paper.

Starred teachers are those of Table 1 that use the initial distribution: SPDL starts from it,
GoalGAN is pretrained on it. Without the asterisk SPDL starts at the target and GoalGAN is not
pretrained. Every policy first clones standing still, except with Default and an asterisk.
"""

from __future__ import annotations

import dataclasses

from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS, BallCatching
from selfpaced.experiment import Budget
from selfpaced.learners.ppo import PPO
from selfpaced.learners.sac import SAC
from selfpaced.learners.trpo import TRPO
from selfpaced.presets.preset import Preset
from selfpaced.presets.robust import NAME as ROBUST
from selfpaced.presets.robust import robust
from selfpaced.problems import Problem
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.goal_gan import GoalGAN
from selfpaced.teachers.spdl import SPDL
from selfpaced.teachers.threshold_spdl import ThresholdSPDL

BALL_CATCHING = Problem(
    name="ball-catching",
    summary="a robot arm catches a ball; context: where the ball passes, and from how far (MuJoCo)",
    environment=BallCatching(),
    contexts=BALL_CATCHING_CONTEXTS,
    discount=0.995,
    figures=(
        "selfpaced.reports.catching_plane:CATCHING_PLANE",
        "selfpaced.reports.catching_rate:CATCHING_RATE",
    ),
    presets=(
        ("neurips2020", "selfpaced.presets.ball_catching:NEURIPS2020"),
        ("jmlr2021", "selfpaced.presets.ball_catching:JMLR2021"),
        (ROBUST, "selfpaced.presets.ball_catching:ROBUST_CATCHING"),
    ),
)

_BUDGET = Budget(
    iterations=500,
    steps_per_iteration=5000,
    num_environments=10,  # the paper's one after the other would take longer
    evaluate_every=25,
    evaluation_episodes=200,
    initial_policy="hold",
)

NEURIPS2020 = Preset(
    learners={
        "ppo": PPO(
            hidden=(64, 64, 64),
            num_epochs=10,
            num_minibatches=25,
            gae_lambda=0.95,
            value_coefficient=1.0,
            max_gradient_norm=None,
            time_outs="terminal",
        ),
        "trpo": TRPO(
            hidden=(64, 64, 64),
            max_kl=0.01,
            gae_lambda=0.95,
            value_learning_rate=3e-4,
            time_outs="terminal",
        ),
        "sac": SAC(
            hidden=(64, 64, 64),
            buffer_size=100_000,
            learning_starts=1000,
            batch_size=512,
            time_outs="terminal",
        ),
    },
    budgets={None: _BUDGET, "sac": _BUDGET.with_one_environment()},
    starred=("spdl", "goal-gan", "default"),
    initial_policies={"default*": "random"},
    teachers={
        "spdl": {
            "trpo": SPDL(pacing="tradeoff", alpha_offset=70, zeta=0.4, window=100, start="target"),
            "ppo": SPDL(pacing="tradeoff", alpha_offset=50, zeta=0.45, window=100, start="target"),
            "sac": SPDL(pacing="tradeoff", alpha_offset=60, zeta=0.6, window=100, start="target"),
            None: SPDL(pacing="tradeoff", window=100, start="target"),
        },
        "spdl*": {
            "trpo": SPDL(
                pacing="tradeoff", alpha_offset=0, zeta=0.425, window=100, start="initial"
            ),
            "ppo": SPDL(pacing="tradeoff", alpha_offset=0, zeta=0.45, window=100, start="initial"),
            "sac": SPDL(pacing="tradeoff", alpha_offset=0, zeta=0.6, window=100, start="initial"),
            None: SPDL(pacing="tradeoff", window=100, start="initial"),
        },
        "alp-gmm": {
            "trpo": ALPGMM(p_random=0.2, num_rollouts=200, buffer_size=2000),
            "ppo": ALPGMM(p_random=0.3, num_rollouts=200, buffer_size=2000),
            "sac": ALPGMM(p_random=0.3, num_rollouts=200, buffer_size=1000),
        },
        "goal-gan": dict.fromkeys(
            ("trpo", "ppo", "sac"),
            GoalGAN(noise_level=0.1, num_rollouts=200, p_success=0.3, pretrain=False),
        ),
        "goal-gan*": dict.fromkeys(
            ("trpo", "ppo", "sac"),
            GoalGAN(noise_level=0.1, num_rollouts=200, p_success=0.3, clip_pretraining=False),
        ),
    },
    published={  # Table 1
        "trpo": {
            "spdl": (47.0, 2.0),
            "spdl*": (43.3, 2.0),
            "alp-gmm": (39.8, 1.1),
            "goal-gan": (42.5, 1.6),
            "goal-gan*": (45.8, 1.0),
            "default": (21.0, 0.3),
            "default*": (21.2, 0.3),
        },
        "ppo": {
            "spdl": (53.9, 0.4),
            "spdl*": (49.3, 1.4),
            "alp-gmm": (46.5, 0.7),
            "goal-gan": (42.6, 2.7),
            "goal-gan*": (45.9, 1.0),
            "default": (22.1, 0.3),
            "default*": (23.0, 0.7),
        },
    },
    grids={"spdl": {"zeta": (0.3, 0.4, 0.45, 0.5, 0.6)}},
)

JMLR2021 = dataclasses.replace(  # the same settings, and threshold SPDL
    NEURIPS2020,
    teachers={
        **NEURIPS2020.teachers,
        "threshold-spdl": {
            "sac": ThresholdSPDL(threshold=25.0, window=100, signal="return"),
            None: ThresholdSPDL(threshold=42.5, window=100),
        },
    },
    published={},
)

ROBUST_CATCHING = robust(NEURIPS2020, {"spdl": SPDL(start="target"), "spdl*": SPDL()})  # ours
