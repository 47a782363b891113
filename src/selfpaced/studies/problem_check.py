"""Look at a problem before training: whole episodes of random actions, and what they reveal.

Episodes run at initial contexts, at target contexts, and once more from the seeds of the initial
ones with one component of each context moved. Whatever differs is the effect of that component.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from selfpaced.experiment import Budget
from selfpaced.learners.base import AnyLearner
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.studies import environment_check, pacing_check
from selfpaced.studies.findings import Finding, ProblemReport
from selfpaced.studies.random_trials import (
    Trial,
    Trials,
    draw_contexts,
    environment_errors,
    move_components,
    run_trials,
)
from selfpaced.teachers.base import AnyTeacher
from selfpaced.teachers.fixed import Random
from selfpaced.teachers.spdl import SPDL
from selfpaced.training.curriculum_learning import CurriculumLearning
from selfpaced.training.discounting import FAINT


def check_problem(
    problem: Problem, teacher: AnyTeacher, learner: AnyLearner, budget: Budget, seed: int = 0
) -> ProblemReport:
    """Run random episodes, and return what they reveal about training with these settings.

    Returns and the number of updates are judged for SPDL only; other teachers accept all returns.

    Raises:
        SelfpacedError: the environment fails, or its numbers are not finite; the message has the
            file and line.
    """
    trials, is_final_only = try_problem(problem, learner, budget, seed)
    findings = (
        environment_check.check_spaces(problem, trials),
        environment_check.check_time_limit(problem, trials),
        *environment_check.check_seed(problem, trials),
        environment_check.check_effect(problem, trials),
        environment_check.check_visible(problem, trials),
        *pacing_findings(problem, teacher, learner, budget, trials),
        environment_check.check_discount(problem, trials, is_final_only),
    )
    return ProblemReport(findings, suggested_flags(learner, budget, findings))


def try_problem(
    problem: Problem, learner: AnyLearner, budget: Budget, seed: int = 0
) -> tuple[Trials, bool]:
    """Run random episodes; return them, and whether only last steps are rewarded."""
    with environment_errors(problem.name):
        run = partial(run_trials, CurriculumLearning(Random(), learner), budget, seed)
        initial, target = draw_contexts(problem.contexts, seed)
        moved = move_components(problem.contexts, initial)
        trials = Trials(*run(problem, (initial, moved, initial, target)))
        return trials, _is_rewarded_at_the_end(problem, trials, run)


def pacing_findings(
    problem: Problem, teacher: AnyTeacher, learner: AnyLearner, budget: Budget, trials: Trials
) -> tuple[Finding, ...]:
    """Return what episodes reveal about pacing with this teacher."""
    spdl = teacher if isinstance(teacher, SPDL) else None
    returns = pacing_check.check_returns, pacing_check.check_spread
    return (
        pacing_check.check_target(problem.contexts),
        *([] if spdl is None else [check(spdl, trials) for check in returns]),
        pacing_check.check_success(problem, trials),
        pacing_check.check_num_episodes(teacher, learner, budget, trials),
        *(
            pacing_check.check_advice(problem.contexts, teacher, budget, trials)
            if spdl is None
            else [pacing_check.check_updates(problem.contexts, spdl, budget)]
        ),
    )


def _is_rewarded_at_the_end(
    problem: Problem, trials: Trials, run: Callable[[Problem, Sequence[Array]], list[Trial]]
) -> bool:
    """Whether only last steps are rewarded: then the discount only scales a return."""
    if environment_check.share_of_final_reward(problem, trials) >= FAINT:
        return False  # or it does not matter
    found = trials.initial
    if not found.discounted_return.any():
        return True  # as far as random actions show
    [plain] = run(dataclasses.replace(problem, discount=1.0), (found.context,))
    final = problem.discount ** (found.length - 1.0) * plain.discounted_return
    return bool(np.allclose(found.discounted_return, final, rtol=1e-3, atol=0.0))


def suggested_flags(
    learner: AnyLearner, budget: Budget, findings: Sequence[Finding]
) -> tuple[str, ...]:
    """Return flags of `selfpaced train` with the remedies of the findings."""
    steps = pacing_check.round_up_steps(budget.steps_per_iteration, learner, budget)
    flags = {
        "--iterations": str(budget.iterations),
        "--steps-per-iteration": str(steps),
        "--num-environments": str(budget.num_environments),
    }
    for finding in findings:
        flags |= dict(finding.flags)
    return tuple(word for pair in flags.items() for word in pair)
