"""What is shown is executed."""

import re
import shlex
from pathlib import Path

import pytest

from selfpaced.commands import COMMANDS, parse_train

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


@pytest.mark.parametrize("code", blocks("bash"))
def test_commands_on_the_pages_exist(code):
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
