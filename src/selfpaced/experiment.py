"""An experiment: problem, method, seeds and budget, and its form as plain data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.learners.base import Learner
from selfpaced.problems import Problem, ProblemSource
from selfpaced.registry import (
    LEARNERS,
    PROBLEMS,
    TEACHERS,
    default_settings,
    find_problem,
    find_settings,
    require_importable,
    restore_problem,
)
from selfpaced.sprl.method import SPRL
from selfpaced.sprl.policy import EpisodicPolicy
from selfpaced.sprl.update import EpisodicUpdate
from selfpaced.teachers.base import Teacher
from selfpaced.training.curriculum_learning import (
    CurriculumLearning,
    InitialPolicy,
    WrapTeachers,
)
from selfpaced.training.loop import AnyLoop
from selfpaced.validation import (
    require_choice,
    require_members,
    require_positive,
    require_setting_types,
    require_whole,
)

Method = CurriculumLearning | SPRL
Keep = Literal["last", "best"]  # policy of each seed
Plain = dict[str, Any]  # as JSON has it

_FORMER = {"spdl": {"pacing": "tradeoff"}}  # settings of files from before these existed
# beyond what any computer can do; smaller mistakes are found when the memory is estimated
_MOST = {
    "iterations": 10**8,
    "steps_per_iteration": 10**8,
    "num_environments": 10**5,
    "evaluation_episodes": 10**6,
}

SPRL_NAMES = {"teacher": SPRL().teacher_name, "learner": SPRL().learner_name}
DEFAULT_LEARNER = "ppo"


@dataclass(frozen=True)
class Budget:
    """How long to train and how often to evaluate."""

    iterations: int = 1000
    """number of updates of teacher and learner"""
    steps_per_iteration: int = 2048
    """environment steps of each seed per iteration"""
    num_environments: int = 1
    """environments per seed"""
    evaluate_every: int = 5
    """iterations between evaluations on the target"""
    evaluation_episodes: int = 50
    """episodes per evaluation and seed"""
    initial_policy: InitialPolicy = "random"
    """"random" starts from the learner's initial policy, "hold" from one that has cloned standing
    still (host environments only)"""
    keep: Keep = "last"
    """"last" keeps the policy after the last iteration, "best" the one with the highest return in
    an evaluation, which is then evaluated in fresh episodes"""

    def with_one_environment(self) -> Budget:
        """Return the same budget for a learner that updates after every step."""
        return dataclasses.replace(self, num_environments=1)


@dataclass(frozen=True)
class Experiment:
    """Everything that determines the outcome, except how seeds are split into blocks.

    Args:
        problem: a short name from `selfpaced list`, a user's as `package.module:PROBLEM` or
            `FILE.toml`, or a `Problem`. A registered one is stored by its name, one from a file
            with the content of the file; another one, made in a notebook for example, can be
            trained in this process with `training` but not with `run`.
        method: `CurriculumLearning(teacher, learner)` or `SPRL()`.
        seeds: different whole numbers; each is an independent repetition.
        iterations: number of updates of teacher and learner.
        steps_per_iteration: environment steps of each seed per iteration.
        num_environments: environments per seed.
        evaluate_every: iterations between evaluations on the target.
        evaluation_episodes: episodes per evaluation and seed.
        initial_policy: "random", or "hold" to clone standing still first (host environments only).
        keep: "last" keeps the policy of each seed after the last iteration, "best" the one with the
            highest return in an evaluation, which is then evaluated in fresh episodes.
        environment: other settings of the problem's environment; None keeps its own.
        variant: mark that tells it from others with the same teacher, as the paper's asterisk.

    Raises:
        SelfpacedError: a setting is wrong, or the parts do not fit each other.

    Examples:
        >>> from selfpaced import PPO, SPDL, CurriculumLearning, Experiment
        >>> method = CurriculumLearning(SPDL(zeta=1.2), PPO())
        >>> Experiment("point-mass-2d", method, seeds=(1, 2), iterations=10).environment_steps
        40960
    """

    problem: str | Problem
    method: Method
    seeds: tuple[int, ...]
    iterations: int = 1000
    steps_per_iteration: int = 2048
    num_environments: int = 1
    evaluate_every: int = 5
    evaluation_episodes: int = 50
    initial_policy: InitialPolicy = "random"
    keep: Keep = "last"
    environment: object | None = None
    variant: str = ""
    resolved: Problem = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for check in (require_positive, require_whole):
            check(self, "iterations", "steps_per_iteration", "num_environments")
            check(self, "evaluate_every", "evaluation_episodes")
        require(
            isinstance(self.method, CurriculumLearning | SPRL),
            f"method must be CurriculumLearning(teacher, learner) or SPRL(), got {self.method!r}",
        )
        self._require_seeds()
        require_choice("keep", self.keep, get_args(Keep))
        for name, most in _MOST.items():
            value = getattr(self, name)
            require(value <= most, f"{name} must be at most {most}, got {value}")
        problem = self._find_problem()
        require(
            self.environment is None or type(self.environment) is type(problem.environment),
            f"environment must be settings of {type(problem.environment).__name__}, got "
            f"{self.environment!r}",
        )
        if self.environment == problem.environment:  # the same experiment as without
            object.__setattr__(self, "environment", None)
        if self.environment is not None:
            problem = dataclasses.replace(problem, environment=self.environment)  # type: ignore[arg-type]
        object.__setattr__(self, "resolved", problem)
        self.method.require_fits(problem, *self._workload)

    def _find_problem(self) -> Problem:
        if not isinstance(self.problem, Problem):
            require(
                isinstance(self.problem, str),
                f"problem must be a name or a Problem, got {type(self.problem).__name__}",
            )
            found = find_problem(self.problem)
            if found.source is not None:  # from now on independent of its file
                object.__setattr__(self, "problem", found)
            return found
        problem = self.problem
        if PROBLEMS.get(problem.name) is problem:  # the same experiment as with the name
            object.__setattr__(self, "problem", problem.name)
        return problem

    def _require_seeds(self) -> None:
        require(
            isinstance(self.seeds, tuple)
            and len(self.seeds) > 0
            and all(isinstance(seed, int | np.integer) for seed in self.seeds)
            and len(set(self.seeds)) == len(self.seeds)
            and 0 <= min(self.seeds) <= max(self.seeds) < 2**32,
            "seeds must be a tuple of different whole numbers from 0 to 2**32 - 1, as (1, 2, 3), "
            f"got {self.seeds!r}",
        )

    @property
    def evaluation_iterations(self) -> list[int]:
        """Iterations after which the policy is evaluated: the first is 0, before training."""
        return sorted({*range(0, self.iterations, self.evaluate_every), self.iterations})

    def evaluates_after(self, iteration: int) -> bool:
        """Return whether the policy is evaluated after an iteration."""
        return iteration % self.evaluate_every == 0 or iteration == self.iterations

    @property
    def environment_steps(self) -> int:
        """Steps of all seeds together."""
        return self.iterations * self.steps_per_iteration * len(self.seeds)

    @property
    def budget(self) -> Budget:
        """How long to train and how often to evaluate."""
        names = (field.name for field in dataclasses.fields(Budget))
        return Budget(**{name: getattr(self, name) for name in names})

    @property
    def problem_name(self) -> str:
        """Name of the problem: the one under which it is found, or its own."""
        return self.problem.name if isinstance(self.problem, Problem) else self.problem

    @property
    def teacher_name(self) -> str:
        """Name of the teacher with the mark of its variant."""
        return self.method.teacher_name + self.variant

    @property
    def learner_name(self) -> str:
        """Name of the learner."""
        return self.method.learner_name

    def with_parts(self, **parts: object) -> Experiment:
        """Return the experiment with another teacher or learner.

        Examples:
            >>> from selfpaced import SPDL, neurips2020
            >>> neurips2020("point-mass-3d").with_parts(teacher=SPDL(zeta=2.0)).method.teacher.zeta
            2.0
        """
        return dataclasses.replace(self, method=make_method(self.method.parts | parts))

    def training(
        self, seeds: tuple[int, ...], wrap_teachers: WrapTeachers = lambda teachers: teachers
    ) -> AnyLoop:
        """Return the loop that trains some of the seeds; close it after use."""
        return self.method.training(self.resolved, seeds, *self._workload, wrap_teachers)

    @property
    def _workload(self) -> tuple[int, int, InitialPolicy]:
        return self.steps_per_iteration, self.num_environments, self.initial_policy

    def to_dict(self) -> Plain:
        """Return plain data, as in `experiment.json`.

        Raises:
            SelfpacedError: the problem or a part cannot be imported by worker processes.
        """
        parts: Plain = {
            role: _part_to_dict(self._part_name(role), settings)
            for role, settings in self.method.parts.items()
        }
        plain: Plain = {"problem": self._problem_to_plain(), **parts, "seeds": self.seeds}
        plain |= dataclasses.asdict(self.budget)
        environment: Any = self.environment
        plain["environment"] = None if environment is None else dataclasses.asdict(environment)
        return plain | {"variant": self.variant}

    def _problem_to_plain(self) -> str | Plain:
        if isinstance(self.problem, str):
            return self.problem
        source = self.problem.source
        if source is None:
            raise SelfpacedError(
                "problem must be named to be saved or run by worker processes, got the object "
                f"{self.problem_name!r}; put it into a module and name it module:PROBLEM"
            )
        return source._asdict()

    def _part_name(self, role: str) -> str:
        return self.method.teacher_name if role == "teacher" else self.method.learner_name

    @classmethod
    def from_dict(cls, plain: Plain) -> Experiment:
        """Return the experiment that `to_dict` described.

        Raises:
            SelfpacedError: this is not the description of an experiment.
        """
        try:
            settings = dict(plain)
            for name in (*SPRL_NAMES, "problem", "seeds"):
                require(
                    name in settings,
                    f"this does not describe an experiment: {name!r} must be given, got "
                    f"{', '.join(settings)}",
                )
            parts = {role: settings.pop(role) for role in SPRL_NAMES}
            settings["method"] = make_method(
                {role: _part_from_dict(role, part) for role, part in parts.items()}
            )
            settings["seeds"] = tuple(plain["seeds"])
            require_setting_types(Budget, settings)
            require_members("an experiment", settings, {}, {"variant": str})
            for name in settings:
                require_choice("member of an experiment", name, _field_names(cls))
            require(
                isinstance(plain["problem"], str | dict),
                "problem must be a name or the content of a problem file, got "
                f"{plain['problem']!r}",
            )
            if isinstance(plain["problem"], dict):
                settings["problem"] = restore_problem(ProblemSource(**plain["problem"]))
            problem = settings["problem"]
            found = problem if isinstance(problem, Problem) else find_problem(problem)
            if plain.get("environment") is not None:
                settings["environment"] = _make_settings(
                    type(found.environment), plain["environment"]
                )
            for environment in (found.environment, settings.get("environment")):
                if ":" in str(getattr(environment, "id", "")):  # Gymnasium imports the module
                    require_importable("environment", str(getattr(environment, "id", "")))
            return cls(**settings)
        except SelfpacedError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise SelfpacedError(
                f"this does not describe an experiment: {type(error).__name__}: {error}"
            ) from error


def make_method(parts: dict[str, object]) -> Method:
    """Return the method that a teacher and a learner make, or the two parts of SPRL."""
    teacher, learner = parts["teacher"], parts["learner"]
    if isinstance(teacher, EpisodicUpdate) and isinstance(learner, EpisodicPolicy):
        return SPRL(teacher, learner)
    are_mixed = isinstance(teacher, EpisodicUpdate) or isinstance(learner, EpisodicPolicy)
    require(
        not are_mixed,
        "teacher sprl and learner episodic require each other, because SPRL improves policy and "
        f"contexts jointly; got {type(teacher).__name__} and {type(learner).__name__}",
    )
    return CurriculumLearning(teacher, learner)  # type: ignore[arg-type]  # it checks them


def find_part(role: str, name: str) -> type:
    """Return the class of a teacher or learner by its name, the parts of SPRL included."""
    if name == SPRL_NAMES[role]:
        return EpisodicUpdate if role == "teacher" else EpisodicPolicy
    require_known(role, name)
    if role == "teacher":
        return find_settings(TEACHERS, name, Teacher)
    return find_settings(LEARNERS, name, Learner)


def own_learner(teacher: str) -> str | None:
    """Return the learner that a method brings along; None for a teacher, which takes any."""
    return SPRL_NAMES["learner"] if teacher == SPRL_NAMES["teacher"] else None


def require_known(role: str, name: str) -> None:
    """Raise `SelfpacedError` for a misspelt name of a teacher or learner."""
    if ":" not in name:
        require_choice(role, name, part_names(role))


def part_names(role: str) -> list[str]:
    """Return the names of all teachers or learners, the parts of SPRL included."""
    names = list(TEACHERS if role == "teacher" else LEARNERS)
    return [*names, SPRL_NAMES[role]]


def default_part(role: str, name: str) -> object:
    """Return a teacher or learner with its default settings."""
    return default_settings(role, find_part(role, name))


def seeds_from(first: int, num: int) -> tuple[int, ...]:
    """Return consecutive seeds."""
    return tuple(range(first, first + num))


def as_tuples(value: Any) -> Any:
    """Return lists as tuples: JSON has lists only, and settings must be hashable."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def _part_to_dict(name: str, settings: Any) -> Plain:
    kind = type(settings)
    require(
        kind.__module__ != "__main__",
        f"{kind.__name__} must be in a module of its own, where worker processes can import it; to "
        "use it as it is, train in this process with Experiment.training",
    )
    return {"name": name} | dataclasses.asdict(settings)


def _part_from_dict(role: str, plain: Plain) -> object:
    kind = find_part(role, plain["name"])
    settings = _FORMER.get(plain["name"], {}) | plain
    return _make_settings(kind, {key: value for key, value in settings.items() if key != "name"})


def _field_names(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.init]


def _make_settings(kind: type, plain: Plain) -> object:
    settings = {key: as_tuples(value) for key, value in plain.items()}
    for name in settings:
        require_choice(f"setting of {kind.__name__}", name, _field_names(kind))
    require_setting_types(kind, settings)
    return kind(**settings)
