"""Atomic files, and trees of arrays in them."""

import json
import os
import stat

import numpy as np
import pytest

from selfpaced import SelfpacedError
from selfpaced.runs import storage


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    storage.write_json(path, {"return": 1.0})
    monkeypatch.setattr(storage.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        storage.write_json(path, {"return": 2.0})
    assert json.loads(path.read_text()) == {"return": 1.0}
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_is_synced_after_a_rename(tmp_path, monkeypatch):
    done = []
    replace, fsync = os.replace, os.fsync
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("rename"), replace(*names)))
    monkeypatch.setattr(
        os, "fsync", lambda one: (done.append(stat.S_ISDIR(os.fstat(one).st_mode)), fsync(one))
    )
    (tmp_path / "old").mkdir()
    storage.move(tmp_path / "old", tmp_path / "new")
    storage.write_bytes(tmp_path / "file", b"content")
    assert done == ["rename", True, False, "rename", True]


def test_numbers_that_are_not_finite_become_null(tmp_path):
    path = tmp_path / "x.json"
    storage.write_json(path, {"a": np.float32(0.5), "b": [np.nan, np.inf], "c": np.arange(2)})
    assert json.loads(path.read_text()) == {"a": 0.5, "b": [None, None], "c": [0, 1]}


def test_arrays_and_notes_survive_bit_identically(tmp_path):
    tree = {"w": np.random.default_rng(0).normal(size=(3, 2)), "n": (np.int64(4), np.ones(2, bool))}
    path = tmp_path / "tree.safetensors"
    storage.write_arrays(path, storage.name_leaves("tree", tree), {"iteration": 7})
    arrays, notes = storage.read_arrays(path)
    restored = storage.restore_leaves("tree", tree, arrays)
    assert notes == {"iteration": 7}
    np.testing.assert_array_equal(restored["w"], tree["w"])
    assert restored["n"][0] == 4


def test_only_the_selected_arrays_are_read(tmp_path):
    path = tmp_path / "tree.safetensors"
    storage.write_arrays(path, {"small": np.arange(3), "large": np.zeros(1000)}, {"iteration": 7})
    arrays, notes = storage.read_arrays(path, lambda name: name == "small")
    assert list(arrays) == ["small"]
    assert notes == {"iteration": 7}


@pytest.mark.parametrize("damage", [b"", b"not a tensor file", None])
def test_a_damaged_file_of_arrays_is_reported(tmp_path, damage):
    path = tmp_path / "tree.safetensors"
    storage.write_arrays(path, {"a": np.arange(100)}, {})
    path.write_bytes(path.read_bytes()[:-50] if damage is None else damage)
    with pytest.raises(SelfpacedError, match="is damaged"):
        storage.read_arrays(path)


def test_arrays_of_other_settings_are_refused(tmp_path):
    arrays = storage.name_leaves("learner", {"w": np.zeros((3, 2))})
    with pytest.raises(SelfpacedError, match=r"must be float64\[4, 2\], got float64\[3, 2\]"):
        storage.restore_leaves("learner", {"w": np.zeros((4, 2))}, arrays)
    with pytest.raises(SelfpacedError, match="'learner/b' is missing"):
        storage.restore_leaves("learner", {"b": np.zeros(1)}, arrays)


def test_a_missing_or_damaged_json_file_is_reported(tmp_path):
    with pytest.raises(SelfpacedError, match=r"is missing; is .* a run folder"):
        storage.read_json(tmp_path / "experiment.json")
    (tmp_path / "experiment.json").write_text('{"half":')
    with pytest.raises(SelfpacedError, match="is damaged"):
        storage.read_json(tmp_path / "experiment.json")


def test_commas_in_a_table_are_quoted(tmp_path):
    storage.write_csv(tmp_path / "t.csv", ["run", "x"], [["a=1,b=2", 0.5]])
    assert (tmp_path / "t.csv").read_text() == 'run,x\n"a=1,b=2",0.5\n'


def test_a_table_has_an_empty_cell_where_there_is_no_number(tmp_path):
    storage.write_csv(tmp_path / "t.csv", ["seed", "x"], [[1, 0.5], [2, np.nan]])
    assert (tmp_path / "t.csv").read_text() == "seed,x\n1,0.5\n2,\n"
