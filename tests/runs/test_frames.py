"""Tables in long form, and as frames of pandas and polars."""

import sys

import numpy as np
import pytest

from selfpaced import SelfpacedError
from selfpaced.runs.frames import as_frame, long_contexts, long_table
from tests.reports.invented_runs import invented_return, invented_run

COLUMNS = {"iteration": np.array([0, 5]), "a": np.array([[1.0, np.nan], [3.0, 4.0]])}


def test_a_long_table_has_a_row_per_iteration_and_seed_that_exists():
    found = long_table(COLUMNS, (4, 9))
    assert {name: column.tolist() for name, column in found.items()} == {
        "iteration": [0, 5, 5],
        "seed": [4, 4, 9],
        "a": [1.0, 3.0, 4.0],
    }


def test_long_contexts_have_a_row_per_context():
    samples = np.arange(16.0).reshape(2, 2, 2, 2)
    samples[1, 1] = np.nan
    found = long_contexts({"iteration": np.array([0, 5]), "samples": samples}, (4, 9), ("x", "y"))
    assert found["sample"].tolist() == [0, 1] * 3
    assert found["seed"].tolist() == [4, 4, 9, 9, 4, 4]
    assert found["y"].tolist() == [1, 3, 5, 7, 9, 11]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_tables_of_a_run_are_frames(tmp_path, library):
    frames = pytest.importorskip(library)
    run = invented_run(tmp_path / "run", seeds=(3, 7), reached=[20, 10])
    found = run.frame("evaluations", library)
    assert isinstance(found, frames.DataFrame)
    last = {seed: max(found["iteration"].to_numpy()[found["seed"].to_numpy() == seed])
            for seed in (3, 7)}  # fmt: skip
    assert last == {3: 20, 7: 10}
    expected = [
        invented_return(seed, iteration)
        for seed, iteration in zip(found["seed"], found["iteration"], strict=True)
    ]
    np.testing.assert_allclose(found["return"].to_numpy(), expected)
    assert len(run.frame("metrics", library)) == 30
    assert list(run.frame("contexts", library).columns)[:3] == ["iteration", "seed", "sample"]


def test_a_library_that_is_missing_or_unknown_is_named(monkeypatch):
    with pytest.raises(SelfpacedError, match="library must be one of pandas, polars"):
        as_frame({}, "excel")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SelfpacedError, match=r"pip install 'selfpaced\[data\]'"):
        as_frame({}, "pandas")
