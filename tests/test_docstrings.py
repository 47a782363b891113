"""Examples in docstrings are executed."""

import doctest
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from selfpaced import PPO, SPDL, CurriculumLearning, Experiment
from selfpaced.runs.replacement import create_run

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
FINISHED = ROOT / "tests" / "runs" / "data" / "point-mass-3d-spdl-ppo"
KILLED = Experiment(
    "point-mass-2d",
    CurriculumLearning(SPDL(), PPO()),
    seeds=(1,),
    iterations=1,
    evaluation_episodes=2,
)
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text() and path.parent.name != "rllib"  # tests/integrations/rllib
)

NEEDED = {  # module -> library of an extra that its examples use
    "selfpaced.environments.brax_bridge": "mujoco_playground",
    "selfpaced.environments.gymnax_bridge": "gymnax",
}


@pytest.fixture(name="runs", autouse=True)
def _runs(tmp_path, monkeypatch):
    """A working directory with a finished run, and one that was killed before it saved."""
    shutil.copytree(FINISHED, tmp_path / "runs" / FINISHED.name)
    create_run(tmp_path / "runs" / "killed", KILLED, [KILLED.seeds])
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("module", MODULES)
def test_examples_show_what_they_return(module):
    if module in NEEDED:
        pytest.importorskip(NEEDED[module], reason=f"the examples of {module} use it")
    failed, attempted = doctest.testmod(import_module(module))
    assert attempted > 0
    assert failed == 0


def test_an_example_with_a_wrong_answer_fails():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda text: None).failed == 1
