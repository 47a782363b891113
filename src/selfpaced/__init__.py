"""Automatic curricula for reinforcement learning over continuous contexts."""

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.registration import register_environments
from selfpaced.experiment import Experiment
from selfpaced.learners import PPO
from selfpaced.presets import neurips2020
from selfpaced.problems import PROBLEMS, Problem
from selfpaced.records import Episodes
from selfpaced.run import resume, run
from selfpaced.run_folder import RunFolder
from selfpaced.settings import SelfpacedError
from selfpaced.teachers import SPDL, Default, Random

__version__ = "0.1.0"

register_environments()  # gymnasium.make("selfpaced/PointMass3D-v0")

__all__ = [
    "PPO",
    "PROBLEMS",
    "SPDL",
    "ContextSpace",
    "Default",
    "Episodes",
    "Experiment",
    "Gaussian",
    "Problem",
    "Random",
    "RunFolder",
    "SelfpacedError",
    "neurips2020",
    "resume",
    "run",
]
