"""Compiled programs are kept between processes."""

import os
import subprocess
import sys
from pathlib import Path

from selfpaced.runs.compilation import compilation_settings
from selfpaced.runs.processes import worker_settings

PROGRAM = """
import jax
from selfpaced.runs.compilation import keep_compiled_programs
keep_compiled_programs()
jax.jit(lambda number: number + 1)(1.0)
"""


def kept(cache, **settings):
    own = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    own |= {"XDG_CACHE_HOME": str(cache), "JAX_PLATFORMS": "cpu", **settings}
    subprocess.run([sys.executable, "-c", PROGRAM], env=own, check=True)
    return list((cache / "selfpaced" / "compiled").glob("*-cache"))


def test_a_command_keeps_every_program_that_it_compiles(tmp_path):
    assert kept(tmp_path)


def test_a_place_that_the_user_gives_takes_precedence(tmp_path):
    assert not kept(tmp_path, JAX_COMPILATION_CACHE_DIR=str(tmp_path / "mine"))
    assert list((tmp_path / "mine").glob("*-cache"))


def test_workers_keep_them_in_the_same_place():
    assert compilation_settings().items() <= worker_settings(is_hosted=False).items()


def test_without_a_home_directory_compiled_programs_are_not_kept(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert "JAX_COMPILATION_CACHE_DIR" in compilation_settings()
    monkeypatch.setattr(Path, "home", homeless)
    assert compilation_settings() == {}
