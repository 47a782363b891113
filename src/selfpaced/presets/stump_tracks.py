"""Stump Tracks: experiments of TeachMyAgent (Romac et al., ICML 2021).

Deviations from the published settings: teachers listen to success, because returns are discounted
here and undiscounted there; policies train in 20 environments side by side; an evaluation draws 100
contexts of the box instead of a fixed grid of 100.
"""

from __future__ import annotations

from selfpaced.environments.stump_tracks import STUMP_TRACKS_CONTEXTS, StumpTracks
from selfpaced.experiment import Budget
from selfpaced.learners.ppo import PPO
from selfpaced.learners.sac import SAC
from selfpaced.presets.preset import Preset
from selfpaced.problems import Problem
from selfpaced.teachers.adr import ADR
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.currot import CURROT
from selfpaced.teachers.gradient import GRADIENT

STUMP_TRACKS = Problem(
    name="stump-tracks",
    summary="a walker crosses stumps; context: their height and spacing (Box2D)",
    environment=StumpTracks(),
    contexts=STUMP_TRACKS_CONTEXTS,
    discount=0.99,
    presets=(("teachmyagent", "selfpaced.presets.stump_tracks:TEACHMYAGENT"),),
)

_BUDGET = Budget(
    iterations=1000,
    steps_per_iteration=20_000,
    num_environments=20,
    evaluate_every=25,
    evaluation_episodes=100,
)

TEACHMYAGENT = Preset(
    learners={
        "ppo": PPO(
            hidden=(64, 64),
            learning_rate=3e-4,
            num_epochs=5,
            num_minibatches=20,
            gae_lambda=0.95,
        ),
        "sac": SAC(
            hidden=(400, 300),
            learning_rate=1e-3,
            buffer_size=2_000_000,
            batch_size=1000,
            update_every=10,
            activation="relu",
            state_value=False,
            time_outs="bootstrap",
        ),
    },
    budgets={None: _BUDGET, "sac": _BUDGET.with_one_environment()},
    teachers={
        "currot": {
            None: CURROT(
                num_particles=500, num_rollouts=50, threshold=0.5, radius=0.335, signal="success"
            )
        },
        "gradient": {
            None: GRADIENT(
                step=0.05, num_particles=500, num_rollouts=50, threshold=0.5, signal="success"
            )
        },
        "adr": {None: ADR(p_bound=0.7, step=0.033, low=0.0, high=0.5, queue_size=10)},
        "alp-gmm": {None: ALPGMM(p_random=0.05, num_rollouts=150, buffer_size=150)},
    },
)
