"""Folders and presets of other people: looking at them runs none of their code."""

import json
import sys

import pytest

from selfpaced import RunFolder, SelfpacedError, load_policy
from selfpaced.commands.main import main
from selfpaced.registry import only_known_code, require_importable
from selfpaced.studies.preset_files import with_preset_files
from tests.reports.invented_runs import invented_run
from tests.runs.small_runs import SMALL

EVIL = "open(__file__ + '.ran', 'w').close()\nfrom selfpaced import SPDL as Teacher\n"


@pytest.fixture(name="evil")
def _evil(tmp_path, monkeypatch):
    """A run folder whose teacher is a module beside it, which tells whether it has run."""
    (tmp_path / "evil_module.py").write_text(EVIL)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "evil_module", raising=False)
    folder = invented_run(tmp_path / "run", seeds=(1,))
    (folder.path / "checksums.json").unlink()
    path = folder.path / "experiment.json"
    plain = json.loads(path.read_text())
    plain["experiment"]["teacher"]["name"] = "evil_module:Teacher"
    path.write_text(json.dumps(plain))
    return folder


def has_run(folder):
    return (folder.path.parent / "evil_module.py.ran").exists()


@pytest.mark.parametrize(
    "look",
    [
        lambda path: RunFolder(path).experiment(),
        lambda path: load_policy(path),
        lambda path: main(["plot", str(path)]),
        lambda path: main(["watch", str(path)]),
    ],
    ids=["experiment", "load_policy", "plot", "watch"],
)
def test_looking_at_a_run_imports_nothing_that_it_names(evil, look, capsys):
    with pytest.raises((SelfpacedError, SystemExit)) as stopped:
        look(evil.path)
    assert "reading a file runs no other code" in str(stopped.value) + capsys.readouterr().err
    assert not has_run(evil)


def test_a_run_can_be_verified_without_its_code(evil):
    main(["verify", str(evil.path)])
    assert not has_run(evil)


@pytest.mark.parametrize("words", [["export", "--out"], ["report", "--no-episodes", "--out"]])
def test_tables_and_reports_are_made_without_its_code(evil, words, tmp_path):
    main([words[0], str(evil.path), *words[1:], str(tmp_path / "out")])
    assert not has_run(evil)


def test_a_preset_imports_nothing(evil, tmp_path):
    preset = tmp_path / "preset.json"
    preset.write_text(json.dumps(evil.description()["experiment"]))
    with pytest.raises(SelfpacedError, match=r"preset.json: teacher 'evil_module:Teacher' must"):
        with_preset_files(SMALL, [preset])
    assert not has_run(evil)


def test_a_trusted_run_imports_its_modules(evil):
    experiment = RunFolder(evil.path, trust=True).experiment()
    assert has_run(evil)
    assert experiment.method.teacher_name == "spdl"


def test_a_module_inside_a_run_folder_is_never_imported(evil, monkeypatch):
    (evil.path / "inner_module.py").write_text(EVIL)
    monkeypatch.syspath_prepend(str(evil.path))
    with pytest.raises(SelfpacedError, match="must not be inside a run folder"):
        require_importable("teacher", "inner_module:Teacher")


def test_modules_that_are_imported_already_are_found():
    with only_known_code():
        require_importable("problem", "tests.runs.small_runs:SMALL")
        require_importable("problem", "selfpaced.presets.ant_gate:ANT_GATE")
        with pytest.raises(SelfpacedError, match="add --trust"):
            require_importable("environment", "antigravity:Env-v0")
