"""The command `selfpaced advise`."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from selfpaced.commands.options import parse_with_problem
from selfpaced.commands.problem_trial import ProblemTrial, print_command, print_findings
from selfpaced.contexts import ContextSpace
from selfpaced.studies.random_trials import environment_errors
from selfpaced.studies.teacher_choice import Recommendation, recommend
from selfpaced.training.curriculum_learning import CurriculumLearning


@dataclass(frozen=True)
class Options(ProblemTrial):
    """Recommend a teacher for a problem, from its distributions and from random actions.

    Shows the rule that decided, traps (negative returns, no success, a target outside the box, a
    budget that is too short), and other teachers that suit the problem. Ends with a command for
    training.
    """


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse_with_problem("advise", Options, arguments)
    with environment_errors(options.problem):
        experiment = options.experiment()
    method, problem = experiment.method, experiment.resolved
    assert isinstance(method, CurriculumLearning)
    advice = recommend(problem, method.learner, experiment.budget, options.teacher)
    _show(Console(emoji=False, highlight=False), options, problem.contexts, advice)


def _show(
    console: Console, options: Options, contexts: ContextSpace, advice: Recommendation
) -> None:
    kinds = " to ".join(type(each).__name__ for each in (contexts.initial, contexts.target))
    occurs = "occurs" if advice.facts.has_success else "never occurs"
    known = f"{contexts.size} components, from {kinds}; success {occurs} with random actions"
    console.print(f"{escape(options.problem)}: {known}", soft_wrap=True)
    console.print(f"[bold]{advice.rule.teacher}[/], because {advice.rule.when}", soft_wrap=True)
    print_findings(console, "traps", advice.report)
    console.print("also possible:")
    for other in advice.alternatives:
        settings = "" if other.settings == "none" else f" with {other.settings.replace('`', '')}"
        console.print(f"  {other.teacher}{escape(settings)}: {other.when}", soft_wrap=True)
    print_command(options, ("--teacher", advice.rule.teacher, *advice.report.flags))
