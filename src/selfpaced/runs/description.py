"""What a run folder says of itself: the content of `experiment.json`."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import platform
from datetime import UTC, datetime
from typing import Any

from selfpaced.errors import require
from selfpaced.experiment import Experiment, as_tuples
from selfpaced.problems import find_problem
from selfpaced.runs.storage import plain


def describe(experiment: Experiment, blocks: list[tuple[int, ...]]) -> dict[str, Any]:
    """Every setting, which seeds run side by side, with what, and since when."""
    for what in ("teacher", "learner", "environment"):
        _require_storable(what, getattr(experiment, what))
    return {
        "experiment": experiment.to_dict(),
        "contexts": _contexts(experiment),
        "blocks": blocks,
        "versions": _versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _require_storable(what: str, settings: Any) -> None:
    """Those who train read their settings from the file, and have to find what was meant."""
    for field in dataclasses.fields(settings) if settings is not None else ():
        value = getattr(settings, field.name)
        try:
            is_same = as_tuples(json.loads(json.dumps(plain(value)))) == as_tuples(value)
        except (TypeError, ValueError):
            is_same = False
        require(
            is_same,
            f"{what} setting {field.name} = {value!r} cannot be kept in a file: settings are "
            "finite numbers, strings, true, false, None, and tuples of them",
        )


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
