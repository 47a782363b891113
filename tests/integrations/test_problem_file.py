"""Problems from TOML files."""

import json

import numpy as np
import pytest

from selfpaced import PPO, Default, Experiment, RunFolder, SelfpacedError, neurips2020, run
from selfpaced.commands.main import main
from selfpaced.integrations.problem_file import read_problem
from selfpaced.training.curriculum_learning import CurriculumLearning

TEXT = """
discount = 0.9

[environment]
id = "Pendulum-v1"
hand_over = ["m", "max_torque"]
success = "own_success:is_fast"
append_context = "scaled"
settings = {g = 9.81}

[contexts.mass]
bounds = [0.5, 3.0]
initial = {mean = 1.0, std = 0.2}
target = {mean = 2.0, std = 0.05}

[contexts.torque_limit]
bounds = [0.5, 2]
scale = "linear"
initial = {mean = 2, std = 0.2}
target = {mean = 0.5, std = 0.1}
"""
FUNCTIONS = """
def is_fast(observation, info):
    return abs(observation[2]) > 1.0

def set_mass(environment, context):
    environment.unwrapped.m = context[0]

NUMBER = 3
"""


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path, monkeypatch):
    """A working directory with a problem file and the module that it names."""
    (tmp_path / "heavy.toml").write_text(TEXT)
    (tmp_path / "own_success.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def small(problem, **changes):
    method = CurriculumLearning(Default(), PPO(hidden=(8,), num_minibatches=4))
    sizes = {"iterations": 2, "steps_per_iteration": 64, "evaluation_episodes": 2}
    return Experiment(problem, method, seeds=(1,), **sizes | changes)


def test_a_file_gives_environment_contexts_and_discount():
    problem = read_problem("heavy.toml")
    assert (problem.name, problem.discount) == ("heavy", 0.9)
    contexts = problem.contexts
    assert contexts.names == ("mass", "torque_limit")
    assert (contexts.lower, contexts.upper) == ((0.5, 0.5), (3.0, 2.0))
    np.testing.assert_array_equal(contexts.initial.mean, [1.0, 2.0])
    np.testing.assert_array_equal(contexts.target.mean, [2.0, 0.5])
    np.testing.assert_array_equal(contexts.target.std, [0.05, 0.1])
    assert problem.environment.settings == (("g", 9.81),)
    assert problem.spec.observation_size == 5


def test_a_component_can_have_a_logarithmic_scale(folder):
    (folder / "heavy.toml").write_text(TEXT.replace('"linear"', '"log"'))
    assert read_problem("heavy.toml").contexts.scales == ("linear", "log")


def test_what_is_optional_has_defaults(folder):
    lines = [line for line in TEXT.splitlines() if not line.startswith(("disc", "succ", "append"))]
    (folder / "short.toml").write_text("\n".join(lines))
    problem = read_problem("short.toml")
    assert problem.discount == 0.99
    assert problem.summary == "Pendulum-v1; context: mass, torque_limit"
    assert problem.spec.observation_size == 3


def test_a_context_can_be_handed_over_by_a_function(folder):
    text = TEXT.replace('["m", "max_torque"]', '"own_success:set_mass"')
    (folder / "heavy.toml").write_text(text)
    vector = read_problem("heavy.toml").environment.make(1)
    vector.reset(seed=[0], options={"context": np.array([[2.5, 1.0]])})
    assert vector.env.envs[0].unwrapped.m == 2.5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("discount", "discont", "key must be one of .*, got 'discont'; did you mean 'discount'"),
        ("[contexts.", "[context.", "key must be one of .*'context'; did you mean 'contexts'"),
        ("success", "sucess", r"key in \[environment\] must .* 'sucess'; did you mean 'success'"),
        ("bounds = [0.5, 3", "bond = [0.5, 3", r"key in \[contexts.mass\] .* mean 'bounds'"),
        ("= 2.0, std", "= 2.0, sd", r"key in \[contexts.mass.target\] must be one of mean, std"),
        ("0.9", "1.5", r"discount must lie in \(0, 1\], got 1.5"),
        ("0.9", '"0.9"', "discount must be a finite number, got '0.9'"),
        ("mean = 2.0", "mean = 4.0", r"mass.target.mean must lie in the bounds \[0.5, 3\], got 4"),
        ("mean = 1.0", "mean = 0.0", r"mass.initial.mean must lie in the bounds \[0.5, 3\], got 0"),
        ("std = 0.05", "std = 0", "contexts.mass.target.std must be positive, got 0"),
        ("[0.5, 3.0]", "[0.5]", r"contexts.mass.bounds must be two numbers .*, got \[0.5\]"),
        ("[0.5, 3.0]", "[3, 1]", r"contexts.mass.bounds must have lower < upper, got \[3, 1\]"),
        ('"linear"', '"lin"', "torque_limit.scale must be one of linear, log, got 'lin'"),
        ('[0.5, 2]\nscale = "linear"', '[-1, 2]\nscale = "log"', r"bounds must be positive with"),
        ("{mean = 1.0, std = 0.2}", "1.0", r"mass.initial must be a table, got 1.0; write \[con"),
        ("target = {mean = 0.5, std = 0.1}", "", "contexts.torque_limit.target must be given"),
        ('["m", "max_torque"]', '["m"]', r"hand_over must be one attribute for each of mass, tor"),
        ('["m", "max_torque"]', '"m"', "hand_over must be 'options', a list of attributes or"),
        ('"scaled"', '"yes"', "append_context must be true, false or 'scaled', got 'yes'"),
        (
            "own_success:is_fast",
            "is_fast",
            "success must be a function as 'module:function', got 'is_f",
        ),
        (
            "own_success:is_fast",
            "own_success:is_low",
            "cannot load .*environment.success 'own_success:is_low'",
        ),
        (
            "own_success:is_fast",
            "own_success:NUMBER",
            "environment.success must be a function, got int",
        ),
        ("settings = {g = 9.81}", "time_limit = 0", "time_limit must be a positive whole number"),
        ("id =", "id", "must be TOML: .*line 5"),
    ],
)
def test_mistakes_are_reported_in_one_line_with_file_and_key(folder, old, new, message):
    assert old in TEXT
    (folder / "heavy.toml").write_text(TEXT.replace(old, new))
    with pytest.raises(SelfpacedError, match=message) as info:
        read_problem("heavy.toml")
    assert "heavy.toml" in str(info.value)
    assert "\n" not in str(info.value)


