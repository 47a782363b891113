"""The method of the paper: a teacher that chooses contexts for a learner."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from selfpaced.errors import require
from selfpaced.learners.base import LEARNER_ABILITIES, AnyLearner, Learner
from selfpaced.problems import Problem
from selfpaced.registry import LEARNERS, TEACHERS, members_of
from selfpaced.teachers.base import TEACHER_ABILITIES, AnyTeacher, RequiresGaussians, Teacher
from selfpaced.teachers.border import may_leave_box
from selfpaced.training.host_simulator import HostSimulator
from selfpaced.training.jax_simulator import JaxSimulator
from selfpaced.training.loop import AnyTraining, Training
from selfpaced.training.simulator import AnySimulator
from selfpaced.training.teaching import AnyTeachers, TeacherBlock
from selfpaced.validation import require_choice

InitialPolicy = Literal["random", "hold"]
WrapTeachers = Callable[[AnyTeachers], AnyTeachers]


@dataclass(frozen=True)
class CurriculumLearning:
    """A teacher and a learner.

    Examples:
        >>> from selfpaced import PPO, SPDL, CurriculumLearning
        >>> CurriculumLearning(SPDL(zeta=1.2), PPO()).teacher_name
        'spdl'
    """

    teacher: AnyTeacher
    learner: AnyLearner

    def __post_init__(self) -> None:
        parts: tuple[tuple[str, object, type], ...] = (
            ("teacher", self.teacher, Teacher),
            ("learner", self.learner, Learner),
        )
        for role, part, protocol in parts:
            require(
                dataclasses.is_dataclass(part) and not isinstance(part, type),
                f"{role} must be an instance of its settings, as SPDL() or PPO(), got {part!r}",
            )
            lacking = [name for name in members_of(protocol) if not hasattr(part, name)]
            require(
                not lacking,
                f"{role} {type(part).__name__} must have {', '.join(members_of(protocol))}; it "
                f"lacks {', '.join(lacking)}",
            )
        for part, abilities in (
            (self.teacher, TEACHER_ABILITIES),
            (self.learner, LEARNER_ABILITIES),
        ):
            _require_no_namesakes(part, abilities)

    @property
    def parts(self) -> dict[str, object]:
        """The settings by role, as on the command line and in files."""
        return {"teacher": self.teacher, "learner": self.learner}

    @property
    def teacher_name(self) -> str:
        """Name under which the teacher is found."""
        return TEACHERS.name_of(type(self.teacher))

    @property
    def learner_name(self) -> str:
        """Name under which the learner is found."""
        return LEARNERS.name_of(type(self.learner))

    @property
    def policy(self) -> AnyLearner:
        """What acts outside training."""
        return self.learner

    def require_fits(
        self,
        problem: Problem,
        steps_per_iteration: int,
        num_environments: int,
        initial_policy: InitialPolicy,
    ) -> None:
        """Raise `SelfpacedError` if this cannot be trained on the problem in this way."""
        for name, value in (
            ("steps_per_iteration", steps_per_iteration),
            ("num_environments", num_environments),
        ):
            require(value > 0, f"{name} must be positive, got {value}")
        require(
            steps_per_iteration % num_environments == 0,
            "steps_per_iteration must be a multiple of num_environments "
            f"({num_environments}), got {steps_per_iteration}",
        )
        num_steps, per_update = (
            steps_per_iteration // num_environments,
            self.learner.steps_per_update,
        )
        require(
            per_update is None or num_steps >= per_update,
            f"steps of an iteration in each environment must be at least the {per_update} "
            f"between updates of the learner, got {num_steps}; change steps_per_iteration",
        )
        require_choice("initial_policy", initial_policy, get_args(InitialPolicy))
        require(
            problem.is_hosted or initial_policy == "random",
            f'initial_policy="hold" requires a host environment; {problem.name} runs in JAX',
        )
        if isinstance(self.teacher, RequiresGaussians):
            for role in self.teacher.required_gaussians:
                problem.contexts.require_gaussian(role, self.teacher_name)
        require(
            not (problem.is_hosted and may_leave_box(self.teacher)),
            f"contexts of {problem.name} must lie in its box, which {self.teacher_name} may leave "
            "with these settings; choose settings with which stays_in_box is true",
        )

    def training(
        self,
        problem: Problem,
        seeds: tuple[int, ...],
        steps_per_iteration: int,
        num_environments: int = 1,
        initial_policy: InitialPolicy = "random",
        wrap_teachers: WrapTeachers = lambda teachers: teachers,
    ) -> AnyTraining:
        """Return the loop that trains some seeds; close it after use."""
        self.require_fits(problem, steps_per_iteration, num_environments, initial_policy)
        num_steps = steps_per_iteration // num_environments
        sizes = (len(seeds), num_environments, num_steps)
        simulator: AnySimulator = (
            HostSimulator(problem, self.learner, *sizes)
            if problem.is_hosted
            else JaxSimulator(problem, self.learner, *sizes)
        )
        return Training(
            problem,
            self.learner,
            wrap_teachers(TeacherBlock(self.teacher, problem.contexts, seeds)),
            simulator,
            seeds,
            num_contexts=_num_contexts(problem, num_environments, num_steps),
            holds_still=initial_policy == "hold",
        )


def _require_no_namesakes(part: object, abilities: tuple[type, ...]) -> None:
    """A setting with the name of an ability's method would be taken for it."""
    names = {name for ability in abilities for name in members_of(ability)}
    clashes = sorted(names & {field.name for field in dataclasses.fields(part)})  # type: ignore[arg-type]
    require(
        not clashes,
        f"setting {', '.join(clashes)} of {type(part).__name__} must have another name, because "
        "this one is a method of an optional ability",
    )


def _num_contexts(problem: Problem, num_environments: int, num_steps: int) -> int:
    """Number of episodes of a seed that can start in one iteration at most."""
    return num_environments * (1 + -(-num_steps // problem.environment.min_episode_steps))
