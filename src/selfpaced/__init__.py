"""Automatic curricula for reinforcement learning over continuous contexts.

Names are imported when they are first used, so that `import selfpaced` does not load JAX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from selfpaced.integrations.registration import register_environments

if TYPE_CHECKING:
    from selfpaced.contexts import ContextSpace, Gaussian
    from selfpaced.errors import SelfpacedError
    from selfpaced.experiment import Experiment
    from selfpaced.learners.ppo import PPO
    from selfpaced.learners.sac import SAC
    from selfpaced.learners.trpo import TRPO
    from selfpaced.presets.neurips2020 import neurips2020
    from selfpaced.problems import Problem
    from selfpaced.records import Episodes
    from selfpaced.registry import LEARNERS, PROBLEMS, TEACHERS
    from selfpaced.runs.folder import RunFolder
    from selfpaced.runs.policies import load_policy
    from selfpaced.runs.supervisor import resume, run
    from selfpaced.sprl.method import SPRL
    from selfpaced.sprl.policy import EpisodicPolicy
    from selfpaced.sprl.update import EpisodicUpdate
    from selfpaced.teachers.alp_gmm import ALPGMM
    from selfpaced.teachers.fixed import Default, Random
    from selfpaced.teachers.goal_gan import GoalGAN
    from selfpaced.teachers.spdl import SPDL
    from selfpaced.training.curriculum_learning import CurriculumLearning

__version__ = "0.1.0"

_PLACES = {
    "ALPGMM": "teachers.alp_gmm",
    "ContextSpace": "contexts",
    "CurriculumLearning": "training.curriculum_learning",
    "Default": "teachers.fixed",
    "Episodes": "records",
    "EpisodicPolicy": "sprl.policy",
    "EpisodicUpdate": "sprl.update",
    "Experiment": "experiment",
    "Gaussian": "contexts",
    "GoalGAN": "teachers.goal_gan",
    "LEARNERS": "registry",
    "PPO": "learners.ppo",
    "PROBLEMS": "registry",
    "Problem": "problems",
    "Random": "teachers.fixed",
    "RunFolder": "runs.folder",
    "SAC": "learners.sac",
    "SPDL": "teachers.spdl",
    "SPRL": "sprl.method",
    "SelfpacedError": "errors",
    "TEACHERS": "registry",
    "TRPO": "learners.trpo",
    "load_policy": "runs.policies",
    "neurips2020": "presets.neurips2020",
    "resume": "runs.supervisor",
    "run": "runs.supervisor",
}

__all__ = [
    "ALPGMM",
    "LEARNERS",
    "PPO",
    "PROBLEMS",
    "SAC",
    "SPDL",
    "SPRL",
    "TEACHERS",
    "TRPO",
    "ContextSpace",
    "CurriculumLearning",
    "Default",
    "Episodes",
    "EpisodicPolicy",
    "EpisodicUpdate",
    "Experiment",
    "Gaussian",
    "GoalGAN",
    "Problem",
    "Random",
    "RunFolder",
    "SelfpacedError",
    "load_policy",
    "neurips2020",
    "resume",
    "run",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'selfpaced' has no attribute {name!r}")
    found: object = getattr(import_module(f"selfpaced.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]


register_environments()  # gymnasium.make("selfpaced/PointMass3D-v0")
