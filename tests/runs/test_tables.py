"""The tables of a run folder: what is written is read, and damage is named."""

import numpy as np
import pytest

from selfpaced import SelfpacedError
from selfpaced.runs.tables import contexts_bytes, read_contexts, read_table, table_bytes

SEEDS = (4, 9)
COLUMNS = {
    "iteration": np.array([0, 5, 12]),
    "return": np.array([[1.5, 2.0], [0.1, 1e-30], [5.0, np.nan]]),
    "unstable": np.array([[0, 1], [2, 3], [4, 5]]),
}


def test_a_table_has_one_row_per_iteration_and_seed(tmp_path):
    (tmp_path / "table.csv").write_bytes(table_bytes(SEEDS, COLUMNS))
    header, *rows = (tmp_path / "table.csv").read_text().splitlines()
    assert header == "iteration,seed,return,unstable"
    assert rows[:2] == ["0,4,1.5,0", "0,9,2,1"]
    assert rows[-1] == "12,9,,5"  # a value that does not exist is an empty cell


def test_a_table_is_read_as_it_was_written(tmp_path):
    (tmp_path / "table.csv").write_bytes(table_bytes(SEEDS, COLUMNS))
    found = read_table(tmp_path / "table.csv", SEEDS)
    assert list(found) == ["iteration", "seed", "return", "unstable"]
    assert found["seed"].tolist() == [[4, 9]] * 3
    for name, column in COLUMNS.items():
        np.testing.assert_array_equal(found[name], column)
    assert found["iteration"].dtype == int


def test_empty_cells_beside_each_other_have_no_value(tmp_path):
    (tmp_path / "table.csv").write_text("iteration,seed,a,b,c\r\n0,4,,,\r\n0,9,1,,3")
    found = read_table(tmp_path / "table.csv", SEEDS)
    values = np.array([found[name][0] for name in "abc"])
    np.testing.assert_array_equal(values, [[np.nan, 1], [np.nan, np.nan], [np.nan, 3]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "table.csv is missing; is the run finished?"),
        ("", "no column 'iteration'"),
        ("seed,return\n1,2\n", "no column 'iteration'"),
        ("iteration,seed\n1,1\n1,2\n2,1\n", "is damaged .*; run again"),  # half a row
        ("iteration,seed\n1,1,1\n1,2\n", "is damaged"),
        ("iteration,seed,a\n1,1,2\n1,2,two\n", "could not convert string 'two'"),
    ],
)
def test_a_damaged_table_is_named(tmp_path, text, message):
    path = tmp_path / "table.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SelfpacedError, match=message):
        read_table(path, (1, 2))


def test_contexts_are_read_as_they_were_written(tmp_path):
    columns = {"iteration": np.array([0, 5]), "samples": np.arange(24.0).reshape(2, 2, 3, 2)}
    (tmp_path / "contexts.npz").write_bytes(contexts_bytes(SEEDS, columns))
    found = read_contexts(tmp_path / "contexts.npz")
    assert found.keys() == {"iteration", "samples", "seeds"}
    np.testing.assert_array_equal(found["samples"], columns["samples"])
    assert found["seeds"].tolist() == [4, 9]


def test_damaged_contexts_are_named(tmp_path):
    path = tmp_path / "contexts.npz"
    with pytest.raises(SelfpacedError, match="is missing; is the run finished"):
        read_contexts(path)
    path.write_bytes(contexts_bytes(SEEDS, {"iteration": np.arange(100)})[:100])
    with pytest.raises(SelfpacedError, match=r"contexts.npz is damaged .*; run again"):
        read_contexts(path)


def test_objects_in_a_file_are_not_loaded(tmp_path):
    np.savez(tmp_path / "contexts.npz", samples=np.array([{}], object))
    with pytest.raises(SelfpacedError, match="is damaged"):
        read_contexts(tmp_path / "contexts.npz")
