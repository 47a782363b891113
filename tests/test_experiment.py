"""Experiments: their checks and their plain form."""

import json
from dataclasses import dataclass, field, make_dataclass, replace

import pytest

from selfpaced import (
    PPO,
    SPDL,
    SPRL,
    CurriculumLearning,
    Default,
    Experiment,
    Random,
    SelfpacedError,
    neurips2020,
    run,
)
from selfpaced.experiment import Budget
from selfpaced.presets.ball_catching import BALL_CATCHING
from selfpaced.registry import find_problem


class TargetContexts:
    """The methods of a user's teacher; not a dataclass of settings."""

    def init(self, rng, contexts):
        return Default().init(rng, contexts)

    def sample(self, rng, contexts, state, num):
        return Default().sample(rng, contexts, state, num)

    def update(self, rng, contexts, state, episodes):
        return Default().update(rng, contexts, state, episodes)


@dataclass(frozen=True)
class Mine(TargetContexts):
    """A user's teacher."""

    rate: float = 2.0


@dataclass
class Changing(TargetContexts):
    """Not frozen."""


@dataclass(frozen=True)
class Incomplete:
    """A teacher without update."""

    init = sample = None


@dataclass(frozen=True)
class Derived(SPDL):
    """A class of ours that must not be derived from."""


@dataclass(frozen=True)
class WithoutDefault(TargetContexts):
    """A teacher whose setting has no default."""

    rate: float = field()


@pytest.mark.parametrize("teacher", [SPDL(std_lower_bound=(0.1, 0.2)), Random(), Mine(3.0)])
def test_an_experiment_survives_json(teacher):
    experiment = replace(neurips2020("point-mass-2d").with_parts(teacher=teacher), seeds=(4, 9))
    text = json.dumps(experiment.to_dict())
    assert Experiment.from_dict(json.loads(text)) == experiment


def test_evaluations_come_before_training_every_few_iterations_and_at_the_end():
    experiment = replace(neurips2020("point-mass-3d"), iterations=12)
    assert experiment.evaluation_iterations == [0, 5, 10, 12]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": "point-mass-4d"}, "got 'point-mass-4d'; did you mean 'point-mass"),
        ({"problem": SPDL()}, "problem must be a name or a Problem, got SPDL"),
        ({"iterations": 0}, "iterations must be positive, got 0"),
        ({"seeds": ()}, "seeds must be a tuple of different whole numbers"),
        ({"seeds": (1, 1)}, "seeds must be a tuple of different whole numbers"),
        ({"seeds": (-1,)}, "seeds must be a tuple of different whole numbers from 0"),
        ({"seeds": (1.5,)}, "seeds must be a tuple of different whole numbers"),
        ({"seeds": (2**32,)}, r"from 0 to 2\*\*32 - 1"),
        ({"iterations": 2.5}, "iterations must be a whole number, got 2.5"),
        ({"num_environments": 3}, "multiple of num_environments"),
        ({"seeds": 3}, r"seeds must be a tuple .*, as \(1, 2, 3\), got 3"),
        ({"method": SPDL()}, r"method must be CurriculumLearning\(teacher, learner\) or SPRL\(\)"),
        ({"initial_policy": "hold"}, "requires a host environment; point-mass-3d runs in JAX"),
        ({"environment": BALL_CATCHING.environment}, "environment must be settings of PointMass"),
        ({"iterations": "10"}, "iterations must be positive, got '10'"),
    ],
)
def test_an_impossible_experiment_says_what_is_wrong(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(neurips2020("point-mass-3d"), **changes)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"teacher": "spdl"}, r"teacher must be .*, as SPDL\(\) or PPO\(\), got 'spdl'"),
        ({"learner": PPO}, "learner must be an instance of its settings"),
    ],
)
def test_parts_must_be_settings(parts, message):
    with pytest.raises(SelfpacedError, match=message):
        CurriculumLearning(**({"teacher": SPDL(), "learner": PPO()} | parts))
    with pytest.raises(SelfpacedError, match=message):
        neurips2020("point-mass-3d").with_parts(**parts)


