"""What is shown is executed."""

import dataclasses
import re
import shlex
import sys
from pathlib import Path

import pytest
from PIL import Image

from selfpaced import PPO, Default, RunFolder, neurips2020
from selfpaced.commands.main import main
from selfpaced.commands.show import COMMANDS
from selfpaced.commands.train import parse_train
from selfpaced.learners import LEARNERS
from selfpaced.runs.storage import write_json
from selfpaced.teachers import TEACHERS
from selfpaced.training.loop import Training

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language):
    found = []
    for page in PAGES:
        for number, block in enumerate(
            re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)
        ):
            found.append(pytest.param(block, id=f"{page.name}-{number}"))
    return found


@pytest.mark.parametrize("code", blocks("python"))
def test_python_on_the_pages_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "page", "exec"), {"__name__": "page"})


@pytest.fixture(name="mine")
def _mine(tmp_path, monkeypatch):
    """The problem that a page tells to put into `mine.py`, and a preset that it lets one make."""
    code = next(block.values[0] for block in blocks("python") if "GATE = " in block.values[0])
    (tmp_path / "mine.py").write_text(code)
    preset = tmp_path / "runs" / "search-point-mass-3d-alp-gmm-ppo" / "preset.json"
    write_json(preset, neurips2020("point-mass-3d", "alp-gmm").to_dict())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)


def test_the_problem_of_the_docs_runs_like_the_others(mine, tmp_path, capsys):
    flags = "--seeds 1 --iterations 2 --steps-per-iteration 64 --evaluation-episodes 2"
    small = "--learner.num-minibatches 4 --learner.hidden 8"
    main(["train", "mine:GATE", *flags.split(), *small.split()])
    folder = RunFolder(tmp_path / "runs" / "mine-GATE-spdl-ppo")
    assert folder.is_finished
    assert folder.experiment().problem == "mine:GATE"
    main(["plot", str(folder.path)])
    assert "learning_curve.png" in capsys.readouterr().out
    main(["watch", str(folder.path), "--episodes", "1", "--out", "film.gif"])
    with Image.open(tmp_path / "film.gif") as film:
        colours = film.convert("RGB").getcolors(10**6)
    assert len(colours) > 10  # something is to be seen
    with pytest.raises(SystemExit):
        main(["train", "mine:environment"])
    assert "should be a selfpaced.Problem, got GymnasiumEnv" in capsys.readouterr().err


@pytest.mark.parametrize("code", blocks("bash"))
def test_commands_on_the_pages_exist(code, mine):
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["selfpaced"]:
            continue
        assert words[1] in COMMANDS
        if words[1] == "train":
            parse_train(words[2:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_on_the_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_the_environment_of_the_docs_can_be_learned():
    page = (ROOT / "docs/add-your-own.md").read_text()
    code = next(
        code for code in re.findall(r"```python\n(.*?)```", page, re.S) if "ROLLING" in code
    )
    space: dict = {"__name__": "rolling"}
    exec(code, space)
    settings = {"seeds": (1,), "steps_per_iteration": 500}
    training = Training(space["ROLLING"], Default(), PPO(learning_rate=3e-3), **settings)
    state = training.init()
    before = training.evaluate(state, 0, 20).discounted_return.mean()
    for iteration in range(8):
        state, _ = training.iterate(state, iteration)
    assert training.evaluate(state, 8, 20).discounted_return.mean() > 2 * before


def test_the_example_teacher_of_the_docs_keeps_the_contract():
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs/add-your-own.md").read_text(), re.S)
    space: dict = {"__name__": "near_success"}
    exec(code.group(1), space)
    from tests.contracts import test_teachers as contract

    teacher = space["NearSuccess"]()
    contract.test_contexts_lie_inside_the_box(teacher)
    contract.test_sampling_is_pure(teacher)
    contract.test_updating_leaves_the_given_state_alone_and_keeps_its_structure(teacher)
    contract.test_iterations_without_a_finished_episode_are_survived(teacher)


@pytest.mark.parametrize(("page", "known"), [("teachers", TEACHERS), ("learners", LEARNERS)])
def test_every_setting_is_explained_where_its_owner_is(page, known):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.S | re.M))
    for name, kind in known.items():
        section = sections.get(kind.__name__) or sections.get(name) or sections["ALP-GMM"]
        fields = [field.name for field in dataclasses.fields(kind)]
        assert [field for field in fields if f"`{field}`" not in section] == [], name
