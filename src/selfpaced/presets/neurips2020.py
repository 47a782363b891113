"""The paper's settings as data: what `selfpaced train PROBLEM` runs unless told otherwise."""

from __future__ import annotations

from typing import Any

from selfpaced.errors import require
from selfpaced.experiment import Experiment, default_settings, find_class
from selfpaced.learners import LEARNERS, PPO, SAC, TRPO
from selfpaced.problems import find_problem
from selfpaced.teachers import ALPGMM, SPDL, SPRL, TEACHERS, GoalGAN

NUM_SEEDS = 20  # of every experiment in the paper

# Appendix B and C of the paper; what it leaves out is as in its experiments.
_POINT_MASS_LEARNERS: dict[str, Any] = {
    "ppo": PPO(
        hidden=(21,),
        num_epochs=8,
        num_minibatches=32,
        gae_lambda=0.99,
        value_coefficient=1.0,
        max_gradient_norm=None,
    ),
    "trpo": TRPO(hidden=(21,), max_kl=0.004, gae_lambda=0.99, value_learning_rate=0.23921693516),
    "sac": SAC(hidden=(21,), buffer_size=10_000, learning_starts=500, batch_size=64),
}
_LEARNERS: dict[str, dict[str, Any]] = {
    "point-mass-3d": _POINT_MASS_LEARNERS,
    "point-mass-2d": _POINT_MASS_LEARNERS,
    "ball-catching": {
        "ppo": PPO(
            hidden=(64, 64, 64),
            num_epochs=10,
            num_minibatches=25,
            gae_lambda=0.95,
            value_coefficient=1.0,
            max_gradient_norm=None,
        ),
        "trpo": TRPO(hidden=(64, 64, 64), max_kl=0.01, gae_lambda=0.95, value_learning_rate=3e-4),
        "sac": SAC(hidden=(64, 64, 64), buffer_size=100_000, learning_starts=1000, batch_size=512),
    },
    # The paper leaves these at 4 epochs of 4 minibatches, with which MuJoCo's ant hardly learns to
    # walk; with few steps of the optimiser the critic falls behind the returns, sees half of the
    # difference between contexts, and SPDL, which listens to it, hurries to the target.
    "ant-gate": {"ppo": PPO(hidden=(64, 64), num_epochs=4, num_minibatches=512)},
}

# How long: iterations differ between learners, everything else between problems.
_ITERATIONS = {
    ("point-mass-3d", "sac"): 400,
    ("point-mass-2d", "sac"): 400,
    ("ball-catching", None): 500,
    ("ant-gate", None): 400,
}
_BUDGETS: dict[str, dict[str, Any]] = {
    "ball-catching": {
        "steps_per_iteration": 5000,
        "num_environments": 10,  # side by side is faster than the paper's one after the other
        "evaluate_every": 25,
        "evaluation_episodes": 200,
        "initial_policy": "hold",
    },
    "ant-gate": {
        "steps_per_iteration": 81_920,
        "num_environments": 40,
        "evaluate_every": 20,
        "evaluation_episodes": 50,
    },
}

_POINT_MASS_SPDL = {  # N_alpha, zeta
    "trpo": {"alpha_offset": 70, "zeta": 1.6},
    "ppo": {"alpha_offset": 10, "zeta": 1.4},
    "sac": {"alpha_offset": 50, "zeta": 1.2},
}
_SPDL: dict[str, dict[str, dict[str, Any]]] = {
    "point-mass-3d": _POINT_MASS_SPDL,
    "point-mass-2d": _POINT_MASS_SPDL,
    "ball-catching": {
        "trpo": {"alpha_offset": 70, "zeta": 0.4},
        "ppo": {"alpha_offset": 50, "zeta": 0.45},
        "sac": {"alpha_offset": 60, "zeta": 0.6},
    },
    "ball-catching*": {
        "trpo": {"alpha_offset": 0, "zeta": 0.425},
        "ppo": {"alpha_offset": 0, "zeta": 0.45},
        "sac": {"alpha_offset": 0, "zeta": 0.6},
    },
    "ant-gate": {"ppo": {"alpha_offset": 15, "zeta": 1.0}},  # the paper: 0.4, see docs/problems.md
}
_SPDL_OF_PROBLEM: dict[str, dict[str, Any]] = {
    "point-mass-3d": {"std_lower_bound": (0.2, 0.1875, 0.1)},
    "point-mass-2d": {"std_lower_bound": (0.2, 0.1875)},
    "ball-catching": {"window": 100, "start": "target"},
    "ball-catching*": {"window": 100, "start": "initial"},
    # the paper waits for 40 iterations, which is how long its ant needed to be worth listening to
    "ant-gate": {"std_lower_bound": (1.0, 0.5), "kl_threshold": 11_000.0, "update_offset": 100},
}
_SPRL = {"point-mass-3d": 2.0, "point-mass-2d": 1.5}  # zeta
_ALP_GMM = {  # p_RAND, n_ROLLOUT, s_BUFFER
    ("point-mass-3d", "trpo"): (0.1, 100, 1000),
    ("point-mass-3d", "ppo"): (0.1, 100, 500),
    ("point-mass-3d", "sac"): (0.1, 200, 1000),
    ("point-mass-2d", "trpo"): (0.3, 100, 500),
    ("point-mass-2d", "ppo"): (0.2, 100, 500),
    ("point-mass-2d", "sac"): (0.2, 200, 1000),
    ("ball-catching", "trpo"): (0.2, 200, 2000),
    ("ball-catching", "ppo"): (0.3, 200, 2000),
    ("ball-catching", "sac"): (0.3, 200, 1000),
    ("ant-gate", "ppo"): (0.1, 50, 500),
}
_GOAL_GAN = {  # delta_NOISE, n_ROLLOUT, p_SUCCESS
    ("point-mass-3d", "trpo"): (0.05, 200, 0.2),
    ("point-mass-3d", "ppo"): (0.025, 200, 0.1),
    ("point-mass-3d", "sac"): (0.1, 100, 0.1),
    ("point-mass-2d", "trpo"): (0.1, 200, 0.2),
    ("point-mass-2d", "ppo"): (0.1, 200, 0.3),
    ("point-mass-2d", "sac"): (0.025, 50, 0.2),
    ("ball-catching", "trpo"): (0.1, 200, 0.3),
    ("ball-catching", "ppo"): (0.1, 200, 0.3),
    ("ball-catching", "sac"): (0.1, 200, 0.3),
    ("ant-gate", "ppo"): (0.05, 125, 0.2),
}
# Table 1: what an asterisk stands for. Without it SPDL and GoalGAN know no easy contexts to begin
# with, and every policy begins by holding still.
STARRED = {"ball-catching": ("spdl", "goal-gan", "default")}


