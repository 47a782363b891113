"""The code of a run: its revision and the edition of its results."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from selfpaced import RunFolder, __version__, neurips2020, resume, run
from selfpaced.runs import revision as revisions
from selfpaced.runs.revision import code_of, edition_of, is_committed, known_edition, revision
from tests.runs.small_runs import SHORT

ROOT = Path(__file__).parents[2]


def test_in_a_clone_the_revision_is_the_commit_of_the_code():
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    assert revision().removesuffix("+changes") == commit


def test_outside_a_clone_the_revision_is_the_version(monkeypatch, tmp_path):
    monkeypatch.setattr(revisions, "_TOP", tmp_path)
    assert revision.__wrapped__() == __version__


def test_changes_that_are_not_committed_mark_the_revision(monkeypatch, tmp_path):
    package = tmp_path / "src" / "selfpaced"
    package.mkdir(parents=True)
    (package / "a.py").write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(revisions, "_TOP", tmp_path)
    clean = revision.__wrapped__()
    assert len(clean) == 40
    assert is_committed(clean)
    (package / "a.py").write_text("2")
    assert revision.__wrapped__() == f"{clean}+changes"
    assert not is_committed(f"{clean}+changes")


def test_the_edition_has_a_number_for_every_part_and_no_asterisk(monkeypatch):
    monkeypatch.setattr(revisions, "EDITIONS", {"training": 2, "ppo": 3})
    experiment = neurips2020("ball-catching", "spdl*")
    assert edition_of(experiment) == {"training": 2, "ball-catching": 1, "spdl": 1, "ppo": 3}


def test_a_run_has_one_edition_if_all_its_code_has():
    first = code_of(SHORT)
    later = first | {"revision": "abc", "iteration": 5}
    assert known_edition([first, later]) == edition_of(SHORT)
    assert known_edition([first, later | {"edition": {"training": 9}}]) is None
    assert known_edition([later]) is None  # an earlier version began the run
    assert known_edition([]) is None


@pytest.fixture(name="finished", scope="module")
def _finished(tmp_path_factory):
    return run(SHORT, tmp_path_factory.mktemp("runs") / "short", workers=1)


def test_a_new_run_has_the_code_of_now(finished):
    assert finished.description()["code"] == [code_of(SHORT)]


def test_a_resumed_run_names_other_code_from_where_it_took_over(finished, tmp_path, monkeypatch):
    copy = RunFolder(shutil.copytree(finished.path, tmp_path / "copy"))
    resume(copy.path, iterations=2)
    assert copy.description()["code"] == [code_of(SHORT)]
    monkeypatch.setattr(revisions, "EDITIONS", {"ppo": 2})
    resume(copy.path, iterations=3)
    other = code_of(replace(SHORT, iterations=3), iteration=2)
    assert other["edition"]["ppo"] == 2
    assert copy.description()["code"] == [
        code_of(SHORT) | {"edition": other["edition"] | {"ppo": 1}},
        other,
    ]
