"""A rough lower bound of the memory that a run needs, so that absurd budgets are refused."""

from __future__ import annotations

import os

from selfpaced.errors import require
from selfpaced.experiment import Experiment

_BYTES = 4  # of a number


def require_memory(experiment: Experiment) -> None:
    """Raise `SelfpacedError` if one iteration or evaluation does not fit into this computer."""
    available = _physical_memory()
    spec, num_seeds = experiment.resolved.spec, len(experiment.seeds)
    step = 2 * spec.observation_size + spec.action_size + 3
    steps = experiment.steps_per_iteration * step
    limit = experiment.resolved.environment.max_episode_steps
    evaluation = 2 * experiment.evaluation_episodes * (limit * spec.action_size)
    for name, numbers in (("steps_per_iteration", steps), ("evaluation_episodes", evaluation)):
        needed = numbers * num_seeds * _BYTES
        require(
            needed <= available,
            f"{name} must fit into the memory of {_gigabytes(available)}, got "
            f"{getattr(experiment, name)} for {num_seeds} seeds, which needs over "
            f"{_gigabytes(needed)}; lower it, or run fewer seeds at once",
        )


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def _gigabytes(num: float) -> str:
    return f"{num / 1e9:,.1f} GB"
