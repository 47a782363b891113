"""The rules that lead from a problem to a teacher, and the page that shows them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from selfpaced import PPO, TEACHERS, Gaussian, Samples, Uniform
from selfpaced.experiment import Budget
from selfpaced.studies.teacher_choice import ALTERNATIVES, RULES, Facts, choose, recommend
from tests.probes import Probe, probe_problem

PAGE = (Path(__file__).parents[2] / "docs" / "choosing-a-teacher.md").read_text()
BUDGET = Budget(iterations=100, steps_per_iteration=256)
FINE = Probe(length=2, reward="cue")


def advised(environment=FINE, budget=BUDGET, **changes):
    problem = probe_problem(environment)
    contexts = dataclasses.replace(problem.contexts, **changes)
    problem = dataclasses.replace(problem, contexts=contexts)
    return recommend(problem, PPO(), budget, lambda name: TEACHERS[name]())


def warnings(advice):
    return [finding.name for finding in advice.report.warnings]


def test_the_page_shows_exactly_the_rules_of_the_command():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "](teachers/" in line]
    assert rows == [
        f"| {rule.when} | [{rule.teacher}](teachers/{rule.teacher}.md) | {rule.settings} |"
        for rule in (*RULES, *ALTERNATIVES)
    ]


def test_every_rule_names_a_known_teacher():
    assert {rule.teacher for rule in (*RULES, *ALTERNATIVES)} <= set(TEACHERS)


@pytest.mark.parametrize("has_success", [False, True])
@pytest.mark.parametrize("covers_box", [False, True])
@pytest.mark.parametrize("gaussians", [(True, True), (True, False), (False, True), (False, False)])
def test_a_teacher_that_needs_gaussians_is_recommended_only_with_them(
    gaussians, covers_box, has_success
):
    rule = choose(Facts(*gaussians, covers_box, has_success, has_negative_returns=False))
    assert (rule.teacher == "spdl") == all(gaussians)


def test_gaussians_lead_to_spdl_and_recorded_samples_to_currot():
    assert advised().rule.teacher == "spdl"
    assert advised(target=Samples(np.array([[0.5], [0.6]]))).rule.teacher == "currot"


def test_the_whole_box_leads_to_doraemon_if_success_is_seen():
    space = probe_problem(FINE).contexts
    box = Uniform(space.lower, space.upper)
    advice = advised(target=box)
    assert advice.facts.covers_box
    assert advice.rule.teacher == ("doraemon" if advice.facts.has_success else "currot")


def test_a_target_outside_the_box_is_a_trap_unless_it_is_redrawn():
    space = probe_problem(FINE).contexts
    width = space.upper[0] - space.lower[0]
    wide = Gaussian.diagonal((space.upper[0],), (width,))
    advice = advised(target=wide)
    assert "target in the box" in warnings(advice)
    assert "target in the box" not in warnings(advised(target=wide, outside="redraw"))


def test_a_budget_that_is_too_short_is_a_trap_of_spdl_and_of_currot():
    short = dataclasses.replace(BUDGET, iterations=2)
    assert "updates to the target" in warnings(advised(budget=short))
    far = Samples(np.array([[float(probe_problem(FINE).contexts.upper[0])]]))
    few = dataclasses.replace(BUDGET, iterations=2, steps_per_iteration=64)
    advice = advised(budget=few, target=far)
    assert "advice of the teacher" in warnings(advice)


def test_negative_returns_leave_out_the_papers_rule():
    facts = Facts(True, True, False, has_success=False, has_negative_returns=True)
    shown = [other.settings for other in ALTERNATIVES if other.suits(facts)]
    assert not any("tradeoff" in settings for settings in shown)
    assert any(
        "tradeoff" in other.settings
        for other in ALTERNATIVES
        if other.suits(facts._replace(has_negative_returns=False))
    )
