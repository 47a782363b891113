"""The command `selfpaced check`; the findings are tested with the studies."""

import re
import shlex
import sys

import pytest

from selfpaced.commands.main import main
from selfpaced.commands.train import parse_train


def last_line(capsys):
    return capsys.readouterr().out.splitlines()[-1]


def test_the_table_shows_every_check_and_a_command_that_train_accepts(capsys):
    main(["check", "examples.pendulum:PENDULUM", "--num-environments", "8"])
    shown = capsys.readouterr().out
    for name in ("spaces", "context effect", "context visible", "success", "discount"):
        assert f"│ {name}" in shown
    assert "1 warning; suggested settings:" in shown
    command = shown.splitlines()[-1]
    assert command == (
        "selfpaced train examples.pendulum:PENDULUM --iterations 1000 --steps-per-iteration 2048 "
        "--num-environments 8"
    )
    _, experiment = parse_train(shlex.split(command)[2:])
    assert experiment.steps_per_iteration == 2048
    assert experiment.num_environments == 8
    assert experiment.method.teacher.pacing == "mastery"


def test_the_defaults_are_those_of_training(capsys):
    main(["check", "point-mass-2d", "--learner", "sac", "--iterations", "10"])
    command = last_line(capsys)
    _, experiment = parse_train(shlex.split(command)[2:])
    assert experiment.learner_name == "sac"
    assert experiment.iterations == 200  # twice 46 updates and offsets of 49 and 5
    assert experiment.steps_per_iteration == 2048


def test_problems_whose_target_is_no_gaussian_are_checked_for_another_teacher(capsys):
    main(["check", "point-mass-2d-bimodal"])
    shown = capsys.readouterr().out
    assert "updates to the target" not in shown
    _, experiment = parse_train(shlex.split(shown.splitlines()[-1])[2:])
    assert experiment.teacher_name == "currot"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--iterations 5", "PROBLEM must come first, got '--iterations'"),
        ("point-mass-2d --iterations 0", "iterations must be positive, got 0"),
        ("point-mass-2d --num-environments 3", "steps_per_iteration must be a multiple of"),
        ("point-mass-4d", "problem must be one of .*; did you mean"),
        ("mine.py", r"got 'mine\.py'; name one of your own as module:NAME"),
        ("mistaken:PROBLEM", r"{folder}/mistaken\.py, line 2"),
        ("failing:PROBLEM", r"RuntimeError: no motor \({folder}/failing\.py, line 9\)"),
    ],
)
def test_mistakes_are_reported_in_one_line(capsys, tmp_path, monkeypatch, arguments, message):
    (tmp_path / "mistaken.py").write_text("import math\nmath.nothing\n")
    (tmp_path / "failing.py").write_text(
        """import dataclasses
import gymnasium
from selfpaced import PROBLEMS
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment


class Failing(gymnasium.Env):
    def __init__(self):
        raise RuntimeError("no motor")


gymnasium.register("Failing-v0", Failing, max_episode_steps=5)
environment = GymnasiumEnvironment("Failing-v0")
PROBLEM = dataclasses.replace(PROBLEMS["point-mass-2d"], environment=environment)
"""
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        main(["check", *arguments.split()])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert re.search(message.format(folder=re.escape(str(tmp_path))), error)
    assert len(error.splitlines()) == 1
    for name in ("mistaken", "failing"):
        sys.modules.pop(name, None)
