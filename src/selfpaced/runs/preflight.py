"""Checks before training: refuse what would fail in every worker before the first one starts."""

from __future__ import annotations

from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.errors import SelfpacedError
from selfpaced.experiment import Experiment
from selfpaced.learners.base import ChecksWorkload
from selfpaced.problems import Problem
from selfpaced.runs.memory import require_memory
from selfpaced.runs.policies import TrainedPolicy
from selfpaced.runs.warm_start import require_start_fits


def require_trainable(experiment: Experiment, start: TrainedPolicy | None = None) -> None:
    """Require that an experiment can be trained on this computer, from this policy.

    Raises:
        SelfpacedError: it does not fit into the memory, the learner cannot be used with the budget
            or the actions, a library of the environment is missing, or the policy does not fit.
    """
    require_memory(experiment)
    problem, learner = experiment.resolved, experiment.method.policy
    if isinstance(learner, ChecksWorkload):
        sizes = experiment.steps_per_iteration, experiment.num_environments
        learner.require_workload(problem.spec, *sizes)
    _require_environment(problem)
    if start is not None:
        require_start_fits(experiment, start)


def _require_environment(problem: Problem) -> None:
    """Make one copy, which imports the environment's libraries."""
    if not problem.is_hosted or isinstance(problem.environment, GymnasiumEnvironment):
        return  # the sizes of a Gymnasium environment were taken from a copy
    try:
        problem.host_environment.make(1).close()
    except SelfpacedError:
        raise
    except Exception:  # an error of a user's environment: the workers report it with file and line
        return
