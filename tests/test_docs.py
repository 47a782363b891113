"""Everything that the pages show is executed."""

import ast
import dataclasses
import re
import shlex
import shutil
import sys
from importlib import import_module
from pathlib import Path

import jax
import numpy as np
import pytest
from PIL import Image

from selfpaced import (
    LEARNERS,
    PPO,
    TEACHERS,
    CurriculumLearning,
    Default,
    Episodes,
    EpisodicPolicy,
    EpisodicUpdate,
    RunFolder,
    neurips2020,
)
from selfpaced.commands.main import COMMANDS, main
from selfpaced.commands.options import parse
from selfpaced.commands.train import parse_train
from selfpaced.errors import MissingPartError
from selfpaced.registry import PROBLEMS
from selfpaced.runs.storage import write_json

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "results")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
MODULES = {  # file that a page asks the reader to write -> what its code contains
    "near_success": "class NearSuccess:",
    "linear": "class LinearPolicyGradient:",
    "rolling": "ROLLING = ",
    "rolling_figure": "POSITIONS = ",
    "mine": "GATE = ",
    "best_seed": "class BestSeed:",
}
OPTIONAL = {
    "brax",
    "gymnax",
    "mujoco_playground",
    "sb3_contrib",
    "sbx",
    "stable_baselines3",
    "torch",
}

ELSEWHERE = {  # page -> where its code is executed instead
    "rllib.md": pytest.mark.skip(reason="executed by tests/integrations/rllib, with RLlib"),
}


def blocks(language):
    found = []
    for page in PAGES:
        for number, block in enumerate(
            re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)
        ):
            name = f"{page.parent.name}/{page.name}-{number}"
            found.append(pytest.param(block, id=name, marks=ELSEWHERE.get(page.name, ())))
    return found


def code_with(text):
    return next(block.values[0] for block in blocks("python") if text in block.values[0])


def commands(page):
    """Return the commands in bash blocks and in inline code, as lists of words."""
    text = page.read_text().replace("\\\n", " ")  # one command on several lines
    lines = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.S)).splitlines()
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    lines += [" ".join(code.split()) for code in re.findall(r"`(selfpaced [^`]+)`", prose)]
    words = [shlex.split(line, comments=True) for line in lines if "..." not in line]
    return [each[1:] for each in words if each[:1] == ["selfpaced"] and each[1:2] != ["--help"]]


