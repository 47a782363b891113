"""The command `selfpaced reproduce`, with invented outcomes; training is tested elsewhere."""

import math

import numpy as np

from selfpaced.commands import reproduce
from selfpaced.reports import reproduction
from selfpaced.reports.reproduction import compare_with_paper
from selfpaced.runs.storage import write_csv
from selfpaced.studies.comparison import Outcome
from selfpaced.studies.reproduction import RESULTS
from tests.studies.outcomes import invent_outcome


def test_the_distance_to_the_paper_is_in_joint_standard_errors():
    assert compare_with_paper((9.0, 0.3), 10.0, 0.4) == ("9.00 ± 0.3", "+2.0")
    assert compare_with_paper((9.0, 0.3), 10.0, math.nan) == ("9.00 ± 0.3", "–")
    assert compare_with_paper(None, 1.0, 0.1) == ("–", "–")


def test_the_report_has_the_papers_results_beside_ours(tmp_path, monkeypatch):
    def draw_together(folders, out):
        write_csv(out / "x_position.csv", ["run", "seed", "median_x"], [["SPDL", 3, 4.25]])
        return [out / "x_position.png", out / "x_position.csv"]

    levels = {"spdl": 9.3, "default": 2.4}
    monkeypatch.setattr(reproduce, "run_cells", lambda *_: None)
    monkeypatch.setattr(
        reproduce,
        "require_outcomes",
        lambda cells: [invent_outcome(cell, levels.get(cell.teacher, 0.5)) for cell in cells],
    )
    monkeypatch.setattr(reproduction, "draw_together", draw_together)
    monkeypatch.setattr(reproduction, "draw_run", lambda *_: [])
    reproduce.main(["table-1-ppo", "--seeds", "4", "--out", str(tmp_path)])
    text = (tmp_path / "table-1-ppo.md").read_text()
    assert "## point-mass-3d, ppo" in text
    assert "9.35 ± 0.1" in text
    assert "| best |" in text
    assert "### x position\n\n| run | seed | median x |\n|" in text
    assert "| SPDL | 3 | 4.25 |" in text
    rows = (tmp_path / "table-1-ppo.csv").read_text().splitlines()
    assert len(rows) == 1 + 10
    first = dict(zip(rows[0].split(","), rows[1].split(","), strict=True))
    assert (first["teacher"], first["seeds"]) == ("spdl", "1-4")
    assert len(first["final_returns"].split()) == 4

    reproduce.main(["table-1-ppo", "--teachers", "spdl,default", "--out", str(tmp_path)])
    assert len((tmp_path / "table-1-ppo.csv").read_text().splitlines()) == 1 + 4


def test_without_a_result_all_are_listed(capsys):
    reproduce.main([])
    text = capsys.readouterr().out
    assert all(name in text for name in RESULTS)


def test_published_curves_are_shown_beside_ours(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "run_cells", lambda *_: None)
    monkeypatch.setattr(reproduce, "require_outcomes", lambda cells: list(map(curve, cells)))
    monkeypatch.setattr(reproduction, "draw_together", lambda *_: [])
    out = str(tmp_path)
    reproduce.main(["currot", "--teachers", "currot,random", "--seeds", "3", "--out", out])
    text = (tmp_path / "currot.md").read_text()
    assert "| currot: return at | 30 | 60 | 90 | 120 | 150 | 200 |" in text
    assert "| ours | 3.00 ± 0.00 | 6.00 ± 0.00 | – |" in text
    assert "| CURROT, code of 2022 (read off, ± 0.2) | 2.20 | 3.80 | 4.80 |" in text
    assert "## goal-maze, sac" in text
    assert "| currot: success at | 30 | 60 | 90 | 150 | 240 | 390 |" in text
    assert (tmp_path / "currot/point-mass-2d-bimodal/published_ppo.png").stat().st_size > 1000
    assert (tmp_path / "currot/goal-maze/published_sac.png").exists()


def curve(cell):
    """Return an outcome that grows by 0.1 per iteration, up to iteration 60."""
    iterations = np.array([0, 30, 60])
    values = np.repeat(0.1 * iterations[:, None], len(cell.experiment.seeds), axis=1)
    return Outcome(cell, iterations, values, values > 1.0, 60.0, {})