def test_a_missing_file_is_reported():
    with pytest.raises(
        SelfpacedError, match=r"problem file gone\.toml must be a readable TOML file"
    ):
        read_problem("gone.toml")


@pytest.mark.slow
def test_a_run_folder_does_not_need_the_file(folder):
    experiment = small("heavy.toml")
    assert experiment == small("heavy.toml")
    assert experiment.problem_name == "heavy"
    run(experiment, "run", workers=1)
    (folder / "heavy.toml").unlink()
    stored = RunFolder("run").experiment()
    assert stored == experiment
    assert json.loads((folder / "run" / "experiment.json").read_text())["experiment"][
        "problem"
    ] == {
        "file": "heavy.toml",
        "toml": TEXT,
    }
    assert RunFolder("run").summary()["problem"] == "heavy"
    main(["plot", "run"])


def test_other_content_is_another_experiment(folder):
    before = small("heavy.toml")
    (folder / "heavy.toml").write_text(TEXT.replace("0.05", "0.06"))
    assert small("heavy.toml") != before


def test_the_default_teacher_paces_by_mastery():
    assert neurips2020("heavy.toml").method.teacher.pacing == "mastery"


SMALL = "--seeds 1 --iterations 1 --steps-per-iteration 64 --evaluation-episodes 2"


@pytest.mark.slow
def test_commands_take_a_file(folder, capsys):
    learner = ["--learner.num-minibatches", "4", "--learner.hidden", "8"]
    main(["train", "heavy.toml", *SMALL.split(), *learner])
    assert RunFolder("runs/heavy-spdl-ppo").is_finished
    main(["compare", "heavy.toml", "--teachers", "default,random", *SMALL.split(), *learner])
    assert (folder / "runs" / "compare-heavy" / "comparison.md").exists()
    main(["check", "heavy.toml"])
    assert "selfpaced train heavy.toml" in capsys.readouterr().out


def test_a_context_without_effect_is_told_before_training(folder, capsys):
    text = TEXT.replace('["m", "max_torque"]', '"options"')
    (folder / "heavy.toml").write_text(text)
    main(["train", "heavy.toml", *SMALL.split(), "--learner.num-minibatches", "4"])
    assert "Pendulum-v1 seems to ignore its context" in capsys.readouterr().out


def test_a_wrong_attribute_is_told_before_training(folder, capsys):
    (folder / "heavy.toml").write_text(TEXT.replace('"m"', '"mass"'))
    with pytest.raises(SystemExit):
        main(["train", "heavy.toml", *SMALL.split(), "--learner.num-minibatches", "4"])
    error = capsys.readouterr().err
    assert "attribute of PendulumEnv must be one of" in error
    assert not (folder / "runs" / "heavy-spdl-ppo").exists()
