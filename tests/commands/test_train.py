"""Arguments of `selfpaced train`; training itself is tested elsewhere."""

import json
from dataclasses import replace

import pytest

from selfpaced import PPO, SPDL, SPRL, Random, SelfpacedError, neurips2020
from selfpaced.commands.train import parse_train


def test_the_problem_alone_means_the_papers_experiment():
    options, experiment = parse_train(["point-mass-3d"])
    assert isinstance(experiment.method.teacher, SPDL)
    assert experiment.method.learner == PPO(
        (21,), num_epochs=8, num_minibatches=32, gae_lambda=0.99, value_coefficient=1.0,
        max_gradient_norm=None, time_outs="terminal",
    )  # fmt: skip
    assert experiment.seeds == tuple(range(1, 21))
    assert experiment == neurips2020("point-mass-3d")
    assert options.out is None


def test_every_setting_can_be_overridden():
    flags = (
        "--seeds 3 --first-seed 7 --iterations 50 --evaluate-every 10 --num-environments 4 "
        "--teacher.zeta 2 --teacher.std-lower-bound 0.1 0.3 --learner.hidden 32 32 "
        "--learner.max-gradient-norm 0.5 --learner.time-outs bootstrap"
    )
    _, experiment = parse_train(["point-mass-2d", *flags.split()])
    teacher, learner = experiment.method.teacher, experiment.method.learner
    assert experiment.seeds == (7, 8, 9)
    assert teacher.zeta == 2.0
    assert teacher.std_lower_bound == (0.1, 0.3)
    assert learner.hidden == (32, 32)
    assert learner.max_gradient_norm == 0.5
    assert learner.time_outs == "bootstrap"
    assert (experiment.iterations, experiment.evaluate_every) == (50, 10)
    assert experiment.num_environments == 4


def test_another_teacher_has_its_own_settings():
    _, experiment = parse_train(["point-mass-3d", "--teacher", "random"])
    assert experiment.method.teacher == Random()
    with pytest.raises(
        SelfpacedError, match=r"^unrecognized options: --teacher.zeta, 2; see `self"
    ):
        parse_train(["point-mass-3d", "--teacher", "random", "--teacher.zeta", "2"])


def test_the_parts_of_sprl_have_flags_like_a_teacher_and_a_learner():
    words = ["point-mass-3d", "--teacher=sprl", "--teacher.zeta", "1.5", "--seeds", "2"]
    _, experiment = parse_train(words)
    assert isinstance(experiment.method, SPRL)
    assert experiment.method.update.zeta == 1.5
    assert experiment.method.policy == neurips2020("point-mass-3d", "sprl").method.policy


def test_our_host_environments_have_flags_too():
    _, changed = parse_train(["ball-catching", "--environment.normal", "axis"])
    assert changed.resolved.environment.normal == "axis"
    _, unchanged = parse_train(["ball-catching"])
    assert unchanged.environment is None
    assert unchanged == neurips2020("ball-catching")


def test_a_users_teacher_needs_no_settings():
    _, experiment = parse_train(["point-mass-2d", "--teacher", "tests.probes:UserTeacher"])
    assert experiment.teacher_name == "tests.probes:UserTeacher"


def preset_file(folder, plain):
    path = folder / "preset.json"
    path.write_text(json.dumps(plain))
    return str(path)


def test_everything_in_a_preset_file_is_taken_except_the_seeds(tmp_path):
    published = neurips2020("ball-catching")
    tuned = replace(
        published.with_parts(learner=replace(published.method.learner, hidden=(8,))),
        seeds=(1001, 1002), iterations=7, steps_per_iteration=1000, num_environments=2,
        evaluate_every=3, evaluation_episodes=4, initial_policy="hold",
        environment=replace(published.resolved.environment, normal="axis"),
    )  # fmt: skip
    path = preset_file(tmp_path, tuned.to_dict())
    _, trained = parse_train(["ball-catching", "--preset", path, "--seeds", "2"])
    assert trained == replace(tuned, seeds=(1, 2))
    flags = ["--iterations", "5", "--evaluate-every", "1", "--environment.normal", "released"]
    _, changed = parse_train(["ball-catching", "--preset", path, "--seeds", "2", *flags])
    expected = replace(tuned, seeds=(1, 2), iterations=5, evaluate_every=1, environment=None)
    assert changed == expected


def test_what_a_preset_file_lacks_of_the_budget_is_the_papers(tmp_path):
    published = neurips2020("point-mass-2d")
    plain = published.to_dict() | {"iterations": 7}
    for name in ("seeds", "num_environments", "evaluate_every", "environment", "variant"):
        del plain[name]
    _, trained = parse_train(["point-mass-2d", "--preset", preset_file(tmp_path, plain)])
    assert trained == replace(published, iterations=7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 0}, "preset.json: iterations must be positive, got 0"),
        ({"iteration": 7}, "preset.json: member of an experiment must be one of .*'iteration'"),
        ({"problem": None}, "preset.json: problem must be a name or the content .*, got None"),
        (
            {"learner": {"name": "ppo", "hidden": 8}},
            "preset.json: hidden of PPO must be a list of whole numbers, got 8",
        ),
    ],
)
def test_a_preset_file_with_a_wrong_or_unknown_field_is_refused(tmp_path, change, message):
    path = preset_file(tmp_path, neurips2020("point-mass-2d").to_dict() | change)
    with pytest.raises(SelfpacedError, match=message):
        parse_train(["point-mass-2d", "--preset", path])


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        ([], "got no arguments"),
        (["--seeds", "4", "point-mass-2d"], "got '--seeds'"),
        (["--teacher=random", "point-mass-2d"], "got '--teacher=random'"),
    ],
)
def test_the_problem_must_come_first(arguments, got):
    with pytest.raises(SelfpacedError, match=f"PROBLEM must come first, {got}; for example"):
        parse_train(arguments)


@pytest.mark.parametrize(
    ("teacher", "learner", "explanation"),
    [
        ("goal-gan", "ppo", "initial distribution (D2)"),
        ("default", "sac", "its slow copy moves in an update"),
    ],
)
def test_the_help_has_the_settings_of_teacher_and_learner(capsys, teacher, learner, explanation):
    with pytest.raises(SystemExit) as stop:
        parse_train(["ball-catching", "--teacher", teacher, "--learner", learner, "--help"])
    assert stop.value.code == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert explanation in shown
    assert f"those of {teacher} and {learner} on ball-catching" in shown
    assert "PROBLEM problem to learn" in shown


def test_the_groups_of_the_help_have_readable_names(capsys):
    with pytest.raises(SystemExit):
        parse_train(["ball-catching", "--help"])
    shown = capsys.readouterr().out
    titles = ("seed and process", "method", "budget", "teacher", "learner", "environment")
    assert all(f" {title} options " in shown for title in titles)
    assert "repetitions" not in shown
    assert "settings options" not in shown


def test_the_help_of_the_teacher_names_no_problem(capsys):
    with pytest.raises(SystemExit):
        parse_train(["point-mass-3d", "--help"])
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "NAME-star for the paper's starred variant" in shown
    assert "spdl-star" not in shown


def test_the_help_needs_no_problem(capsys):
    with pytest.raises(SystemExit) as stop:
        parse_train(["--help"])
    assert stop.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "those of spdl and ppo on point-mass-3d" in shown
