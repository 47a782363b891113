"""The experiments of the paper: their settings, variants, budgets and published results."""

import pytest

from selfpaced import ALPGMM, PPO, PROBLEMS, SPDL, TEACHERS, Problem, SelfpacedError, neurips2020
from selfpaced.presets.neurips2020 import GRIDS, find_preset, grid_of
from selfpaced.registry import find_problem
from tests.probes import Probe, probe_problem

UNPUBLISHED: Problem = probe_problem(Probe())
MISTAKEN = Problem(
    "mistaken",
    "a preset that is none",
    UNPUBLISHED.environment,
    UNPUBLISHED.contexts,
    0.9,
    presets=(("neurips2020", f"{__name__}:UNPUBLISHED"),),
)


def test_the_preset_is_the_published_configuration():
    experiment = neurips2020("point-mass-3d")
    assert experiment.method.teacher == SPDL(
        pacing="tradeoff",
        zeta=1.4,
        alpha_offset=10,
        update_offset=5,
        max_kl=0.05,
        std_lower_bound=(0.2, 0.1875, 0.1),
        kl_threshold=8000.0,
        constraint="old_new",
    )
    assert experiment.method.learner == PPO(
        hidden=(21,),
        learning_rate=2.5e-4,
        num_epochs=8,
        num_minibatches=32,
        clip=0.2,
        gae_lambda=0.99,
        value_coefficient=1.0,
        entropy_coefficient=0.0,
        max_gradient_norm=None,
        time_outs="terminal",
    )
    assert experiment.seeds == tuple(range(1, 21))
    assert (experiment.iterations, experiment.steps_per_iteration) == (1000, 2048)
    assert (experiment.evaluate_every, experiment.evaluation_episodes) == (5, 50)


def test_the_two_dimensional_preset_has_a_two_dimensional_bound():
    assert neurips2020("point-mass-2d").method.teacher.std_lower_bound == (0.2, 0.1875)


def test_spdl_keeps_what_belongs_to_the_problem_with_a_learner_that_the_paper_did_not_try():
    teacher = neurips2020("ant-gate", "spdl", "trpo").method.teacher
    assert (teacher.std_lower_bound, teacher.update_offset) == ((1.0, 0.5), 100)


def test_sprl_has_the_zeta_of_its_problem():
    assert neurips2020("point-mass-3d", "sprl").method.update.zeta == 2.0
    assert neurips2020("point-mass-2d", "sprl").method.update.zeta == 1.5


def test_sac_trains_for_400_iterations_on_the_point_mass_and_in_one_environment_on_robots():
    assert neurips2020("point-mass-3d", learner="sac").iterations == 400
    assert neurips2020("ant-gate", learner="sac").num_environments == 1
    assert neurips2020("ant-gate").num_environments == 40


@pytest.mark.parametrize("name", ["spdl*", "spdl-star"])
def test_a_star_can_be_written_in_two_ways(name):
    experiment = neurips2020("ball-catching", name)
    assert experiment.variant == "*"
    assert experiment.method.teacher.start == "initial"
    assert neurips2020("ball-catching").method.teacher.start == "target"


def test_every_policy_first_holds_still_except_with_default_star():
    assert neurips2020("ball-catching", "default").initial_policy == "hold"
    assert neurips2020("ball-catching", "spdl*").initial_policy == "hold"
    assert neurips2020("ball-catching", "default*").initial_policy == "random"


def test_a_star_that_the_paper_does_not_have_is_refused():
    message = "point-mass-3d has no starred teachers, got spdl"
    with pytest.raises(SelfpacedError, match=message):
        neurips2020("point-mass-3d", "spdl*")
    message = r"one of spdl\*, goal-gan\*, default\*, got random-star"
    with pytest.raises(SelfpacedError, match=message):
        neurips2020("ball-catching", "random-star")


def test_published_results_are_those_of_table_1():
    assert find_preset("point-mass-3d").published["ppo"]["spdl"] == (9.35, 0.1)
    assert find_preset("point-mass-2d").published["sac"]["default"] == (2.23, 0.0)
    assert find_preset("ball-catching").published["trpo"]["goal-gan*"] == (45.8, 1.0)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_presets_name_known_teachers_and_settings_of_their_grids(problem):
    preset = find_preset(problem)
    named = {*preset.teachers, *preset.starred, *preset.grids}
    named |= {teacher for table in preset.published.values() for teacher in table}
    assert {name.removesuffix("*") for name in named} <= {*TEACHERS}
    for teacher in GRIDS:
        assert all(hasattr(TEACHERS[teacher](), name) for name in grid_of(problem, teacher))


def test_a_problem_may_have_a_grid_of_its_own():
    assert grid_of("ant-gate", "spdl")["zeta"] == (0.4, 0.7, 1.0, 1.3, 1.6)
    assert grid_of("ant-gate", "alp-gmm") == GRIDS["alp-gmm"]


def test_class_defaults_are_used_for_a_problem_that_the_paper_does_not_have():
    experiment = neurips2020(f"{__name__}:UNPUBLISHED", "alp-gmm")
    assert find_problem(experiment.problem) == UNPUBLISHED
    assert (experiment.method.teacher, experiment.method.learner) == (ALPGMM(), PPO())
    assert find_preset(experiment.problem).published == {}


def test_something_else_than_a_preset_is_refused():
    with pytest.raises(SelfpacedError, match="UNPUBLISHED must be a Preset, got Problem"):
        find_preset(f"{__name__}:MISTAKEN")
