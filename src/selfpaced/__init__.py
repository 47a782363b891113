"""Automatic curricula for reinforcement learning over continuous contexts."""

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.errors import SelfpacedError
from selfpaced.experiment import Experiment
from selfpaced.integrations.registration import register_environments
from selfpaced.learners import PPO, SAC, TRPO, EpisodicPolicy
from selfpaced.presets.neurips2020 import neurips2020
from selfpaced.problems import PROBLEMS, Problem
from selfpaced.records import Episodes
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.policies import load_policy
from selfpaced.runs.supervisor import resume, run
from selfpaced.teachers import ALPGMM, SPDL, SPRL, Default, GoalGAN, Random

__version__ = "0.1.0"

register_environments()  # gymnasium.make("selfpaced/PointMass3D-v0")

__all__ = [
    "ALPGMM",
    "PPO",
    "PROBLEMS",
    "SAC",
    "SPDL",
    "SPRL",
    "TRPO",
    "ContextSpace",
    "Default",
    "Episodes",
    "EpisodicPolicy",
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
