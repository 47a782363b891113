"""An experiment: problem x teacher x learner x seeds x budget, and its form as plain data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np

from selfpaced.environments.host import HostEnvironment
from selfpaced.errors import SelfpacedError, require
from selfpaced.learners import LEARNERS, EpisodicPolicy
from selfpaced.learners.base import Learner
from selfpaced.problems import Problem, find_problem
from selfpaced.registry import import_object
from selfpaced.sprl.training import EpisodicTraining
from selfpaced.teachers import SPRL, TEACHERS
from selfpaced.teachers.base import Teacher
from selfpaced.training.host import HostTraining, InitialPolicy
from selfpaced.training.loop import Training
from selfpaced.validation import require_choice, require_positive, require_whole


@dataclass(frozen=True)
class Experiment:
    """Everything that decides the outcome, but for how seeds are split among processes."""

    problem: str  # a name, or anybody's as `package.module:PROBLEM`
    teacher: Teacher | SPRL
    learner: Learner | EpisodicPolicy
    seeds: tuple[int, ...]
    iterations: int = 1000
    steps_per_iteration: int = 2048
    num_environments: int = 1  # per seed
    evaluate_every: int = 5  # iterations
    evaluation_episodes: int = 50
    initial_policy: InitialPolicy = "random"  # or first taught to hold still
    environment: Any = None  # other settings than the problem's own
    variant: str = ""  # tells it from others with the same teacher, as the paper's asterisk does

    def __post_init__(self) -> None:
        for check in (require_positive, require_whole):
            check(self, "iterations", "steps_per_iteration", "num_environments")
            check(self, "evaluate_every", "evaluation_episodes")
        require(
            isinstance(self.seeds, tuple),
            f"seeds wants a tuple of numbers, as (1, 2, 3), got {self.seeds!r}",
        )
        for what in ("teacher", "learner"):
            settings = getattr(self, what)
            require(
                dataclasses.is_dataclass(settings) and not isinstance(settings, type),
                f"{what} wants settings, as SPDL() or PPO(), got {settings!r}",
            )
        are_whole = all(isinstance(seed, int | np.integer) for seed in self.seeds)
        require(
            are_whole
            and len(self.seeds) > 0
            and len(set(self.seeds)) == len(self.seeds)
            and 0 <= min(self.seeds) <= max(self.seeds) < 2**32,
            f"seeds wants different whole numbers from 0 to 2**32 - 1, got {self.seeds}",
        )
        require(
            self.steps_per_iteration % self.num_environments == 0,
            f"steps_per_iteration must be a multiple of num_environments "
            f"({self.num_environments}), got {self.steps_per_iteration}",
        )

        require_choice("initial_policy", self.initial_policy, get_args(InitialPolicy))
        require(
            self.is_hosted or self.initial_policy == "random",
            f"holding still is for robots; initial_policy must be random with {self.problem}",
        )
        own = find_problem(self.problem).environment
        require(
            self.environment is None or type(self.environment) is type(own),
            f"environment wants settings of {type(own).__name__}, got {self.environment!r}",
        )
        if self.environment == own:  # the same experiment as without
            object.__setattr__(self, "environment", None)
        require(
            not self.is_hosted or getattr(self.teacher, "clip_replay", True),
            f"{self.problem} has no contexts outside its box: clip_replay must be true",
        )
        require(
            not (self.is_hosted and isinstance(self.teacher, SPRL)),
            f"SPRL runs on problems simulated in JAX, {self.problem} is not one",
        )
        require(
            isinstance(self.teacher, SPRL) == isinstance(self.learner, EpisodicPolicy),
            "SPRL improves policy and contexts together: teacher sprl and learner episodic go "
            f"with each other only, got {name_of(self.teacher, TEACHERS)} and "
            f"{name_of(self.learner, LEARNERS)}",
        )

    @property
    def evaluation_iterations(self) -> list[int]:
        """After how many iterations the policy is evaluated: before training, and at the end."""
        return sorted({*range(0, self.iterations, self.evaluate_every), self.iterations})

    @property
    def environment_steps(self) -> int:
        """Steps of all seeds together."""
        return self.iterations * self.steps_per_iteration * len(self.seeds)

    @property
    def is_hosted(self) -> bool:
        """Whether the environment is simulated outside JAX."""
        return isinstance(find_problem(self.problem).environment, HostEnvironment)

    @property
    def teacher_name(self) -> str:
        """The teacher and, if this is a variant, its mark."""
        return name_of(self.teacher, TEACHERS) + self.variant

    @property
    def learner_name(self) -> str:
        """The learner."""
        return name_of(self.learner, LEARNERS)

    def resolve_problem(self) -> Problem:
        """The problem, with the settings of this experiment."""
        problem = find_problem(self.problem)
        if self.environment is None:
            return problem
        return dataclasses.replace(problem, environment=self.environment)

    def training(self, seeds: tuple[int, ...]) -> Training:
        """The work on some of the seeds."""
        budget = (self.steps_per_iteration, self.num_environments)
        work = (self.resolve_problem(), self.teacher, self.learner, seeds, *budget)
        # the same face: nobody else has to know which it is
        kind: Any = EpisodicTraining if isinstance(self.teacher, SPRL) else Training
        if self.is_hosted:
            kind = partial(HostTraining, initial_policy=self.initial_policy)
        return kind(*work)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in `experiment.json`."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain["teacher"] = _to_dict(self.teacher, TEACHERS)
        plain["learner"] = _to_dict(self.learner, LEARNERS)
        if self.environment is not None:
            plain["environment"] = dataclasses.asdict(self.environment)
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Experiment:
        """The experiment that `to_dict` described."""
        try:
            settings = dict(plain)
            settings["teacher"] = _from_dict("teacher", plain["teacher"], TEACHERS)
            settings["learner"] = _from_dict("learner", plain["learner"], LEARNERS)
            settings["seeds"] = tuple(plain["seeds"])
            if plain.get("environment") is not None:
                kind = type(find_problem(plain["problem"]).environment)
                environment = {key: as_tuples(value) for key, value in plain["environment"].items()}
                settings["environment"] = kind(**environment)
            return cls(**settings)
        except (KeyError, TypeError) as error:
            raise SelfpacedError(f"this does not describe an experiment: {error}") from error


def seeds_from(first: int, num: int) -> tuple[int, ...]:
    """So many seeds in a row."""
    return tuple(range(first, first + num))


_METHODS = {
    "teacher": ("init", "sample", "update", "distribution", "advice"),
    "learner": ("init", "act", "value", "update", "steps_per_update"),
}


def find_class(what: str, name: str, known: dict[str, type]) -> type:
    """A class by its short name, or anybody's as `package.module:Class`."""
    if ":" not in name:
        require_choice(what, name, known)
        return known[name]
    found = import_object(what, name)
    is_frozen = isinstance(found, type) and dataclasses.is_dataclass(found)
    is_frozen = is_frozen and found.__dataclass_params__.frozen
    require(
        is_frozen,
        f"{what} {name!r} should be a frozen dataclass of settings: write @dataclass(frozen=True) "
        "above the class",
    )
    if not issubclass(found, SPRL | EpisodicPolicy):  # they have methods of their own
        lacking = [method for method in _METHODS[what] if not hasattr(found, method)]
        require(not lacking, f"{what} {name!r} lacks {', '.join(lacking)}")
    return found


def default_settings(what: str, kind: type) -> Any:
    """A teacher or learner as its author has set it."""
    try:
        return kind()
    except TypeError as error:
        raise SelfpacedError(
            f"give all settings of {what} {kind.__name__} defaults: {error}"
        ) from None


def name_of(settings: Any, known: dict[str, type]) -> str:
    """The name under which `find_class` finds the class of these settings."""
    kind = type(settings)
    names = [name for name, candidate in known.items() if candidate is kind]
    return names[0] if names else f"{kind.__module__}:{kind.__qualname__}"


def _to_dict(settings: Any, known: dict[str, type]) -> dict[str, Any]:
    kind = type(settings)
    require(
        kind.__module__ != "__main__",
        f"put {kind.__name__} into a module of its own, where the processes that train find it",
    )
    return {"name": name_of(settings, known)} | dataclasses.asdict(settings)


def _from_dict(what: str, plain: dict[str, Any], known: dict[str, type]) -> Any:
    kind = find_class(what, plain["name"], known)
    return kind(**{key: as_tuples(value) for key, value in plain.items() if key != "name"})


def as_tuples(value: Any) -> Any:
    """JSON knows lists only, settings have to be hashable."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value
