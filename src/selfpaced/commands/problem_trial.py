"""What `check` and `advise` share: a problem and how it will be trained, and tables of findings."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from selfpaced.commands.options import ProblemName
from selfpaced.experiment import DEFAULT_LEARNER, Experiment
from selfpaced.presets.neurips2020 import published
from selfpaced.studies.findings import ProblemReport
from selfpaced.teachers.base import AnyTeacher
from selfpaced.training.curriculum_learning import CurriculumLearning
from selfpaced.validation import require_positive

_STYLES = {"ok": "green", "warning": "yellow"}


@dataclass(frozen=True)
class ProblemTrial:
    """A problem, and how it will be trained."""

    problem: ProblemName
    learner: str = DEFAULT_LEARNER
    """learner that will be trained, or your own as module:Class"""
    preset: str | None = None
    """settings by their name, as jmlr2021 (published) or robust (ours); None takes the default of
    `selfpaced train`"""
    iterations: int | None = None
    """number of iterations; None takes the default of `selfpaced train`"""
    steps_per_iteration: int | None = None
    """environment steps of each seed per iteration; None takes the default of `selfpaced train`"""
    num_environments: int | None = None
    """environments per seed; None takes the default of `selfpaced train`"""

    def __post_init__(self) -> None:
        names = "iterations", "steps_per_iteration", "num_environments"
        require_positive(self, *names, none_allowed=True)

    def experiment(self) -> Experiment:
        """Return the experiment that `selfpaced train` would run."""
        preset = published(self.problem, learner=self.learner, name=self.preset)
        return dataclasses.replace(
            preset,
            iterations=self.iterations or preset.iterations,
            steps_per_iteration=self.steps_per_iteration or preset.steps_per_iteration,
            num_environments=self.num_environments or preset.num_environments,
        )

    def teacher(self, name: str) -> AnyTeacher:
        """Return a teacher with the settings that `selfpaced train` would use."""
        method = published(self.problem, name, self.learner, name=self.preset).method
        assert isinstance(method, CurriculumLearning)
        return method.teacher


def print_findings(console: Console, title: str, report: ProblemReport) -> None:
    """Print a table of findings."""
    table = Table(title=title)
    for column in ("check", "verdict", "seen"):
        table.add_column(column)
    for name, verdict, seen, remedy, _ in report.findings:
        style = _STYLES[verdict]
        text = escape(seen) + (f"\n[{style}]-> {escape(remedy)}[/]" if remedy else "")
        table.add_row(name, f"[{style}]{verdict}[/]", text)
    console.print(table)


def print_command(options: ProblemTrial, flags: tuple[str, ...]) -> None:
    """Print a command for training in one line, to be copied."""
    learner = () if options.learner == DEFAULT_LEARNER else ("--learner", options.learner)
    preset = () if options.preset is None else ("--preset", options.preset)
    print(shlex.join(("selfpaced", "train", options.problem, *learner, *preset, *flags)))
