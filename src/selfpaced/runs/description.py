"""The content of `experiment.json`."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.distributions.base import Distribution
from selfpaced.errors import require
from selfpaced.experiment import Experiment, as_tuples
from selfpaced.runs.revision import code_of
from selfpaced.runs.storage import Notes, plain

NUM_DRAWS = 64  # that describe a distribution without parameters


def describe(experiment: Experiment, blocks: list[tuple[int, ...]]) -> Notes:
    """Return every setting, the blocks of seeds, code, versions, and the date."""
    for role, settings in (
        *experiment.method.parts.items(),
        ("environment", experiment.environment),
    ):
        _require_storable(role, settings)
    return {
        "experiment": experiment.to_dict(),
        "contexts": _contexts(experiment),
        "blocks": blocks,
        "code": [code_of(experiment)],
        "versions": _versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _require_storable(role: str, settings: Any) -> None:
    """Workers reload the settings from JSON, so every value must survive the round trip."""
    for field in dataclasses.fields(settings) if settings is not None else ():
        value = getattr(settings, field.name)
        try:
            is_same = as_tuples(json.loads(json.dumps(plain(value)))) == as_tuples(value)
        except (TypeError, ValueError):
            is_same = False
        require(
            is_same,
            f"{role} setting {field.name} must be a finite number, string, boolean, None or a "
            f"tuple of them to be saved, got {value!r}",
        )


def _contexts(experiment: Experiment) -> Notes:
    """For tools that do not have our problems."""
    contexts = experiment.resolved.contexts
    return {
        "names": contexts.names,
        "lower": contexts.lower,
        "upper": contexts.upper,
        **{
            role: _distribution(contexts, distribution)
            for role, distribution in (("initial", contexts.initial), ("target", contexts.target))
        },
    }


def _distribution(contexts: ContextSpace, distribution: Distribution) -> Notes:
    """Return the parameters of a Gaussian, draws from any other distribution."""
    if isinstance(distribution, Gaussian):
        return {"mean": distribution.mean, "cholesky": distribution.cholesky}
    drawn = contexts.draw(np.random.default_rng(0), distribution, NUM_DRAWS)
    return {"kind": type(distribution).__name__, "samples": drawn}


def _versions() -> dict[str, str]:
    packages = ("selfpaced", "jax", "jaxlib", "optax", "numpy", "scipy", "mujoco")
    installed = {found.name for found in importlib.metadata.distributions()}
    versions = {name: importlib.metadata.version(name) for name in packages if name in installed}
    return versions | {
        "python": platform.python_version(),
        "machine": platform.platform(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
    }


def _processor() -> str:
    """Return the model, which Python knows on some systems only."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
