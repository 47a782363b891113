"""The command `selfpaced check`."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from selfpaced.commands.options import parse_with_problem
from selfpaced.commands.problem_trial import ProblemTrial, print_command, print_findings
from selfpaced.studies.problem_check import check_problem
from selfpaced.studies.random_trials import environment_errors
from selfpaced.training.curriculum_learning import CurriculumLearning


@dataclass(frozen=True)
class Options(ProblemTrial):
    """Check a problem with random actions before training, in seconds.

    Shows whether the context has an effect and is visible, whether returns and successes can pace
    a curriculum, and whether the budget suffices for SPDL, if it can be used. Ends with a command
    for training.
    """


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse_with_problem("check", Options, arguments)
    with environment_errors(options.problem):
        experiment = options.experiment()
    method = experiment.method
    assert isinstance(method, CurriculumLearning)
    problem, budget = experiment.resolved, experiment.budget
    report = check_problem(problem, method.teacher, method.learner, budget)
    title = f"{options.problem}: episodes of random actions"
    print_findings(Console(emoji=False, highlight=False), title, report)
    num = len(report.warnings)
    print(f"{num} warning{'' if num == 1 else 's'}; suggested settings:")
    print_command(options, report.flags)
