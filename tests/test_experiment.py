import json
from dataclasses import dataclass, field, replace

import pytest

from selfpaced import PPO, SPDL, Default, Experiment, Random, SelfpacedError, neurips2020
from selfpaced.problems import BALL_CATCHING, find_problem


@dataclass(frozen=True)
class Mine(Default):
    """Somebody's own teacher."""

    eagerness: float = 2.0


class Plain:
    """Not a dataclass."""


@dataclass
class Changing:
    """Not frozen."""


@dataclass(frozen=True)
class Idle:
    """A teacher that forgets half of what a teacher does."""

    init = sample = None


@dataclass(frozen=True)
class Demanding(Default):
    """Cannot be made without being told more."""

    eagerness: float = field()


def test_the_preset_is_the_published_configuration():
    experiment = neurips2020("point-mass-3d")
    assert experiment.teacher == SPDL(
        zeta=1.4,
        alpha_offset=10,
        update_offset=5,
        max_kl=0.05,
        std_lower_bound=(0.2, 0.1875, 0.1),
        kl_threshold=8000.0,
        constraint="old_new",
    )
    assert experiment.learner == PPO(
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
    assert neurips2020("point-mass-2d").teacher.std_lower_bound == (0.2, 0.1875)


@pytest.mark.parametrize("teacher", [SPDL(std_lower_bound=(0.1, 0.2)), Random(), Mine(3.0)])
def test_an_experiment_survives_json(teacher):
    experiment = replace(neurips2020("point-mass-2d"), teacher=teacher, seeds=(4, 9))
    text = json.dumps(experiment.to_dict())
    assert Experiment.from_dict(json.loads(text)) == experiment


def test_evaluations_come_before_training_every_few_iterations_and_at_the_end():
    experiment = replace(neurips2020("point-mass-3d"), iterations=12)
    assert experiment.evaluation_iterations == [0, 5, 10, 12]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": "point-mass-4d"}, "unknown problem 'point-mass-4d': did you mean 'point-mass"),
        ({"iterations": 0}, "iterations must be positive, got 0"),
        ({"seeds": ()}, "seeds wants different whole numbers"),
        ({"seeds": (1, 1)}, "seeds wants different whole numbers"),
        ({"seeds": (-1,)}, "seeds wants different whole numbers from 0"),
        ({"seeds": (1.5,)}, "seeds wants different whole numbers"),
        ({"seeds": (2**32,)}, r"from 0 to 2\*\*32 - 1"),
        ({"iterations": 2.5}, "iterations must be a whole number, got 2.5"),
        ({"num_environments": 3}, "multiple of num_environments"),
        ({"seeds": 3}, r"seeds wants a tuple of numbers, as \(1, 2, 3\), got 3"),
        ({"teacher": "spdl"}, r"teacher wants settings, as SPDL\(\) or PPO\(\), got 'spdl'"),
        ({"learner": PPO}, "learner wants settings"),
        ({"iterations": "10"}, "iterations must be positive, got '10'"),
    ],
)
def test_an_impossible_experiment_says_what_is_wrong(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(neurips2020("point-mass-3d"), **changes)


@pytest.mark.parametrize(
    ("role", "name", "message"),
    [
        ("teacher", "sdpl", "unknown teacher 'sdpl': did you mean 'spdl'"),
        ("learner", "pqo", "unknown learner 'pqo': did you mean 'ppo'"),
        ("teacher", "nowhere:Found", "No module named 'nowhere'; run this where it lies"),
        ("teacher", "nowhere.to.be:found", "cannot load teacher"),
        ("teacher", "selfpaced:Nobody", "there is no 'Nobody' in .*selfpaced/__init__.py"),
        ("teacher", ":Nobody", "cannot load teacher"),
        ("teacher", "./mine:Nobody", "cannot load teacher"),
        ("teacher", "json:dumps", "should be a frozen dataclass"),
        ("teacher", f"{__name__}:Plain", "should be a frozen dataclass"),
        ("teacher", f"{__name__}:Changing", "should be a frozen dataclass"),
        ("teacher", f"{__name__}:Idle", "lacks update, distribution, advice"),
        ("teacher", f"{__name__}:Demanding", "give all settings of teacher Demanding defaults"),
        ("learner", f"{__name__}:Mine", "lacks act, value, steps_per_update"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_one(role, name, message):
    with pytest.raises(SelfpacedError, match=message):
        neurips2020("point-mass-3d", **{role: name})


@pytest.mark.parametrize(
    ("code", "message"),
    [("1 / 0", r"ZeroDivisionError: .* \(.*mistaken.py, line 2\)"), ("1 /", "mistaken.py, line 2")],
)
def test_a_mistake_in_somebodys_module_is_shown_with_its_place(
    tmp_path, monkeypatch, code, message
):
    (tmp_path / "mistaken.py").write_text(f"x = 1\n{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SelfpacedError, match=f"cannot load problem 'mistaken:P': .*{message}"):
        neurips2020("mistaken:P")


def test_a_discount_that_is_none_is_refused():
    with pytest.raises(SelfpacedError, match=r"discount must lie in \(0, 1\], got 1.5"):
        replace(find_problem("point-mass-2d"), discount=1.5)


def test_something_else_than_an_experiment_is_refused():
    with pytest.raises(SelfpacedError, match="does not describe an experiment"):
        Experiment.from_dict({"problem": "point-mass-3d"})


def test_sprl_and_a_step_based_learner_do_not_go_together():
    assert neurips2020("point-mass-3d", "sprl").teacher.zeta == 2.0
    with pytest.raises(SelfpacedError, match="sprl and learner episodic go with each other only"):
        neurips2020("point-mass-3d", "sprl", "ppo")
    with pytest.raises(SelfpacedError, match="got spdl and episodic"):
        neurips2020("point-mass-3d", "spdl", "episodic")


def test_spdl_keeps_what_belongs_to_the_problem_with_a_learner_that_the_paper_did_not_try():
    teacher = neurips2020("ant-gate", "spdl", "trpo").teacher
    assert (teacher.std_lower_bound, teacher.update_offset) == ((1.0, 0.5), 100)


def test_the_problems_own_environment_is_no_difference():
    experiment = neurips2020("ball-catching")
    assert replace(experiment, environment=BALL_CATCHING.environment) == experiment


def test_settings_without_defaults_can_be_given_in_python():
    experiment = replace(neurips2020("point-mass-2d"), teacher=Demanding(eagerness=3.0))
    assert Experiment.from_dict(experiment.to_dict()) == experiment
