"""The notebooks of examples/ are executed from the first to the last cell."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="requires nbclient and ipykernel")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas", reason="requires selfpaced[data]")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    assert outputs(notebook) == []  # they are made by the reader
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=250, kernel_name="python3", resources=place).execute()
    kinds = {output.output_type for output in outputs(notebook)}
    assert kinds <= {"execute_result", "display_data"}  # nothing is printed, no warnings
    assert any("image/png" in output.get("data", {}) for output in outputs(notebook))
    assert (tmp_path / "parquet" / "metrics.parquet").exists()
