"""What a run folder says of itself: the content of `experiment.json`."""

from __future__ import annotations

import importlib.metadata
import platform
from datetime import UTC, datetime
from typing import Any

from selfpaced.experiment import Experiment
from selfpaced.problems import find_problem


def describe(experiment: Experiment, blocks: list[tuple[int, ...]]) -> dict[str, Any]:
    """Every setting, which seeds run side by side, with what, and since when."""
    return {
        "experiment": experiment.to_dict(),
        "contexts": _contexts(experiment),
        "blocks": blocks,
        "versions": _versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _contexts(experiment: Experiment) -> dict[str, Any]:
    """For readers that do not know our problems by name."""
    contexts = find_problem(experiment.problem).contexts
    return {
        "names": contexts.names,
        "lower": contexts.lower,
        "upper": contexts.upper,
        **{
            role: {"mean": gaussian.mean, "cholesky": gaussian.cholesky}
            for role, gaussian in (("initial", contexts.initial), ("target", contexts.target))
        },
    }


def _versions() -> dict[str, str]:
    packages = ("selfpaced", "jax", "jaxlib", "optax", "numpy", "scipy", "mujoco")
    installed = {found.name for found in importlib.metadata.distributions()}
    versions = {name: importlib.metadata.version(name) for name in packages if name in installed}
    return versions | {"python": platform.python_version(), "machine": platform.platform()}
