import ast
import inspect
import subprocess
import sys
from itertools import pairwise

import pytest

from selfpaced import PPO, SPDL, Random, __version__
from selfpaced.commands.compare import CompareOptions
from selfpaced.commands.main import main
from selfpaced.commands.reproduce import ReproduceOptions
from selfpaced.commands.search import SearchOptions
from selfpaced.commands.train import TrainOptions, parse_train
from selfpaced.commands.watch import WatchOptions
from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.learners import LEARNERS
from selfpaced.teachers import TEACHERS


def failure(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


def test_without_a_command_the_help_names_them_all(capsys):
    main([])
    text = capsys.readouterr().out
    assert all(name in text for name in ("list", "train", "resume", "plot", "watch"))


def test_list_names_everything(capsys):
    main(["list"])
    text = capsys.readouterr().out
    for name in ("point-mass-3d", "point-mass-2d", "spdl", "default", "random", "ppo"):
        assert name in text
    assert "spdl-star, goal-gan-star, default-star: the paper's variants for ball-catching" in text


@pytest.mark.parametrize("module", ["selfpaced", "selfpaced.commands.main"])
def test_the_command_is_also_a_module(module):
    command = [sys.executable, "-m", module, "train", "nonsense"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "unknown problem 'nonsense'" in told.stderr


def test_train_alone_means_the_paper():
    options, experiment = parse_train(["point-mass-3d"])
    assert isinstance(experiment.teacher, SPDL)
    assert experiment.learner == PPO(
        (21,), num_epochs=8, num_minibatches=32, gae_lambda=0.99, value_coefficient=1.0,
        max_gradient_norm=None,
    )  # fmt: skip
    assert experiment.seeds == tuple(range(1, 21))
    assert options.out is None


def test_every_setting_can_be_overridden():
    flags = (
        "--seeds 3 --first-seed 7 --iterations 50 --evaluate-every 10 --num-environments 4 "
        "--teacher.zeta 2 --teacher.std-lower-bound 0.1 0.3 --learner.hidden 32 32 "
        "--learner.max-gradient-norm 0.5 --learner.time-outs bootstrap"
    )
    _, experiment = parse_train(["point-mass-2d", *flags.split()])
    assert experiment.seeds == (7, 8, 9)
    assert experiment.teacher.zeta == 2.0
    assert experiment.teacher.std_lower_bound == (0.1, 0.3)
    assert experiment.learner.hidden == (32, 32)
    assert experiment.learner.max_gradient_norm == 0.5
    assert experiment.learner.time_outs == "bootstrap"
    assert (experiment.iterations, experiment.evaluate_every) == (50, 10)
    assert experiment.num_environments == 4


def test_another_teacher_has_its_own_settings(capsys):
    assert parse_train(["point-mass-3d", "--teacher", "random"])[1].teacher == Random()
    with pytest.raises(SystemExit):
        parse_train(["point-mass-3d", "--teacher", "random", "--teacher.zeta", "2"])
    assert "zeta" in capsys.readouterr().err


def test_options_may_come_before_the_problem():
    words = ["--seeds", "4", "--out", "runs/x", "point-mass-2d", "--teacher.zeta", "2"]
    options, experiment = parse_train(words)
    assert (options.seeds, experiment.problem) == (4, "point-mass-2d")
    words = ["--teacher=selfpaced:Random", "--out", "a:b", "point-mass-2d"]
    assert parse_train(words)[1].problem == "point-mass-2d"
    words = ["--out", "point-mass-2d", "point-mass-3d"]
    assert parse_train(words)[1].problem == "point-mass-3d"


def test_the_version_is_told(capsys):
    main(["--version"])
    assert capsys.readouterr().out == f"selfpaced {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tarin"], "unknown command 'tarin': did you mean 'train'"),
        (["train", "point-mass-4d"], "did you mean 'point-mass-"),
        (["train", "point-mass-3d", "--teacher", "sdpl"], "did you mean 'spdl'"),
        (["train", "point-mass-3d", "--learner", "pp"], "did you mean 'ppo'"),
        (["train", "point-mass-3d", "--teacher.max-kl", "-1"], "max_kl must be positive, got -1"),
        (["train", "point-mass-3d", "--seeds", "0"], "seeds must be positive"),
        (["train", "point-mass-3d", "--seeds", "many"], "many"),
        (["train", "point-mass-3d", "--no-such-flag"], "no-such-flag"),
        (["resume", "/nowhere"], "is /nowhere a run folder"),
        (["plot", "/nowhere"], "is /nowhere a run folder"),
        (["train", "point-mass-3d", "--preset", "no.json"], "there is no preset file no.json"),
        (["compare", "ball-catching", "--teachers", "spdl*,spdl-star"], "spdl-star is there twice"),
        (["train", "point-mass-3d", "--out", "/proc/nothing"], "cannot write to /proc/nothing"),
    ],
)
def test_a_mistake_gets_a_message_and_no_traceback(capsys, arguments, message):
    error = failure(capsys, *arguments)
    assert message in error.replace("\n", " ")


@pytest.mark.parametrize(
    "kind",
    [*TEACHERS.values(), *LEARNERS.values(), BallCatching, AntGate, TrainOptions, CompareOptions,
     SearchOptions, ReproduceOptions, WatchOptions],
)  # fmt: skip
def test_every_flag_is_explained_by_the_help(kind):
    [definition] = ast.parse(inspect.getsource(kind)).body
    for statement, following in pairwise([*definition.body, None]):
        if isinstance(statement, ast.AnnAssign):
            explanation = getattr(getattr(following, "value", None), "value", None)
            assert isinstance(explanation, str), statement.target.id
            assert len(explanation) > 3


@pytest.mark.parametrize(
    ("teacher", "learner", "explanation"),
    [
        ("goal-gan", "ppo", "initial distribution (D2)"),
        ("default", "sac", "slow copy of the value"),
    ],
)
def test_the_explanations_are_shown(capsys, teacher, learner, explanation):
    with pytest.raises(SystemExit) as stop:
        main(["train", "ball-catching", "--teacher", teacher, "--learner", learner, "--help"])
    assert stop.value.code == 0
    assert explanation in " ".join(capsys.readouterr().out.replace("│", " ").split())
