"""Lunar lander: contexts of SPGL (arXiv 2603.23755), learners as in the RL Zoo.

No paper has all settings of this problem. PPO and SAC have those of the RL Zoo for the continuous
lander, with constant learning rates; the budget is ours, and so are the teachers' settings, which
follow from the success signal alone.
"""

from __future__ import annotations

from selfpaced.environments.lunar_lander import LUNAR_LANDER_CONTEXTS, LunarLander
from selfpaced.experiment import Budget
from selfpaced.learners.ppo import PPO
from selfpaced.learners.sac import SAC
from selfpaced.presets.preset import Preset
from selfpaced.problems import Problem
from selfpaced.teachers.currot import CURROT
from selfpaced.teachers.gradient import GRADIENT

LUNAR_LANDER = Problem(
    name="lunar-lander",
    summary="land between two flags; context: gravity, wind, turbulence (Box2D)",
    environment=LunarLander(),
    contexts=LUNAR_LANDER_CONTEXTS,
    discount=0.999,
    presets=(("rl-zoo", "selfpaced.presets.lunar_lander:RL_ZOO"),),
)

_BUDGET = Budget(
    iterations=150,
    steps_per_iteration=8192,
    num_environments=16,
    evaluate_every=10,
    evaluation_episodes=50,
)

RL_ZOO = Preset(
    learners={
        "ppo": PPO(
            learning_rate=3e-4,
            num_epochs=4,
            num_minibatches=128,
            gae_lambda=0.98,
            entropy_coefficient=0.01,
        ),
        "sac": SAC(
            hidden=(400, 300),
            learning_rate=7.3e-4,
            buffer_size=1_000_000,
            learning_starts=10_000,
            batch_size=256,
            target_rate=0.01,
            activation="relu",
            state_value=False,
            time_outs="bootstrap",
        ),
    },
    budgets={None: _BUDGET, "sac": _BUDGET.with_one_environment()},
    teachers={
        "currot": {None: CURROT(threshold=0.5, signal="success")},
        "gradient": {None: GRADIENT(threshold=0.5, signal="success", start="initial")},
    },
)
