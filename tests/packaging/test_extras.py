"""Optional dependencies: declared as extras, imported through one check, explained to users."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from selfpaced.errors import MissingPartError
from selfpaced.validation import require_extra

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEVELOPMENT = {"dev", "docs", "test"}
EXTRAS = sorted(PROJECT["optional-dependencies"].keys() - DEVELOPMENT)
OPTIONAL = {  # library -> extra that brings it
    "mujoco": "mujoco",
    "Box2D": "box2d",
    "imageio_ffmpeg": "video",
    "plotly": "report",
    "stable_baselines3": "sb3",
    "sb3_contrib": "sb3",
    "torch": "sb3",
    "sbx": "sbx",
    "brax": "brax",
    "gymnax": "gymnax",
    "mujoco_playground": "playground",
    "ray": "rllib",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "pandas": "data",
    "pyarrow": "data",
    "polars": "polars",
}


def calls(path):
    """Return (extra, module) of every call of require_extra in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "require_extra":
            yield tuple(ast.literal_eval(argument) for argument in node.args[:2])


CALLS = sorted({call for path in (ROOT / "src").rglob("*.py") for call in calls(path)})


@pytest.mark.parametrize(("extra", "module"), CALLS, ids=lambda value: value)
def test_a_missing_extra_is_reported_in_one_line_with_its_command(extra, module, monkeypatch):
    assert extra in EXTRAS
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPartError) as caught:
        require_extra(extra, module, "this")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(f"run pip install 'selfpaced[{extra}]'")


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_is_explained_on_a_page(extra):
    pages = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    assert f"selfpaced[{extra}]" in pages


@pytest.mark.parametrize("library", OPTIONAL)
def test_no_optional_library_is_imported_with_the_package(library):
    program = (
        f"import sys, selfpaced, selfpaced.commands.main; sys.exit({library!r} in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_package_is_imported_in_half_a_second():
    program = (
        "import time; start = time.process_time(); import selfpaced; "
        "print(time.process_time() - start)"
    )
    seconds = [
        float(
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
        )
        for _ in range(3)
    ]
    assert min(seconds) < 0.5  # of computing time: other work does not count


def test_no_message_points_at_a_file_that_is_not_installed():
    found = [
        f"{path.name}: {node.value}"
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"\b(docs|examples|results|benchmarks|tests)/|README|CONTRIBUTING", node.value)
    ]
    assert found == []


def test_no_class_needs_the_type_arguments_of_the_newest_gymnasium():
    found = [
        f"{path.name}: {node.name}"
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        if any("VectorWrapper[" in ast.unparse(base) for base in node.bases)
    ]
    assert found == []  # VectorWrapper is generic since 1.4
