"""The paper's settings as data: what `selfpaced train PROBLEM` runs unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from selfpaced.experiment import Experiment, find_class, name_of
from selfpaced.learners import LEARNERS, PPO, SAC, TRPO
from selfpaced.problems import PROBLEMS
from selfpaced.settings import require, require_choice
from selfpaced.storage import read_json
from selfpaced.teachers import ALPGMM, SPDL, SPRL, TEACHERS, GoalGAN

NUM_SEEDS = 20  # of every experiment in the paper

# Appendix B and C.1 of the paper; what it leaves out is as in its experiments.
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
_ITERATIONS = {"ppo": 1000, "trpo": 1000, "sac": 400}

_STD_LOWER_BOUND = {"point-mass-3d": (0.2, 0.1875, 0.1), "point-mass-2d": (0.2, 0.1875)}
_SPDL = {"trpo": (70, 1.6), "ppo": (10, 1.4), "sac": (50, 1.2)}  # N_alpha, zeta
_SPRL = {"point-mass-3d": 2.0, "point-mass-2d": 1.5}  # zeta
_ALP_GMM = {  # p_RAND, n_ROLLOUT, s_BUFFER
    ("point-mass-3d", "trpo"): (0.1, 100, 1000),
    ("point-mass-3d", "ppo"): (0.1, 100, 500),
    ("point-mass-3d", "sac"): (0.1, 200, 1000),
    ("point-mass-2d", "trpo"): (0.3, 100, 500),
    ("point-mass-2d", "ppo"): (0.2, 100, 500),
    ("point-mass-2d", "sac"): (0.2, 200, 1000),
}
_GOAL_GAN = {  # delta_NOISE, n_ROLLOUT, p_SUCCESS
    ("point-mass-3d", "trpo"): (0.05, 200, 0.2),
    ("point-mass-3d", "ppo"): (0.025, 200, 0.1),
    ("point-mass-3d", "sac"): (0.1, 100, 0.1),
    ("point-mass-2d", "trpo"): (0.1, 200, 0.2),
    ("point-mass-2d", "ppo"): (0.1, 200, 0.3),
    ("point-mass-2d", "sac"): (0.025, 50, 0.2),
}


def neurips2020(
    problem: str,
    teacher: str = "spdl",
    learner: str | None = None,
    seeds: tuple[int, ...] = tuple(range(1, NUM_SEEDS + 1)),
) -> Experiment:
    """The paper's experiment; what the paper did not try gets the class defaults."""
    require_choice("problem", problem, PROBLEMS)
    teacher_class = find_class("teacher", teacher, TEACHERS)
    learner = learner or default_learner(teacher)
    learner_class = find_class("learner", learner, LEARNERS)
    return Experiment(
        problem=problem,
        teacher=_teachers(problem, learner).get(teacher) or teacher_class(),
        learner=_POINT_MASS_LEARNERS.get(learner) or learner_class(),
        seeds=seeds,
        iterations=_ITERATIONS.get(learner, 1000),
    )


def default_learner(teacher: str) -> str:
    """PPO; but SPRL is its own learner."""
    return "episodic" if teacher == "sprl" else "ppo"


def with_preset_files(experiment: Experiment, paths: Sequence[Path]) -> Experiment:
    """The experiment with the settings of the preset files that are meant for it.

    `selfpaced search` writes such files; each is for one problem, teacher and learner.
    """
    for path in paths:
        preset = Experiment.from_dict(read_json(path))
        if _kind(preset) == _kind(experiment):
            experiment = replace(experiment, teacher=preset.teacher, learner=preset.learner)
    return experiment


def require_use(path: Path, experiments: Sequence[Experiment]) -> None:
    """A preset file that fits no experiment is a mistake."""
    preset = Experiment.from_dict(read_json(path))
    require(
        any(_kind(preset) == _kind(experiment) for experiment in experiments),
        f"{path} is a preset for {' + '.join(_kind(preset))}, which is not what is to be run",
    )


def _kind(experiment: Experiment) -> tuple[str, str, str]:
    return (
        experiment.problem,
        name_of(experiment.teacher, TEACHERS),
        name_of(experiment.learner, LEARNERS),
    )


def _teachers(problem: str, learner: str) -> dict[str, Any]:
    """The paper's settings of every teacher for one problem and learner, where it has any."""
    bound = _STD_LOWER_BOUND[problem]
    found: dict[str, Any] = {}
    if learner in _SPDL:
        alpha_offset, zeta = _SPDL[learner]
        found["spdl"] = SPDL(zeta=zeta, alpha_offset=alpha_offset, std_lower_bound=bound)
    if (problem, learner) in _ALP_GMM:
        p_random, num_rollouts, buffer_size = _ALP_GMM[problem, learner]
        found["alp-gmm"] = ALPGMM(p_random, num_rollouts, buffer_size)
    if (problem, learner) in _GOAL_GAN:
        noise_level, num_rollouts, p_success = _GOAL_GAN[problem, learner]
        found["goal-gan"] = GoalGAN(noise_level, num_rollouts, p_success)
    if learner == "episodic":
        found["sprl"] = SPRL(zeta=_SPRL[problem], std_lower_bound=bound)
    return found