@pytest.mark.parametrize(
    ("role", "name", "message"),
    [
        ("teacher", "sdpl", "got 'sdpl'; did you mean 'spdl'"),
        ("learner", "pqo", "got 'pqo'; did you mean 'ppo'"),
        ("teacher", "nowhere:Found", "No module named 'nowhere'; run this in its folder"),
        ("teacher", "nowhere.to.be:found", "cannot load teacher"),
        ("teacher", "selfpaced:Missing", "there is no 'Missing' in .*selfpaced/__init__.py"),
        ("teacher", ":Missing", "cannot load teacher"),
        ("teacher", "./mine:Missing", "cannot load teacher"),
        ("teacher", "json:dumps", "must be a frozen dataclass"),
        ("teacher", f"{__name__}:TargetContexts", "must be a frozen dataclass"),
        ("teacher", f"{__name__}:Changing", "must be a frozen dataclass"),
        ("teacher", f"{__name__}:Incomplete", "lacks update"),
        ("teacher", f"{__name__}:Derived", "must not derive from SPDL, which is final"),
        (
            "teacher",
            f"{__name__}:WithoutDefault",
            "every setting of teacher WithoutDefault must have a default",
        ),
        ("learner", f"{__name__}:Mine", "lacks act, policy, steps_per_update, value"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_one(role, name, message):
    with pytest.raises(SelfpacedError, match=message):
        neurips2020("point-mass-3d", **{role: name})


@pytest.mark.parametrize(
    ("code", "message"),
    [("1 / 0", r"ZeroDivisionError: .* \(.*mistaken.py, line 2\)"), ("1 /", "mistaken.py, line 2")],
)
def test_a_mistake_in_a_users_module_is_shown_with_its_place(tmp_path, monkeypatch, code, message):
    (tmp_path / "mistaken.py").write_text(f"x = 1\n{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SelfpacedError, match=f"cannot load problem 'mistaken:P': .*{message}"):
        neurips2020("mistaken:P")


def test_a_discount_above_one_is_refused():
    with pytest.raises(SelfpacedError, match=r"discount must lie in \(0, 1\], got 1.5"):
        replace(find_problem("point-mass-2d"), discount=1.5)


def test_something_else_than_an_experiment_is_refused():
    with pytest.raises(SelfpacedError, match="does not describe an experiment"):
        Experiment.from_dict({"problem": "point-mass-3d"})


def test_sprl_and_a_step_based_learner_do_not_go_together():
    assert neurips2020("point-mass-3d", "sprl").method.update.zeta == 2.0
    with pytest.raises(SelfpacedError, match="sprl and learner episodic require each other"):
        neurips2020("point-mass-3d", "sprl", "ppo")
    with pytest.raises(SelfpacedError, match="got SPDL and EpisodicPolicy"):
        neurips2020("point-mass-3d", "spdl", "episodic")


def test_a_registered_problem_is_stored_by_its_name():
    published = neurips2020("ball-catching")
    assert replace(published, problem=BALL_CATCHING) == published
    assert replace(published, problem=BALL_CATCHING).problem == "ball-catching"
    assert published.problem_name == "ball-catching"


def test_a_problem_made_in_a_notebook_trains_in_this_process_only(tmp_path):
    made = replace(find_problem("point-mass-2d"), name="point-mass-2d", discount=0.9)
    method = CurriculumLearning(SPDL(), PPO(hidden=(4,), num_minibatches=4))
    experiment = Experiment(made, method, seeds=(1,), steps_per_iteration=64, iterations=2)
    experiment = replace(experiment.with_parts(teacher=Random()), iterations=1)
    assert experiment.resolved is made
    assert experiment.problem_name == "point-mass-2d"
    with experiment.training((1,)) as training:
        training.iterate(training.init(), 0)
        assert training.problem.discount == 0.9
    message = (
        "problem must be named .* got the object 'point-mass-2d'; put it into a module and name it "
        "module:PROBLEM"
    )
    with pytest.raises(SelfpacedError, match=message):
        experiment.to_dict()
    with pytest.raises(SelfpacedError, match=message):
        run(experiment, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_problems_own_environment_is_no_difference():
    experiment = neurips2020("ball-catching")
    assert replace(experiment, environment=BALL_CATCHING.environment) == experiment


def test_settings_without_defaults_can_be_given_in_python():
    experiment = neurips2020("point-mass-2d").with_parts(teacher=WithoutDefault(rate=3.0))
    assert Experiment.from_dict(experiment.to_dict()) == experiment


def test_sprl_survives_json_under_the_names_of_its_parts():
    experiment = neurips2020("point-mass-2d", "sprl")
    plain = json.loads(json.dumps(experiment.to_dict()))
    assert (plain["teacher"]["name"], plain["learner"]["name"]) == ("sprl", "episodic")
    assert isinstance(experiment.method, SPRL)
    assert Experiment.from_dict(plain) == experiment


def test_the_budget_is_part_of_the_experiment():
    budget = Budget(iterations=7, steps_per_iteration=64, evaluate_every=2)
    settings = {"iterations": 7, "steps_per_iteration": 64, "evaluate_every": 2}
    assert replace(neurips2020("point-mass-3d"), **settings).budget == budget


def test_a_teacher_of_the_main_script_trains_in_this_process():
    def sample(self, rng, contexts, state, num):
        return contexts.sample_uniform(rng, num)

    kind = make_dataclass(
        "Mine",
        [],
        frozen=True,
        namespace={
            "init": lambda self, rng, contexts: (),
            "sample": sample,
            "update": lambda self, rng, contexts, state, episodes: (state, {"teacher/mine": 7.0}),
            "__module__": "__main__",
        },
    )
    kind.__module__ = "__main__"
    learner = PPO(hidden=(4,), num_epochs=1, num_minibatches=2)
    experiment = Experiment(
        "point-mass-2d", CurriculumLearning(kind(), learner), (1, 2), 1, steps_per_iteration=32
    )
    with experiment.training(experiment.seeds) as training:
        _, rows = training.iterate(training.init(), 0)
    assert [row["teacher/mine"] for row in rows] == [7.0, 7.0]
    with pytest.raises(SelfpacedError, match=r"Mine must be in a module.*Experiment\.training"):
        experiment.to_dict()
