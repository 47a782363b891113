"""The command `selfpaced check`."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from selfpaced.commands.options import ProblemName, parse_with_problem
from selfpaced.experiment import DEFAULT_LEARNER, Experiment
from selfpaced.presets.neurips2020 import neurips2020
from selfpaced.studies.problem_check import ProblemReport, check_problem
from selfpaced.studies.random_trials import environment_errors
from selfpaced.training.curriculum_learning import CurriculumLearning
from selfpaced.validation import require_positive

_STYLES = {"ok": "green", "warning": "yellow"}


@dataclass(frozen=True)
class Options:
    """Check a problem with random actions before training, in seconds.

    Shows whether the context has an effect and is visible, whether returns and successes can pace
    a curriculum, and whether the budget suffices for SPDL, if it can be used. Ends with a command
    for training.
    """

    problem: ProblemName
    learner: str = DEFAULT_LEARNER
    """learner that will be trained, or your own as module:Class"""
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
        preset = neurips2020(self.problem, learner=self.learner)
        return dataclasses.replace(
            preset,
            iterations=self.iterations or preset.iterations,
            steps_per_iteration=self.steps_per_iteration or preset.steps_per_iteration,
            num_environments=self.num_environments or preset.num_environments,
        )


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse_with_problem("check", Options, arguments)
    with environment_errors(options.problem):
        experiment = options.experiment()
    method = experiment.method
    assert isinstance(method, CurriculumLearning)
    problem, budget = experiment.resolved, experiment.budget
    report = check_problem(problem, method.teacher, method.learner, budget)
    _show(Console(emoji=False, highlight=False), options, report)


def _show(console: Console, options: Options, report: ProblemReport) -> None:
    table = Table(title=f"{options.problem}: episodes of random actions")
    for column in ("check", "verdict", "seen"):
        table.add_column(column)
    for name, verdict, seen, remedy, _ in report.findings:
        style = _STYLES[verdict]
        text = escape(seen) + (f"\n[{style}]-> {escape(remedy)}[/]" if remedy else "")
        table.add_row(name, f"[{style}]{verdict}[/]", text)
    console.print(table)
    num = len(report.warnings)
    console.print(f"{num} warning{'' if num == 1 else 's'}; suggested settings:")
    learner = () if options.learner == DEFAULT_LEARNER else ("--learner", options.learner)
    words = ("selfpaced", "train", options.problem, *learner, *report.flags)
    print(shlex.join(words))  # unwrapped, to be copied
