"""Tables that grow while a run goes on: appended, readable at every moment, without duplicates."""

import os
import signal
from contextlib import suppress

import numpy as np
import pytest

from selfpaced import RunFolder, SelfpacedError, resume
from selfpaced.runs.export import catch_up
from selfpaced.runs.growing_tables import GrowingTable
from selfpaced.runs.tables import read_table
from selfpaced.runs.verification import verify
from tests.runs.small_runs import SMALL, is_free, rows, timeless_rows, wait_for


def test_rows_are_appended_in_the_form_of_the_final_table(tmp_path):
    table = GrowingTable(tmp_path / "metrics.csv")
    table.append([(1, 4, {"train/return": 0.1, "a": float("nan")}), (0, 4, {})])
    before = table.path.read_bytes()
    assert before == b"iteration,seed,a,train/return\n1,4,,0.1\n"
    table.append([(2, 4, {"train/return": 1 / 3})])
    assert table.path.read_bytes() == before + b"2,4,,0.333333333\n"
    table.append([])
    assert len(rows(table.path)) == 2


def test_a_new_column_gets_its_place_and_empty_cells_in_earlier_rows(tmp_path):
    table = GrowingTable(tmp_path / "metrics.csv")
    table.append([(1, 4, {"z": 1.0})])
    table.append([(2, 4, {"b": 2.0, "z": 3.0})])
    table.append([(3, 4, {"z": 4.0})])
    assert table.path.read_text() == "iteration,seed,b,z\n1,4,,1\n2,4,2,3\n3,4,,4\n"


def test_a_table_of_an_earlier_process_is_replaced(tmp_path):
    (tmp_path / "metrics.csv").write_text("iteration,seed,old\n1,4,1\n2,")
    table = GrowingTable(tmp_path / "metrics.csv")
    table.append([(1, 4, {"new": 1.0})])
    assert table.path.read_text() == "iteration,seed,new\n1,4,1\n"


def test_a_growing_table_is_read_in_order_with_nan_for_rows_to_come(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("iteration,seed,a\n1,9,5\n2,9,6\n1,4,7\n2,4,8\n3,9,0.5\n3,4,0.")  # half a row
    with pytest.raises(SelfpacedError, match="is damaged"):
        read_table(path, (4, 9, 7))
    found = read_table(path, (4, 9), may_grow=True)
    assert found["iteration"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(found["a"], [[7, 5], [8, 6], [np.nan, 0.5]])
    assert found["seed"].tolist() == [[4, 9]] * 3


@pytest.mark.parametrize("line", ["1,9,5", "2,8,5", "x,9,5"])
def test_a_row_that_cannot_be_is_named(tmp_path, line):
    (tmp_path / "metrics.csv").write_text(f"iteration,seed,a\n1,9,5\n{line}\n")
    with pytest.raises(SelfpacedError, match="is damaged"):
        read_table(tmp_path / "metrics.csv", (9,), may_grow=True)


@pytest.mark.slow
def test_a_run_can_be_watched_killed_and_resumed(start, tmp_path, monkeypatch, finished):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "run")
    process = start(folder.path, SMALL.iterations)
    metrics = folder.path / "metrics.csv"

    def num_rows():
        with suppress(SelfpacedError):
            return int(np.isfinite(folder.metrics()["train/return"]).sum())
        return 0

    wait_for(lambda: num_rows() >= 2)
    assert {finding.verdict for finding in verify(folder)} <= {"ok", "unverified"}
    before, place = metrics.read_bytes(), metrics.stat().st_ino
    if folder.iteration() > 0:
        catch_up(folder)  # leaves the tables to the process that appends to them
    if process.poll() is None and not (folder.path / "summary.json").exists():
        now = metrics.read_bytes()
        assert now.startswith(before) or metrics.stat().st_ino != place
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: is_free(folder))
    if not folder.is_finished:
        resume(folder.path)
    assert timeless_rows(metrics) == timeless_rows(finished.path / "metrics.csv")
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (folder.path / name).read_bytes() == (finished.path / name).read_bytes()
    assert {finding.verdict for finding in verify(folder)} == {"ok"}