def options_of(command):
    module = import_module(COMMANDS[command][0])
    (kind,) = (
        kind
        for name, kind in vars(module).items()
        if name.endswith("Options") and kind.__module__ == module.__name__
    )
    return kind


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """A working directory with the modules, the problem file and the preset of the pages."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(code_with(text))
        monkeypatch.delitem(sys.modules, name, raising=False)
    [problem, *_] = blocks("toml")
    (tmp_path / "heavy.toml").write_text(problem.values[0])
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    preset = tmp_path / "runs" / "search-point-mass-3d-alp-gmm-ppo" / "preset.json"
    write_json(preset, neurips2020("point-mass-3d", "alp-gmm").to_dict())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_on_the_pages_runs(code, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    try:
        exec(compile(code, "page", "exec"), {"__name__": "page"})
    except MissingPartError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OPTIONAL:
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_commands_on_the_pages_are_accepted(page, folder):
    for command, *arguments in commands(page):
        assert command in COMMANDS
        arguments = [word for word in arguments if word != "--help"]
        if command == "train" and arguments:
            parse_train(arguments)
        elif arguments:
            parse(command, options_of(command), arguments)


def test_commands_are_found_in_blocks_and_in_prose(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```bash\nselfpaced list  # all\nmake test\n```\nAlso `selfpaced plot RUN`.")
    assert commands(page) == [["list"], ["plot", "RUN"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_on_the_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_a_curriculum_changes_at_most_ten_lines_of_a_script_and_both_versions_run():
    pytest.importorskip("stable_baselines3", reason="requires selfpaced[sb3]")
    (difference,) = re.findall(r"```diff\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    lines = difference.splitlines()
    assert sum(line.startswith(("+", "-")) for line in lines) <= 10
    for unwanted, num_observed in (("+", 2), ("-", 3)):  # the context is appended
        script = "\n".join(line[1:] for line in lines if not line.startswith(unwanted))
        assert "n_envs=8" in script
        assert "learn(1_000_000" in script
        short = script.replace("n_envs=8", "n_envs=1").replace("1_000_000", "2_048")
        space: dict = {"__name__": "script"}
        exec(compile(short, "script", "exec"), space)
        assert space["model"].num_timesteps == 2_048
        assert space["model"].observation_space.shape == (num_observed,)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


SMALL = "--seeds 1 --iterations 2 --steps-per-iteration 64 --evaluation-episodes 2"


@pytest.mark.slow
def test_the_problem_of_the_docs_runs_like_the_others(folder, capsys):
    small = "--learner.num-minibatches 4 --learner.hidden 8"
    main(["train", "mine:GATE", *SMALL.split(), *small.split()])
    run = RunFolder(folder / "runs" / "mine-GATE-spdl-ppo")
    assert run.is_finished
    assert run.experiment().problem == "mine:GATE"
    main(["plot", str(run.path)])
    assert "learning_curve.png" in capsys.readouterr().out
    main(["watch", str(run.path), "--episodes", "1", "--out", "video.gif"])
    with Image.open(folder / "video.gif") as video:
        colours = video.convert("RGB").getcolors(10**6)
    assert len(colours) > 10  # not an empty picture
    with pytest.raises(SystemExit):
        main(["train", "mine:environment"])
    assert "must be a selfpaced.Problem, got GymnasiumEnv" in capsys.readouterr().err


def test_problem_teacher_learner_and_figure_of_the_docs_run_together(folder, capsys):
    parts = "--teacher near_success:NearSuccess --learner linear:LinearPolicyGradient"
    for out in ("one", "two"):
        main(["train", "rolling:ROLLING", *SMALL.split(), *parts.split(), "--out", out])
    main(["plot", "one"])
    main(["plot", "one", "two", "--out", "both"])
    assert "positions.png" in capsys.readouterr().out
    assert (folder / "one" / "figures" / "positions.png").exists()
    assert (folder / "both" / "positions.png").exists()


@pytest.mark.parametrize(
    ("learner", "iterations"), [(PPO(learning_rate=3e-3), 8), ("LinearPolicyGradient", 16)]
)
def test_the_environment_of_the_docs_can_be_learned(learner, iterations):
    space: dict = {"__name__": "page"}
    exec(code_with("class LinearPolicyGradient"), space)
    exec(code_with("ROLLING = "), space)
    learner = space[learner]() if isinstance(learner, str) else learner
    method = CurriculumLearning(Default(), learner)
    with method.training(space["ROLLING"], (1,), steps_per_iteration=500) as training:
        state = training.init()
        before = training.target_episodes(state.learner, 0, 20).discounted_return.mean()
        for iteration in range(iterations):
            state, _ = training.iterate(state, iteration)
        after = training.target_episodes(state.learner, iterations, 20).discounted_return.mean()
    assert after > max(2 * before, 0.1)


def test_the_teacher_of_the_docs_keeps_the_contract():
    space: dict = {"__name__": "near_success"}
    exec(code_with("class NearSuccess:"), space)
    teacher, contexts = space["NearSuccess"](), PROBLEMS["point-mass-3d"].contexts

    def rng(number=0):
        return np.random.default_rng(number)

    def episodes(num):
        inside = contexts.sample_uniform(rng(1), num)
        success = np.arange(num) % 2 == 0
        return Episodes(
            inside, np.zeros((num, 7)), np.ones(num), np.ones(num), success, np.ones(num)
        )

    state = teacher.init(rng(), contexts)
    for num in (10, 0, 100):  # also without a finished episode
        copy = jax.tree.map(np.copy, state)
        new, metrics = teacher.update(rng(2), contexts, state, episodes(num))
        jax.tree.map(np.testing.assert_array_equal, state, copy)  # the given state is left alone
        assert jax.tree.structure(new) == jax.tree.structure(state)
        assert metrics == {"teacher/successes": num / 2}
        state = new
    sampled = teacher.sample(rng(3), contexts, state, 500)
    assert sampled.shape == (500, 3)
    assert contexts.contains(sampled).all()
    np.testing.assert_array_equal(sampled, teacher.sample(rng(3), contexts, state, 500))


PARTS = [
    *(("teachers", name, TEACHERS) for name in TEACHERS),
    *(("learners", name, LEARNERS) for name in LEARNERS),
]


@pytest.mark.parametrize(("folder", "name", "registry"), PARTS, ids=lambda value: str(value)[:12])
def test_every_teacher_and_learner_has_a_page_that_explains_its_settings(folder, name, registry):
    page = ROOT / "docs" / folder / f"{name}.md"
    assert page.exists(), f"{name} must have a page docs/{folder}/{name}.md"
    assert settings_that_are_missing(page, registry[name]) == []
    assert f"({name}.md)" in page.with_name("index.md").read_text()


@pytest.mark.parametrize("part", [EpisodicUpdate, EpisodicPolicy])
def test_the_page_of_sprl_explains_the_settings_of_both_its_parts(part):
    assert settings_that_are_missing(ROOT / "docs" / "sprl.md", part) == []


def settings_that_are_missing(page, kind):
    text = page.read_text()
    names = [field.name for field in dataclasses.fields(kind)]
    return [name for name in names if f"`{name}`" not in text]


def test_every_problem_is_in_the_title_of_a_page():
    pages = [page for page in (ROOT / "docs/problems").glob("*.md") if page.name != "index.md"]
    titles = [page.read_text().partition("\n")[0].removeprefix("# ") for page in pages]
    assert sorted(word for title in titles for word in title.split(" and ")) == sorted(PROBLEMS)
    index = (ROOT / "docs/problems/index.md").read_text()
    assert [name for name in PROBLEMS if f"| [{name}](" not in index] == []


def test_a_page_has_one_title():
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        assert len(re.findall(r"^# ", prose, re.M)) == 1, page


def messages(source):
    """Return every string in the library, with … for the values in it."""
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                parts = (getattr(part, "value", "…") for part in node.values)
                yield "".join(part if isinstance(part, str) else "…" for part in parts)


def test_the_messages_in_the_tables_of_troubleshooting_exist():
    text = (ROOT / "docs/troubleshooting.md").read_text()
    known = list(messages(ROOT / "src"))
    tables = re.findall(r"^\| message \|.*?(?=^$)", text, re.S | re.M)
    quoted = [row for table in tables for row in re.findall(r"^\| `(.*?)` \|", table, re.M)]
    assert len(quoted) > 20
    for message in quoted:  # N, M, X and 'x' stand for values
        parts = [part.strip() for part in re.split(r"\b[NMX]\b|…|'[^']*'|\[a, b\]|\d+", message)]
        assert any(all(part in text for part in parts) for text in known), message
