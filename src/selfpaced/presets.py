"""The paper's settings as data: what `selfpaced train PROBLEM` runs unless told otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from selfpaced.experiment import Experiment, find_class
from selfpaced.learners import LEARNERS, PPO
from selfpaced.problems import PROBLEMS
from selfpaced.settings import require_choice
from selfpaced.teachers import SPDL, TEACHERS

# Appendix B of the paper; the values it leaves out are those of its experiments.
_PPO_POINT_MASS = PPO(
    hidden=(21,),
    num_epochs=8,
    num_minibatches=32,
    gae_lambda=0.99,
    value_coefficient=1.0,
    max_gradient_norm=None,
)
# Table 1 of the appendix: N_alpha, zeta, n_OFFSET, sigma_LB, D_KL_LB
_SPDL_POINT_MASS_PPO = SPDL(
    zeta=1.4,
    alpha_offset=10,
    update_offset=5,
    std_lower_bound=(0.2, 0.1875, 0.1),
    kl_threshold=8000.0,
)

NEURIPS2020: dict[tuple[str, ...], Any] = {
    ("point-mass-3d", "ppo"): _PPO_POINT_MASS,
    ("point-mass-2d", "ppo"): _PPO_POINT_MASS,
    ("point-mass-3d", "ppo", "spdl"): _SPDL_POINT_MASS_PPO,
    ("point-mass-2d", "ppo", "spdl"): replace(_SPDL_POINT_MASS_PPO, std_lower_bound=(0.2, 0.1875)),
}
"""Learners by (problem, learner), teachers by (problem, learner, teacher)."""

NUM_SEEDS = 20  # of every experiment in the paper


def neurips2020(
    problem: str,
    teacher: str = "spdl",
    learner: str = "ppo",
    seeds: tuple[int, ...] = tuple(range(1, NUM_SEEDS + 1)),
) -> Experiment:
    """The paper's experiment; what the paper did not try gets the class defaults."""
    require_choice("problem", problem, PROBLEMS)
    teacher_class = find_class("teacher", teacher, TEACHERS)
    learner_class = find_class("learner", learner, LEARNERS)
    return Experiment(
        problem=problem,
        teacher=NEURIPS2020.get((problem, learner, teacher)) or teacher_class(),
        learner=NEURIPS2020.get((problem, learner)) or learner_class(),
        seeds=seeds,
    )
