"""The command line as a whole: help, errors and exit codes."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from itertools import pairwise

import pytest

from selfpaced import LEARNERS, PROBLEMS, TEACHERS, EpisodicPolicy, EpisodicUpdate, __version__
from selfpaced.commands.main import COMMANDS, Command, find_commands, main, reported_errors
from selfpaced.commands.options import LogOptions, Repetitions
from selfpaced.commands.train import MethodOptions
from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.errors import InterruptedRunError
from selfpaced.experiment import Budget
from selfpaced.reports.recording import VideoSettings


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
    assert all(name in text for name in COMMANDS)
    assert all(command.summary in text for command in COMMANDS.values())


def test_every_file_with_options_and_main_is_a_command(tmp_path):
    command = (
        'import nothing\n\nclass Options:\n    """Do {0}.\n\n    More."""\n\ndef main(): pass\n'
    )
    for name in ("watch", "zip", "list", "amend"):
        (tmp_path / f"{name}.py").write_text(command.format(name))
    (tmp_path / "shared.py").write_text("class Options:\n    pass\n")
    (tmp_path / "start.py").write_text("def main(): pass\n")
    found = find_commands(tmp_path)
    assert list(found) == ["list", "watch", "amend", "zip"]
    assert found["zip"] == Command("selfpaced.commands.zip", "Do zip.")


def test_the_summary_of_a_command_is_the_first_line_of_its_help():
    assert list(COMMANDS)[:4] == ["list", "check", "advise", "train"]
    for command in COMMANDS.values():
        lines = import_module(command.module).Options.__doc__.splitlines()
        assert command.summary == lines[0]


def test_the_help_is_fast_because_it_loads_no_numerics():
    code = (
        "import sys; from selfpaced.commands.main import main; main(['--help']); "
        "print([name for name in ('jax', 'matplotlib', 'scipy') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert f"usage: selfpaced {name}" in capsys.readouterr().out


def test_list_names_everything(capsys):
    main(["list"])
    text = capsys.readouterr().out
    for name in ("point-mass-3d", "point-mass-2d", "spdl", "default", "random", "ppo", "sprl"):
        assert name in text
    assert "spdl-star, goal-gan-star, default-star: the paper's variants for ball-catching" in text


def test_summaries_of_a_list_begin_in_one_column(capsys):
    main(["list"])
    lines = capsys.readouterr().out.splitlines()
    summaries = [problem.summary for problem in PROBLEMS.values()]
    columns = {line.index(text) for text in summaries for line in lines if line.endswith(text)}
    assert columns == {2 + max(map(len, PROBLEMS)) + 1}


@pytest.mark.parametrize("module", ["selfpaced", "selfpaced.commands.main"])
def test_the_command_is_also_a_module(module):
    command = [sys.executable, "-m", module, "train", "nonsense"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "got 'nonsense'" in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_the_version_is_printed(capsys):
    main(["--version"])
    assert capsys.readouterr().out == f"selfpaced {__version__}\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError("no [space] left"), 2, "error: no [space] left\n"),
        (KeyboardInterrupt(), 130, "stopped\n"),
        (
            InterruptedRunError("stopped before the first iteration was saved"),
            130,
            "stopped before the first iteration was saved\n",
        ),
    ],
)
def test_errors_and_interruptions_are_one_line(capsys, error, code, message):
    with pytest.raises(SystemExit) as stop, reported_errors():
        raise error
    assert stop.value.code == code
    assert capsys.readouterr().err == message


def test_a_closed_pipe_ends_quietly_but_other_errors_keep_their_message(capsys):
    with pytest.raises(SystemExit) as stop, reported_errors():
        raise BrokenPipeError(32, "Broken pipe")
    assert stop.value.code == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("arguments", ["list", "--help", "--version", "plot --help"])
def test_a_reader_may_close_the_pipe(arguments):
    command = f"{sys.executable} -m selfpaced {arguments} | true; echo ${{PIPESTATUS[0]}}"
    finished = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60
    )
    assert finished.stderr == ""
    assert finished.stdout in ("0\n", "1\n")


def test_a_mistake_of_ours_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), reported_errors():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tarin"], "got 'tarin'; did you mean 'train'"),
        (["train", "point-mass-4d"], "did you mean 'point-mass-"),
        (["train", "point-mass-3d", "--teacher", "sdpl"], "did you mean 'spdl'"),
        (["train", "point-mass-3d", "--learner", "pp"], "did you mean 'ppo'"),
        (["train", "point-mass-3d", "--teacher.max-kl", "-1"], "max_kl must be positive, got -1"),
        (["train", "point-mass-3d", "--seeds", "0"], "seeds must be positive"),
        (["train", "point-mass-3d", "--seeds", "many"], "many"),
        (["train", "point-mass-3d", "--no-such-flag"], "no-such-flag"),
        (["train", "--seeds", "3"], "PROBLEM must come first, got '--seeds'"),
        (["compare", "--teachers", "spdl"], "PROBLEM must come first, got '--teachers'"),
        (["search"], "PROBLEM must come first, got no arguments"),
        (["search", "point-mass-3d", "--teacher", "alpgmm"], "did you mean 'alp-gmm'"),
        (["resume", "/nowhere"], "is /nowhere a run folder"),
        (["plot", "/nowhere"], "is /nowhere a run folder"),
        (["plot"], "RUN must be at least one run folder, got none"),
        (["train", "point-mass-3d", "--preset", "no.json"], "preset file no.json does not exist"),
        (["compare", "ball-catching", "--teachers", "spdl*,spdl-star"],
         "duplicate teacher 'spdl-star' in --teachers"),
        (["compare", "point-mass-3d", "--teachers", "spdl,goalgan"], "did you mean 'goal-gan'"),
        (["reproduce", "table-1-pp0"], "did you mean 'table-1-ppo'"),
        (["reproduce", "table-1-ppo", "--teachers", "spdll"], "did you mean 'spdl'"),
        (["train", "point-mass-3d", "--out", "/proc/nothing"], "cannot write to /proc/nothing"),
    ],
)  # fmt: skip
def test_a_mistake_gets_a_message_and_no_traceback(capsys, arguments, message):
    error = failure(capsys, *arguments)
    assert message in error.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--teacher.zeta -1", "zeta must be non-negative, got -1.0; the default is 1.4"),
        ("--seeds 0", "seeds must be positive, got 0; the default is 20"),
        ("--first-seed -1", "first_seed must be non-negative, got -1; the default is 1"),
        ("--first-seed 4294967295 --seeds 2",
         "first_seed must be at most 4294967294 with 2 seeds, got 4294967295; seeds are below "
         "2**32"),
        ("--seeds many", "--seeds must be INT, got 'many'; see `selfpaced train --help`"),
        ("--learner.clip=a --seeds 3",
         "--learner.clip must be FLOAT, got 'a'; see `selfpaced train --help`"),
        ("--learner.time-outs never",
         "--learner.time-outs must be one of terminal, bootstrap, got 'never'; see `selfpaced "
         "train --help`"),
        ("--teacher", "--teacher must have a value, got none; see `selfpaced train --help`"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_in_one_line(capsys, arguments, message):
    assert failure(capsys, "train", "point-mass-3d", *arguments.split()) == f"error: {message}\n"


def test_the_last_possible_seed_is_accepted():
    assert Repetitions(seeds=2, first_seed=2**32 - 2).all_seeds == (2**32 - 2, 2**32 - 1)


OPTIONS = [
    import_module(command.module).Options for name, command in COMMANDS.items() if name != "watch"
]


@pytest.mark.parametrize(
    "kind",
    [*TEACHERS.values(), *LEARNERS.values(), EpisodicUpdate, EpisodicPolicy, BallCatching, AntGate,
     Budget, Repetitions, LogOptions, MethodOptions, VideoSettings, *OPTIONS],
    ids=lambda kind: f"{kind.__module__}.{kind.__name__}",
)  # fmt: skip
def test_every_flag_is_explained_by_the_help(kind):
    [definition] = ast.parse(inspect.getsource(kind)).body
    for statement, following in pairwise([*definition.body, None]):
        if isinstance(statement, ast.AnnAssign) and not is_shared(statement):
            explanation = getattr(getattr(following, "value", None), "value", None)
            assert isinstance(explanation, str), statement.target.id
            assert len(explanation) > 3


def is_shared(statement):
    """Whether a field is explained where it is declared, once for several commands."""
    names = {node.id for node in ast.walk(statement.annotation) if isinstance(node, ast.Name)}
    return names & {
        "ProblemName",
        "NumIterations",
        "RepetitionFlags",
        "MethodOptions",
        "Budget",
        "EngineFlags",
        "LogFlags",
    }
