"""A preset: all settings and results of a paper for one problem, as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from selfpaced.experiment import Budget
from selfpaced.learners.base import AnyLearner
from selfpaced.sprl.method import SPRL
from selfpaced.teachers.base import AnyTeacher
from selfpaced.training.curriculum_learning import InitialPolicy

Grid = Mapping[str, tuple[float, ...]]
MeanAndError = tuple[float, float]


class Curve(NamedTuple):
    """A published learning curve, as points that were read off a figure."""

    source: str
    measure: Literal["return", "success"]
    points: tuple[tuple[int, float], ...]  # iteration and mean
    reading_error: float


@dataclass(frozen=True)
class Preset:
    """Settings and published results of one problem.

    Teachers are looked up by name (with an asterisk for a starred variant) and then by the
    learner's name; `None` in place of the latter serves learners that the paper did not use.
    Results are looked up by the learner's name and then by the teacher's: final means with their
    errors in `published`, learning curves in `curves`.
    """

    learners: Mapping[str, AnyLearner]
    teachers: Mapping[str, Mapping[str | None, AnyTeacher]]
    budgets: Mapping[str | None, Budget]  # by learner
    sprl: SPRL | None = None
    starred: tuple[str, ...] = ()  # teachers that have a variant with an asterisk
    initial_policies: Mapping[str, InitialPolicy] = field(default_factory=dict)  # by teacher
    published: Mapping[str, Mapping[str, MeanAndError]] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, tuple[Curve, ...]]] = field(default_factory=dict)
    grids: Mapping[str, Grid] = field(default_factory=dict)

    def teacher(self, name: str, learner: str) -> AnyTeacher | None:
        """Return the settings of a teacher, None if the paper has none."""
        by_learner = self.teachers.get(name, {})
        return by_learner.get(learner) or by_learner.get(None)

    def budget(self, teacher: str, learner: str) -> Budget:
        """Return how long to train."""
        budget = self.budgets.get(learner, self.budgets[None])
        initial_policy = self.initial_policies.get(teacher, budget.initial_policy)
        return replace(budget, initial_policy=initial_policy)