def neurips2020(
    problem: str,
    teacher: str = "spdl",
    learner: str | None = None,
    seeds: tuple[int, ...] = tuple(range(1, NUM_SEEDS + 1)),
) -> Experiment:
    """The paper's experiment; what the paper did not try gets the class defaults.

    A teacher with an asterisk (or `-star`) is the paper's variant of that name.
    """
    find_problem(problem)  # or say what is wrong with the name
    teacher, variant = _split_variant(problem, teacher)
    teacher_class = find_class("teacher", teacher, TEACHERS)
    learner = learner or default_learner(teacher)
    learner_class = find_class("learner", learner, LEARNERS)
    budget = _BUDGETS.get(problem, {})
    if learner == "sac":
        budget = budget | {"num_environments": 1}  # it learns after every step
    if (teacher, variant) == ("default", "*"):
        budget = budget | {"initial_policy": "random"}
    return Experiment(
        problem=problem,
        teacher=_teachers(problem, variant, learner).get(teacher)
        or default_settings("teacher", teacher_class),
        learner=_LEARNERS.get(problem, {}).get(learner)
        or default_settings("learner", learner_class),
        seeds=seeds,
        iterations=_ITERATIONS.get((problem, learner)) or _ITERATIONS.get((problem, None), 1000),
        variant=variant,
        **budget,
    )


def default_learner(teacher: str) -> str:
    """PPO; but SPRL is its own learner."""
    return "episodic" if teacher == "sprl" else "ppo"


def _split_variant(problem: str, teacher: str) -> tuple[str, str]:
    """The teacher's own name, and the asterisk if there is one."""
    plain = teacher.removesuffix("*").removesuffix("-star")
    if plain == teacher:
        return teacher, ""
    starred = STARRED.get(problem, ())
    have = ", ".join(f"{name}*" for name in starred) or "none"
    require(plain in starred, f"{problem} has these starred teachers: {have}; got {teacher}")
    return plain, "*"


def _teachers(problem: str, variant: str, learner: str) -> dict[str, Any]:
    """The paper's settings of every teacher for one problem and learner, where it has any."""
    found: dict[str, Any] = {}
    settings = _SPDL_OF_PROBLEM.get(problem + variant, {})
    # with a learner that the paper did not try, at least what belongs to the problem
    found["spdl"] = SPDL(**_SPDL.get(problem + variant, {}).get(learner, {}), **settings)
    if (problem, learner) in _ALP_GMM:
        p_random, num_rollouts, buffer_size = _ALP_GMM[problem, learner]
        found["alp-gmm"] = ALPGMM(p_random, num_rollouts, buffer_size)
    if (problem, learner) in _GOAL_GAN:
        noise_level, num_rollouts, p_success = _GOAL_GAN[problem, learner]
        pretrain = problem not in STARRED or variant == "*"
        found["goal-gan"] = GoalGAN(
            noise_level,
            num_rollouts,
            p_success,
            pretrain=pretrain,
            clip_pretraining=variant != "*",
        )
    if learner == "episodic" and problem in _SPRL:
        bound = settings["std_lower_bound"]
        found["sprl"] = SPRL(zeta=_SPRL[problem], std_lower_bound=bound)
    return found
