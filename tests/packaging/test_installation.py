"""The built package installs into an empty environment and works, on every supported version."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
GYMNASIUM = ("1.1.1", "1.2.2", "1.4.0")
TRAIN = "train point-mass-2d --seeds 1 --iterations 2 --steps-per-iteration 256"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def interpreter(version):
    """Return an interpreter of pyenv, whose shims do not run every version, or on the path."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(installed[-1]) if installed else shutil.which(f"python{version}")


def call(*words, cwd=None):
    """Run a program as a user would, without the paths of this test session; return its output."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "XLA_FLAGS", "VIRTUAL_ENV")
    }
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(name="packages", scope="module")
def _packages(tmp_path_factory):
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return {path.suffix: path for path in folder.iterdir()}


def description(wheel):
    """Return the README in a wheel."""
    with ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        return content.read(name).decode().partition("\n\n")[2]


def test_the_package_index_gets_no_link_to_a_file_of_the_repository(packages):
    shown = description(packages[".whl"])
    links = re.findall(r"\]\(([^)]*)\)", shown)
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
    assert "Add a curriculum to a Stable-Baselines3 script" in shown


def test_the_address_of_the_repository_in_one_place_makes_all_links_absolute(tmp_path):
    for name in ("README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    settings = (ROOT / "pyproject.toml").read_text()
    with_address = re.sub(
        r"(?m)^Paper = ", 'Repository = "https://example.org/own"\nPaper = ', settings
    )
    (tmp_path / "pyproject.toml").write_text(with_address)
    call(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", tmp_path)
    (wheel,) = (tmp_path / "dist").iterdir()
    shown = description(wheel)
    assert "](https://example.org/own/raw/main/docs/images/contexts.png)" in shown
    assert "](https://example.org/own/blob/main/docs/quickstart.md)" in shown


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("kind", [".whl", ".gz"], ids=["wheel", "sdist"])
def test_the_package_works_in_an_empty_environment(packages, kind, version, tmp_path):
    if kind == ".gz" and version != "3.11":
        pytest.skip("the wheels are built from the source distribution")
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    call(python, "-m", "venv", tmp_path / "venv")
    programs, elsewhere = tmp_path / "venv" / "bin", tmp_path / "elsewhere"
    elsewhere.mkdir()
    call(programs / "python", "-m", "pip", "install", "--quiet", packages[kind])
    for gymnasium in GYMNASIUM:
        call(programs / "python", "-m", "pip", "install", "--quiet", f"gymnasium=={gymnasium}")
        assert "point-mass-2d" in call(programs / "selfpaced", "list", cwd=elsewhere)
        out = f"runs/{gymnasium}"
        call(programs / "selfpaced", *TRAIN.split(), "--out", out, cwd=elsewhere)
        assert (elsewhere / out / "summary.json").exists()
        missing = subprocess.run(
            [programs / "selfpaced", "check", "ant-gate"], capture_output=True, text=True
        )
        assert missing.returncode == 2
        assert missing.stderr.count("\n") == 1
        assert "pip install 'selfpaced[mujoco]'" in missing.stderr
