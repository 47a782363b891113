"""Automatic curricula for reinforcement learning over continuous contexts.

Names are imported when they are first used, so that `import selfpaced` does not load JAX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from selfpaced.integrations.registration import register_environments

if TYPE_CHECKING:  # `X as X` exports X to type checkers, which do not evaluate __all__
    from selfpaced.contexts import ContextSpace as ContextSpace
    from selfpaced.distributions.gaussian import Gaussian as Gaussian
    from selfpaced.distributions.mixture import Mixture as Mixture
    from selfpaced.distributions.product import Product as Product
    from selfpaced.distributions.samples import Samples as Samples
    from selfpaced.distributions.uniform import Uniform as Uniform
    from selfpaced.errors import SelfpacedError as SelfpacedError
    from selfpaced.errors import SelfpacedWarning as SelfpacedWarning
    from selfpaced.experiment import Experiment as Experiment
    from selfpaced.integrations.curriculum import Curriculum as Curriculum
    from selfpaced.integrations.curriculum_env import CurriculumEnv as CurriculumEnv
    from selfpaced.integrations.curriculum_rows import CurriculumRows as CurriculumRows
    from selfpaced.integrations.curriculum_vector_env import (
        CurriculumVectorEnv as CurriculumVectorEnv,
    )
    from selfpaced.integrations.stable_baselines3.callback import (
        CurriculumCallback as CurriculumCallback,
    )
    from selfpaced.learners.ppo import PPO as PPO
    from selfpaced.learners.sac import SAC as SAC
    from selfpaced.learners.trpo import TRPO as TRPO
    from selfpaced.presets.neurips2020 import neurips2020 as neurips2020
    from selfpaced.problems import Problem as Problem
    from selfpaced.records import Episodes as Episodes
    from selfpaced.registry import LEARNERS as LEARNERS
    from selfpaced.registry import PROBLEMS as PROBLEMS
    from selfpaced.registry import TEACHERS as TEACHERS
    from selfpaced.runs.folder import RunFolder as RunFolder
    from selfpaced.runs.policies import load_policy as load_policy
    from selfpaced.runs.supervisor import resume as resume
    from selfpaced.runs.supervisor import run as run
    from selfpaced.sprl.method import SPRL as SPRL
    from selfpaced.sprl.policy import EpisodicPolicy as EpisodicPolicy
    from selfpaced.sprl.update import EpisodicUpdate as EpisodicUpdate
    from selfpaced.teachers.adr import ADR as ADR
    from selfpaced.teachers.alp_gmm import ALPGMM as ALPGMM
    from selfpaced.teachers.currot import CURROT as CURROT
    from selfpaced.teachers.doraemon import DORAEMON as DORAEMON
    from selfpaced.teachers.fixed import Default as Default
    from selfpaced.teachers.fixed import Random as Random
    from selfpaced.teachers.goal_gan import GoalGAN as GoalGAN
    from selfpaced.teachers.gradient import GRADIENT as GRADIENT
    from selfpaced.teachers.learnability import Learnability as Learnability
    from selfpaced.teachers.plr import PLR as PLR
    from selfpaced.teachers.spdl import SPDL as SPDL
    from selfpaced.teachers.staircase import Staircase as Staircase
    from selfpaced.teachers.threshold_spdl import ThresholdSPDL as ThresholdSPDL
    from selfpaced.training.curriculum_learning import CurriculumLearning as CurriculumLearning

__version__ = "0.1.0"

_PLACES = {
    "ADR": "teachers.adr",
    "ALPGMM": "teachers.alp_gmm",
    "CURROT": "teachers.currot",
    "ContextSpace": "contexts",
    "Curriculum": "integrations.curriculum",
    "CurriculumCallback": "integrations.stable_baselines3.callback",
    "CurriculumEnv": "integrations.curriculum_env",
    "CurriculumLearning": "training.curriculum_learning",
    "CurriculumRows": "integrations.curriculum_rows",
    "CurriculumVectorEnv": "integrations.curriculum_vector_env",
    "DORAEMON": "teachers.doraemon",
    "Default": "teachers.fixed",
    "Episodes": "records",
    "EpisodicPolicy": "sprl.policy",
    "EpisodicUpdate": "sprl.update",
    "Experiment": "experiment",
    "GRADIENT": "teachers.gradient",
    "Gaussian": "distributions.gaussian",
    "GoalGAN": "teachers.goal_gan",
    "LEARNERS": "registry",
    "Learnability": "teachers.learnability",
    "Mixture": "distributions.mixture",
    "PLR": "teachers.plr",
    "PPO": "learners.ppo",
    "PROBLEMS": "registry",
    "Problem": "problems",
    "Product": "distributions.product",
    "Random": "teachers.fixed",
    "RunFolder": "runs.folder",
    "SAC": "learners.sac",
    "SPDL": "teachers.spdl",
    "SPRL": "sprl.method",
    "Samples": "distributions.samples",
    "SelfpacedError": "errors",
    "SelfpacedWarning": "errors",
    "Staircase": "teachers.staircase",
    "TEACHERS": "registry",
    "TRPO": "learners.trpo",
    "ThresholdSPDL": "teachers.threshold_spdl",
    "Uniform": "distributions.uniform",
    "load_policy": "runs.policies",
    "neurips2020": "presets.neurips2020",
    "resume": "runs.supervisor",
    "run": "runs.supervisor",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'selfpaced' has no attribute {name!r}")
    found: object = getattr(import_module(f"selfpaced.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]


register_environments()  # gymnasium.make("selfpaced/PointMass3D-v0")
