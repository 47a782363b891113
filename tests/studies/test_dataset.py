"""The tables of several runs below each other, and as Parquet files."""

import importlib.util
import json

import numpy as np
import pytest

from selfpaced import SelfpacedError
from selfpaced.commands.main import main
from selfpaced.studies.dataset import join_frames, join_tables, runs_in, write_parquet
from tests.reports.invented_runs import invented_run

COLUMNS = {"run": np.array(["a", "b"]), "seed": np.array([1, 2]), "x": np.array([0.5, np.nan])}


@pytest.fixture(scope="module", name="comparison")
def _comparison(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "compare"
    invented_run(out / "spdl-ppo", seeds=(1, 2))
    invented_run(out / "random-ppo", "point-mass-2d", "random", seeds=(1, 2), reached=[20, 5])
    invented_run(out / ".gone.deleted", seeds=(1,))
    return out


def test_rows_name_their_run_and_columns_that_a_run_lacks_are_nan(comparison):
    folders = runs_in([comparison, comparison / "spdl-ppo"])
    assert [folder.path.name for folder in folders] == ["random-ppo", "spdl-ppo"]
    found = join_tables(folders, "metrics")
    assert len(found["run"]) == 20 + 5 + 2 * 20
    assert set(found["teacher"]) == {"spdl", "random"}
    contexts = join_tables(folders, "contexts")  # the first run has two components
    assert (np.isnan(contexts["friction"]) == (contexts["teacher"] == "random")).all()
    frame = join_frames([comparison], "evaluations")
    assert frame.groupby("teacher")["seed"].nunique().to_dict() == {"random": 2, "spdl": 2}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_comparison_becomes_parquet_files(comparison, tmp_path, library, capsys):
    library = pytest.importorskip(library)
    main(["export", str(comparison), "--out", str(tmp_path / "out")])
    assert "metrics.parquet (" in capsys.readouterr().out
    read = {path.stem: library.read_parquet(path) for path in sorted((tmp_path / "out").iterdir())}
    assert list(read) == ["contexts", "evaluations", "metrics", "runs"]
    runs = read["runs"]
    assert list(runs["finished"]) == [False, True]
    assert json.loads(runs["settings"][1])["seeds"] == [1, 2]
    expected = join_tables(runs_in([comparison]), "metrics")
    assert list(read["metrics"].columns) == list(expected)
    for name, column in expected.items():
        np.testing.assert_array_equal(read["metrics"][name].to_numpy(), column)


def test_polars_writes_parquet_where_pyarrow_is_missing(tmp_path, monkeypatch):
    polars = pytest.importorskip("polars")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "selfpaced.studies.dataset.find_spec",
        lambda name: None if name == "pyarrow" else find(name),
    )
    path = write_parquet(tmp_path / "one.parquet", COLUMNS)
    assert polars.read_parquet(path)["run"].to_list() == ["a", "b"]
    assert [one.name for one in tmp_path.iterdir()] == ["one.parquet"]


def test_folders_without_runs_are_named(tmp_path, capsys):
    with pytest.raises(SelfpacedError, match="has no run folder in it"):
        runs_in([tmp_path])
    with pytest.raises(SystemExit):
        main(["export"])
    assert "DIR must be at least one folder" in capsys.readouterr().err
