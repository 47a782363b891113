"""Exports of runs that are going on, were killed, or cannot be written to."""

import errno
import json
import os
import shutil

import numpy as np
import pytest

from selfpaced import RunFolder, SelfpacedError, run
from selfpaced.runs import export as exporting
from selfpaced.runs import supervisor
from selfpaced.runs.export import catch_up
from selfpaced.runs.replacement import create_run
from tests.reports.invented_runs import invented_return, invented_run
from tests.runs.small_runs import SMALL, has_reached, wait_for


def test_a_run_without_a_saved_iteration_cannot_be_exported(tmp_path):
    folder = create_run(tmp_path / "young", SMALL, [(1, 2, 3)])
    with pytest.raises(SelfpacedError, match="has no saved iteration yet"):
        catch_up(folder)


def test_a_folder_that_is_no_run_cannot_be_exported(tmp_path):
    with pytest.raises(SelfpacedError, match=r"experiment.json is missing; is .* a run folder"):
        catch_up(RunFolder(tmp_path))


@pytest.mark.slow
def test_a_run_that_ends_during_another_export_is_finished(start, tmp_path, monkeypatch):
    """This process starts to export in the middle and writes after the last iteration."""
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "watched")
    process = start(folder.path, 40)
    wait_for(lambda: has_reached(folder, 3))
    join_parts, write_files, written = exporting.join_parts, exporting.write_files, []

    def late(*arguments):
        wait_for(lambda: has_reached(folder, 40))  # the run waits for this export to end
        return join_parts(*arguments)

    def keep(path, contents):
        written.append(json.loads(contents["summary.json"])["finished"])
        write_files(path, contents)

    monkeypatch.setattr(exporting, "join_parts", late)
    monkeypatch.setattr(exporting, "write_files", keep)
    catch_up(folder)
    assert written == [False]  # only the process that trains may finish the run
    assert process.wait(60) == 0
    assert folder.is_finished
    assert folder.summary()["wall_seconds"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["watched"]  # no locks are left


def test_a_run_killed_after_its_last_iteration_is_finished_by_an_export(
    finished, tmp_path, monkeypatch
):
    """All iterations are saved, but the process that would have exported them is gone."""
    folder = RunFolder(tmp_path / "killed")
    with monkeypatch.context() as patch:
        patch.setattr(supervisor, "export", lambda *_: None)
        run(SMALL, folder.path, workers=2)
    shutil.copytree(finished.path, tmp_path / ".killed.replaced")  # the run it was to replace
    assert not folder.is_finished
    catch_up(folder)
    assert folder.is_finished
    assert [path.name for path in tmp_path.iterdir()] == ["killed"]
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (folder.path / name).read_bytes() == (finished.path / name).read_bytes()


def test_seeds_that_are_behind_have_empty_cells(tmp_path):
    folder = invented_run(tmp_path / "run", seeds=(1, 2), reached=[12, 7])
    metrics, evaluations = folder.metrics(), folder.evaluations()
    assert metrics["iteration"].tolist() == list(range(1, 13))
    assert np.isnan(metrics["learner/loss"][:, 1]).tolist() == [False] * 7 + [True] * 5
    assert evaluations["iteration"].tolist() == [0, 5, 10]
    assert np.isnan(evaluations["return"]).tolist() == [[False, False]] * 2 + [[False, True]]
    assert np.isnan(folder.contexts()["mean"][2, 1]).all()
    summary = folder.summary()  # of what all seeds have
    assert (summary["iterations"], summary["evaluated_at"]) == (7, 5)
    expected = [invented_return(seed, 5) for seed in (1, 2)]
    assert summary["final_return"]["per_seed"] == pytest.approx(expected)
    assert not summary["finished"]


def test_one_seed_has_no_standard_error(tmp_path):
    alone = invented_run(tmp_path / "run", seeds=(1,))
    assert alone.is_finished
    assert alone.summary()["final_return"]["standard_error"] is None


def test_seconds_of_earlier_parts_are_added(tmp_path):
    folder = invented_run(tmp_path / "run", seeds=(1, 2), reached=[10, 10])
    assert folder.summary()["wall_seconds"] == 1.0
    exporting.export(folder, wall_seconds=2.0)
    assert folder.summary()["wall_seconds"] == 3.0


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EROFS])
def test_a_run_of_another_user_can_be_read(tmp_path, monkeypatch, reason):
    def refuse(*_, **__):
        raise OSError(reason, os.strerror(reason))

    folder = invented_run(tmp_path / "run", seeds=(1, 2), reached=[10, 10])
    monkeypatch.setattr(exporting, "export", refuse)
    catch_up(folder)
    (folder.path / "summary.json").unlink()
    with pytest.raises(SelfpacedError, match="has no tables yet, and cannot be written to"):
        catch_up(folder)


def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = invented_run(tmp_path / "run", seeds=(1, 2), reached=[10, 10])
    monkeypatch.setattr(exporting, "export", fail)
    with pytest.raises(OSError, match="No space left"):
        catch_up(folder)
