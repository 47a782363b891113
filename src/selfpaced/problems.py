"""Problems: an environment with its context space and its discount."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from typing import Any, NamedTuple

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.distributions.base import Distribution
from selfpaced.environments.base import (
    Environment,
    HasContexts,
    HasContextSize,
    HasDiscreteActions,
    HostEnvironment,
)
from selfpaced.errors import require
from selfpaced.records import Array, Spec

AnyStateEnvironment = Environment[Any]


class ProblemSource(NamedTuple):
    """The TOML file that a problem was read from: enough to make it again without the file."""

    file: str
    toml: str  # content of the file


@dataclass(frozen=True)
class Problem:
    """An environment, its context space and its discount; the aim is the return on the target.

    Args:
        name: short name, used in titles and messages.
        summary: one line for `selfpaced list`.
        environment: an `Environment` in JAX, or a `HostEnvironment` simulated outside JAX.
        contexts: the box of contexts, where to start in it, and where to arrive.
        discount: discount factor in (0, 1].
        figures: figures beyond the common ones, each as `module:FIGURE` of a
            `selfpaced.reports.problem_figure.ProblemFigure`.
        presets: published settings, as pairs of a preset's name and `module:PRESET`.
        source: the file that the problem was read from, if it was; saved with an experiment.
        evaluation: contexts to evaluate on; None is the target. A part of the target, for example
            goals that can be reached, if the teacher is not told which part that is.

    Raises:
        SelfpacedError: the environment is incomplete, or its contexts do not fit.

    Examples:
        >>> from selfpaced import ContextSpace, Gaussian, Problem
        >>> from selfpaced.environments.point_mass import PointMass
        >>> contexts = ContextSpace(
        ...     names=("gate_position", "gate_width"),
        ...     lower=(-4.0, 0.5),
        ...     upper=(4.0, 8.0),
        ...     initial=Gaussian.diagonal((0.0, 4.25), (2.0, 1.9)),
        ...     target=Gaussian.diagonal((-2.5, 0.5), (0.1, 0.1)),
        ... )
        >>> Problem("left-gate", "a gate on the left", PointMass(2), contexts, 0.95).is_hosted
        False
    """

    name: str
    summary: str
    environment: AnyStateEnvironment | HostEnvironment
    contexts: ContextSpace
    discount: float
    figures: tuple[str, ...] = ()
    presets: tuple[tuple[str, str], ...] = ()
    source: ProblemSource | None = None
    evaluation: Distribution | None = None

    def __post_init__(self) -> None:
        require(
            0.0 < self.discount <= 1.0,
            f"discount must lie in (0, 1], got {self.discount}",
        )
        self._require_complete_environment()
        require(
            self.evaluation is None or self.evaluation.size == self.contexts.size,
            f"evaluation of {self.name!r} must be a distribution over {self.contexts.size} "
            "components, as its contexts are",
        )
        if isinstance(self.environment, HasContextSize):
            self._require_context_size(self.environment.context_size)
        if isinstance(self.environment, HasContexts):
            self._require_contexts_inside(self.environment.contexts)

    @property
    def is_hosted(self) -> bool:
        """Whether the environment is simulated outside JAX."""
        return isinstance(self.environment, HostEnvironment)

    @property
    def host_environment(self) -> HostEnvironment:
        """The environment of a problem that is simulated outside JAX."""
        assert isinstance(self.environment, HostEnvironment)
        return self.environment

    @property
    def jax_environment(self) -> AnyStateEnvironment:
        """The environment of a problem that is simulated in JAX."""
        assert not isinstance(self.environment, HostEnvironment)
        return self.environment

    @cached_property
    def spec(self) -> Spec:
        """Sizes, bounds and discount that a learner is built from."""
        environment = self.environment
        return Spec(
            environment.observation_size,
            environment.action_low,
            environment.action_high,
            self.discount,
            isinstance(environment, HasDiscreteActions) and environment.has_discrete_actions,
        )

    def sample_evaluation(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] to evaluate on, inside the box."""
        if self.evaluation is None:
            return self.contexts.sample_target(rng, num)
        return self.contexts.draw(rng, self.evaluation, num)

    def _require_complete_environment(self) -> None:
        """An incomplete environment would be taken for one of the other kind."""
        environment = self.environment
        kind = HostEnvironment if hasattr(environment, "make") else Environment
        required = [name for name in dir(kind) if not name.startswith("_")]
        lacking = [name for name in required if getattr_static(environment, name, None) is None]
        require(
            not lacking,
            f"{type(environment).__name__}, the environment of {self.name!r}, lacks "
            f"{', '.join(lacking)}; see `selfpaced.environments.base.{kind.__name__}`",
        )
        require(
            kind is HostEnvironment or _is_hashable(environment),
            f"{type(environment).__name__}, the environment of {self.name!r}, must be hashable; "
            "make it a frozen dataclass with numbers, strings and tuples",
        )

    def _require_context_size(self, size: int) -> None:
        """Raise now: JAX would stretch one number over several components."""
        require(
            self.contexts.size == size,
            f"contexts of {self.name!r} must have {size} components, which "
            f"{type(self.environment).__name__} takes, got {self.contexts.size} "
            f"({', '.join(self.contexts.names)})",
        )

    def _require_contexts_inside(self, known: ContextSpace) -> None:
        """Raise now, not when a teacher first samples a context outside."""
        require(
            self.contexts.size == known.size and bool(known.contains(self.contexts.box).all()),
            f"contexts of {self.name!r} must lie inside {', '.join(known.names)} from "
            f"{known.lower} to {known.upper}, which {type(self.environment).__name__} is built "
            f"for, got {', '.join(self.contexts.names)} from {self.contexts.lower} to "
            f"{self.contexts.upper}",
        )


def _is_hashable(settings: object) -> bool:
    try:
        hash(settings)
    except TypeError:
        return False
    return True
