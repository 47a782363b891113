"""The ant: Appendices B and C.2 of the SPDL paper, with the deviations that MuJoCo's ant needs.

D1  PPO takes 512 minibatches instead of 4: with few optimiser steps MuJoCo's ant hardly learns to
    walk, and the critic lags behind the returns: its values show half of the difference between
    contexts; SPDL, whose objective is built on these values, then moves to the target too early,
D2  SPDL's zeta is 1.0 instead of 0.4, for the same reason,
D3  SPDL starts after 100 iterations instead of 40, when the critic's values are accurate.
"""

from __future__ import annotations

from dataclasses import replace

from selfpaced.environments.ant_gate import ANT_GATE_CONTEXTS, AntGate
from selfpaced.experiment import Budget
from selfpaced.learners.ppo import PPO
from selfpaced.learners.sac import SAC
from selfpaced.learners.trpo import TRPO
from selfpaced.presets.preset import Preset
from selfpaced.problems import Problem
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.goal_gan import GoalGAN
from selfpaced.teachers.spdl import SPDL

ANT_GATE = Problem(
    name="ant-gate",
    summary="a four-legged ant walks through a gate; context: gate position and width (MuJoCo)",
    environment=AntGate(),
    contexts=ANT_GATE_CONTEXTS,
    discount=0.995,
    figures=("selfpaced.reports.x_position:X_POSITION",),
    presets=(("neurips2020", "selfpaced.presets.ant_gate:NEURIPS2020"),),
)

_BUDGET = Budget(
    iterations=400,
    steps_per_iteration=81_920,
    num_environments=40,
    evaluate_every=20,
    evaluation_episodes=50,
)
_SPDL = SPDL(
    pacing="tradeoff", std_lower_bound=(1.0, 0.5), kl_threshold=11_000.0, update_offset=100
)  # D3

NEURIPS2020 = Preset(
    learners={
        "ppo": PPO(  # D1
            hidden=(64, 64), num_epochs=4, num_minibatches=512, time_outs="terminal"
        ),
        "trpo": TRPO(time_outs="terminal"),  # not in the paper
        "sac": SAC(time_outs="terminal"),  # not in the paper
    },
    budgets={None: _BUDGET, "sac": _BUDGET.with_one_environment()},
    teachers={
        "spdl": {
            "ppo": replace(_SPDL, alpha_offset=15, zeta=1.0),  # D2
            None: _SPDL,
        },
        "alp-gmm": {"ppo": ALPGMM(p_random=0.1, num_rollouts=50, buffer_size=500)},
        "goal-gan": {"ppo": GoalGAN(noise_level=0.05, num_rollouts=125, p_success=0.2)},
    },
    grids={"spdl": {"zeta": (0.4, 0.7, 1.0, 1.3, 1.6)}},
)
