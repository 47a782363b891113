"""The robust preset: three safeguards, everything else as in the paper."""

from dataclasses import replace

import pytest

from selfpaced import SPDL, neurips2020
from selfpaced.commands.train import parse_train
from selfpaced.presets.neurips2020 import find_preset, published
from selfpaced.studies.repetition import train_commands

PROBLEMS = ("point-mass-3d", "point-mass-2d", "ball-catching")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_it_differs_from_the_paper_in_three_settings(problem):
    paper, ours = neurips2020(problem), published(problem, name="robust")
    assert ours.keep == "best"
    assert ours.method.learner.max_gradient_norm == 0.5
    assert ours.method.teacher.pacing == "mastery"
    learner = replace(ours.method.learner, max_gradient_norm=None)
    back = replace(ours, keep="last").with_parts(teacher=paper.method.teacher, learner=learner)
    assert back == paper


def test_spdl_has_its_defaults_and_starts_where_the_paper_starts():
    assert published("point-mass-3d", name="robust").method.teacher == SPDL()
    assert published("ball-catching", "spdl", name="robust").method.teacher == SPDL(start="target")
    assert published("ball-catching", "spdl*", name="robust").method.teacher == SPDL()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_it_has_no_published_results(problem):
    assert find_preset(problem, "robust").published == {}


def test_it_is_chosen_by_its_name_and_never_by_default():
    _, experiment = parse_train(["point-mass-3d", "--preset", "robust", "--seeds", "2"])
    assert experiment == published("point-mass-3d", seeds=(1, 2), name="robust")
    assert neurips2020("point-mass-3d").keep == "last"


def test_the_command_that_repeats_a_run_keeps_the_best_policy():
    (command,) = train_commands(published("point-mass-3d", name="robust"), "runs/again")
    assert "--keep best" in command
    assert "--learner.max-gradient-norm 0.5" in command
