"""Starting a run in a folder that is in use, and replacing the run there."""

import math
import shutil
from dataclasses import dataclass

import pytest

from selfpaced import SelfpacedError, resume, run
from selfpaced.runs.locks import training_lock
from selfpaced.runs.replacement import create_run
from tests.probes import UserTeacher
from tests.runs.small_runs import MISTAKEN, SHORT, SMALL


@dataclass(frozen=True)
class Patient(UserTeacher):
    """Has a setting that JSON cannot hold."""

    patience: float = math.inf


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.path.glob("*.*")}


def test_an_existing_run_is_not_overwritten(finished):
    before = files_of(finished)
    with pytest.raises(SelfpacedError, match="already exists; choose another folder with --out"):
        run(SMALL, finished.path)
    assert files_of(finished) == before


def test_a_folder_that_is_no_run_is_never_overwritten(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SelfpacedError, match="is not a run folder, so --overwrite will not"):
        run(SMALL, tmp_path, overwrite=True)
    with pytest.raises(SelfpacedError, match=r"exists; choose another folder with --out$"):
        run(SMALL, tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_a_folder_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SelfpacedError, match="cannot write to"):
        run(SMALL, tmp_path / "file" / "run")


def test_two_processes_do_not_train_in_one_folder(tmp_path):
    folder = create_run(tmp_path / "busy", SMALL, [(1, 2, 3)])
    with (
        training_lock(folder.path),
        pytest.raises(SelfpacedError, match="another process is training"),
    ):
        resume(folder.path)


def test_a_run_that_is_being_trained_is_not_replaced(tmp_path):
    folder = create_run(tmp_path / "busy", SMALL, [(1, 2, 3)])
    with (
        training_lock(folder.path),
        pytest.raises(SelfpacedError, match="another process is training"),
    ):
        run(SMALL, folder.path, overwrite=True)
    assert (folder.path / "experiment.json").exists()


def test_a_mistake_leaves_nothing_behind_and_replaces_nothing(finished, tmp_path):
    with pytest.raises(SelfpacedError, match="std_lower_bound") as raised:
        run(MISTAKEN, tmp_path / "new")
    assert "kept" not in str(raised.value)
    assert not any(tmp_path.iterdir())
    before = files_of(finished)
    with pytest.raises(SelfpacedError, match="std_lower_bound"):
        run(MISTAKEN, finished.path, overwrite=True)
    assert files_of(finished) == before
    assert [path.name for path in finished.path.parent.iterdir()] == [finished.path.name]


def test_a_run_can_be_replaced(finished, tmp_path):
    path = shutil.copytree(finished.path, tmp_path / "run")
    replaced = run(SHORT, path, overwrite=True)
    assert replaced.is_finished
    assert replaced.experiment() == SHORT
    assert replaced.summary()["iterations"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_old_run_comes_back_if_the_new_one_was_killed_before_it_saved(finished, tmp_path):
    path = shutil.copytree(finished.path, tmp_path / "run")
    before = files_of(finished)
    new = create_run(path, SHORT, [(1,)], overwrite=True)  # and then it was killed
    assert new.experiment() == SHORT
    with pytest.raises(SelfpacedError, match="std_lower_bound"):
        run(MISTAKEN, path, overwrite=True)
    assert files_of(new) == before


def test_an_old_run_comes_back_if_the_new_one_was_killed_before_it_was_there(finished, tmp_path):
    path = shutil.copytree(finished.path, tmp_path / "run")
    create_run(path, SHORT, [(1,)], overwrite=True)
    shutil.rmtree(path)
    with pytest.raises(SelfpacedError, match="already exists"):
        run(SHORT, path)
    assert (path / "summary.json").read_bytes() == (finished.path / "summary.json").read_bytes()


def test_settings_that_json_cannot_hold_are_refused_before_anything_moves(finished, tmp_path):
    path = shutil.copytree(finished.path, tmp_path / "run")
    message = r"teacher setting patience must be a finite number, .* got inf"
    with pytest.raises(SelfpacedError, match=message):
        run(SHORT.with_parts(teacher=Patient()), path, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (path / "summary.json").read_bytes() == (finished.path / "summary.json").read_bytes()
