"""Problems: an environment with its contexts and its discount."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from typing import Any

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.ant_gate import ANT_GATE_CONTEXTS, AntGate
from selfpaced.environments.ball_catching import BALL_CATCHING_CONTEXTS, BallCatching
from selfpaced.environments.base import Environment, Spec
from selfpaced.environments.host import HostEnvironment
from selfpaced.environments.point_mass import PointMass
from selfpaced.errors import require
from selfpaced.registry import import_object
from selfpaced.validation import require_choice


@dataclass(frozen=True)
class Problem:
    """What is to be learned: the contexts that matter are those of `contexts.target`."""

    name: str
    summary: str
    environment: Any  # an Environment, or a HostEnvironment
    contexts: ContextSpace
    discount: float

    def __post_init__(self) -> None:
        require(
            0.0 < self.discount <= 1.0,
            f"discount must lie in (0, 1], got {self.discount}",
        )
        self._check_environment()
        known = getattr(self.environment, "contexts", None)
        if isinstance(known, ContextSpace):
            self._check_contexts(known)

    @cached_property
    def spec(self) -> Spec:
        """What a learner needs to know."""
        environment = self.environment
        return Spec(
            environment.observation_size,
            environment.action_low,
            environment.action_high,
            self.discount,
        )

    def _check_environment(self) -> None:
        """What is not complete would be taken for something else, and fail somewhere else."""
        environment = self.environment
        kind = HostEnvironment if hasattr(environment, "make") else Environment
        wanted = [name for name in dir(kind) if not name.startswith("_")]
        lacking = [name for name in wanted if getattr_static(environment, name, None) is None]
        require(
            not lacking,
            f"{type(environment).__name__}, the environment of {self.name!r}, lacks "
            f"{', '.join(lacking)}: see docs/add-your-own.md",
        )
        require(
            kind is HostEnvironment or _is_hashable(environment),
            f"{type(environment).__name__}, the environment of {self.name!r}, must be hashable: "
            "make it a frozen dataclass with numbers, strings and tuples",
        )

    def _check_contexts(self, known: ContextSpace) -> None:
        """A simulator of ours would refuse other contexts, as late as a teacher comes to them."""
        require(
            self.contexts.size == known.size and bool(known.contains(self.contexts.box).all()),
            f"{type(self.environment).__name__} is built for {', '.join(known.names)} from "
            f"{known.lower} to {known.upper}: contexts of {self.name!r} have to stay inside, got "
            f"{', '.join(self.contexts.names)} from {self.contexts.lower} to "
            f"{self.contexts.upper}",
        )


def _is_hashable(settings: Any) -> bool:
    try:
        hash(settings)
    except TypeError:
        return False
    return True


# Table 5 of the paper; the bounds are those of Appendix C.1.
POINT_MASS_3D = Problem(
    name="point-mass-3d",
    summary="steer a point mass through a narrow gate; context: gate position, width, friction",
    environment=PointMass(context_size=3),
    contexts=ContextSpace(
        names=("gate_position", "gate_width", "friction"),
        lower=(-4.0, 0.5, 0.0),
        upper=(4.0, 8.0, 4.0),
        initial=Gaussian.diagonal((0.0, 4.25, 2.0), (2.0, 1.875, 1.0)),
        target=Gaussian.diagonal((2.5, 0.5, 0.0), (0.004, 0.00375, 0.002)),
    ),
    discount=0.95,
)
POINT_MASS_2D = Problem(
    name="point-mass-2d",
    summary="the same without friction; context: gate position and width",
    environment=PointMass(context_size=2),
    contexts=ContextSpace(
        names=("gate_position", "gate_width"),
        lower=(-4.0, 0.5),
        upper=(4.0, 8.0),
        initial=Gaussian.diagonal((0.0, 4.25), (2.0, 1.875)),
        target=Gaussian.diagonal((2.5, 0.5), (0.004, 0.00375)),
    ),
    discount=0.95,
)

BALL_CATCHING = Problem(
    name="ball-catching",
    summary="a robot arm catches a ball; context: where the ball passes, and from how far (MuJoCo)",
    environment=BallCatching(),
    contexts=BALL_CATCHING_CONTEXTS,
    discount=0.995,
)
ANT_GATE = Problem(
    name="ant-gate",
    summary="a four-legged ant walks through a gate; context: gate position and width (MuJoCo)",
    environment=AntGate(),
    contexts=ANT_GATE_CONTEXTS,
    discount=0.995,
)

PROBLEMS = {
    problem.name: problem for problem in (POINT_MASS_3D, POINT_MASS_2D, BALL_CATCHING, ANT_GATE)
}


def find_problem(name: str) -> Problem:
    """A problem by its short name, or anybody's as `package.module:PROBLEM`."""
    if ":" not in name:
        require_choice("problem", name, PROBLEMS)
        return PROBLEMS[name]
    found = import_object("problem", name)
    require(
        isinstance(found, Problem),
        f"problem {name!r} should be a selfpaced.Problem, got {type(found).__name__}",
    )
    return found
