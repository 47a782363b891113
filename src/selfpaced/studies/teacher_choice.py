"""From what is known about a problem to a teacher: the rules, and what they give for a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.distributions.uniform import Uniform
from selfpaced.experiment import Budget
from selfpaced.learners.base import AnyLearner
from selfpaced.problems import Problem
from selfpaced.studies.findings import ProblemReport
from selfpaced.studies.problem_check import pacing_findings, suggested_flags, try_problem
from selfpaced.studies.random_trials import Trials
from selfpaced.teachers.base import AnyTeacher


class Facts(NamedTuple):
    """What decides on the teacher."""

    has_gaussian_target: bool
    has_gaussian_start: bool
    covers_box: bool  # whether the target is uniform over the whole box
    has_success: bool  # whether random actions succeeded at least once
    has_negative_returns: bool  # on average, at initial contexts


class Rule(NamedTuple):
    """A line of the guide; the first that applies is recommended."""

    when: str
    teacher: str
    settings: str
    applies: Callable[[Facts], bool]


class Alternative(NamedTuple):
    """Another teacher, and what speaks for it beyond what a program can see."""

    when: str
    teacher: str
    settings: str
    suits: Callable[[Facts], bool]


class Recommendation(NamedTuple):
    """A teacher for a problem, the traps on the way, and other teachers that suit it."""

    facts: Facts
    rule: Rule
    report: ProblemReport
    alternatives: tuple[Alternative, ...]


RULES = (
    Rule(
        "initial and target distribution are Gaussians",
        "spdl",
        "none",
        lambda facts: facts.has_gaussian_target and facts.has_gaussian_start,
    ),
    Rule(
        "the target is the whole box, and success is reported",
        "doraemon",
        "none, or `level`",
        lambda facts: facts.covers_box and facts.has_success,
    ),
    Rule(
        "the target has several modes, is a box or recorded samples, or no easy Gaussian is known",
        "currot",
        "none",
        lambda facts: True,
    ),
)
"""The first rule that applies gives the teacher."""

ALTERNATIVES = (
    Alternative(
        "the paper's rule is wanted, and returns are positive",
        "spdl",
        '`pacing="tradeoff"`, `zeta`',
        lambda facts: (
            facts.has_gaussian_target
            and facts.has_gaussian_start
            and not facts.has_negative_returns
        ),
    ),
    Alternative(
        "a value that proves success is known",
        "threshold-spdl",
        "`threshold`",
        lambda facts: facts.has_gaussian_target and facts.has_gaussian_start,
    ),
    Alternative(
        "success says more than returns, for example with rewards of -1 per step",
        "currot",
        '`signal="success"`, `threshold`',
        lambda facts: facts.has_success,
    ),
    Alternative("the way to the target is smooth", "gradient", "`threshold`", lambda facts: True),
    Alternative(
        "a comparison with domain randomisation is wanted",
        "adr",
        "`low`, `high`",
        lambda facts: facts.covers_box,
    ),
    Alternative(
        "the target does not matter, and returns change with learning",
        "alp-gmm",
        "none",
        lambda facts: True,
    ),
    Alternative(
        "the target does not matter, and difficulty varies from place to place",
        "learnability",
        "none",
        lambda facts: facts.has_success,
    ),
    Alternative("always, as a baseline", "random", "none", lambda facts: True),
)
"""Teachers for what a program cannot see."""


def choose(facts: Facts) -> Rule:
    """Return the first rule that applies.

    Examples:
        >>> from selfpaced.studies.teacher_choice import Facts, choose
        >>> choose(Facts(True, True, False, has_success=False, has_negative_returns=True)).teacher
        'spdl'
    """
    return next(rule for rule in RULES if rule.applies(facts))


def recommend(
    problem: Problem,
    learner: AnyLearner,
    budget: Budget,
    find_teacher: Callable[[str], AnyTeacher],
    seed: int = 0,
) -> Recommendation:
    """Run random episodes, and return a teacher with the traps that they reveal.

    Args:
        problem: the problem.
        learner: the learner that will be trained.
        budget: how long it will be trained.
        find_teacher: returns a teacher by name, with the settings that it would be trained with.
        seed: of the random actions.

    Raises:
        SelfpacedError: the environment fails, or its numbers are not finite.
    """
    trials, _ = try_problem(problem, learner, budget, seed)
    facts = facts_of(problem.contexts, trials)
    rule = choose(facts)
    findings = pacing_findings(problem, find_teacher(rule.teacher), learner, budget, trials)
    report = ProblemReport(findings, suggested_flags(learner, budget, findings))
    return Recommendation(
        facts, rule, report, tuple(other for other in ALTERNATIVES if other.suits(facts))
    )


def facts_of(contexts: ContextSpace, trials: Trials) -> Facts:
    """Return what decides on the teacher."""
    target = contexts.target
    covers_box = isinstance(target, Uniform) and np.allclose(
        [target.lower, target.upper], contexts.box
    )
    success = (trials.initial.success, trials.moved.success, trials.target.success)
    return Facts(
        has_gaussian_target=isinstance(target, Gaussian),
        has_gaussian_start=isinstance(contexts.initial, Gaussian),
        covers_box=covers_box,
        has_success=bool(np.concatenate(success).any()),
        has_negative_returns=bool(trials.initial.discounted_return.mean() < 0),
    )
