"""The command `selfpaced collect`: run folders replace the rows of tables cell by cell."""

import pytest

from selfpaced import SelfpacedError
from selfpaced.commands.collect import main
from selfpaced.experiment import seeds_from
from selfpaced.reports import reproduction
from selfpaced.reports.result_rows import read_rows
from selfpaced.runs import revision as revisions
from selfpaced.studies.reproduction import RESULTS, plan_result
from tests.studies.cells import make_finished

NAME = "table-1-ppo"
COMMIT = "b" * 40


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch):
    monkeypatch.setattr(reproduction, "draw_together", lambda *_: [])
    monkeypatch.setattr(reproduction, "draw_run", lambda *_: [])
    monkeypatch.setattr(revisions, "revision", lambda: COMMIT)


def make_runs(path, teachers, num):
    cells = plan_result(RESULTS[NAME], seeds_from(1, num), path, teachers)
    for cell in cells:
        make_finished(cell)


def collect(path, seeds, out):
    main([str(path), "--results", NAME, "--seeds", str(seeds), "--out", str(out)])


def levels(out):
    return {row.key: (len(row.seeds), row.edition) for row in read_rows(out / f"{NAME}.csv")}


def test_tables_have_revision_edition_and_what_is_missing(tmp_path, capsys):
    make_runs(tmp_path / "runs", ["spdl", "default"], 3)
    out = tmp_path / "out"
    collect(tmp_path / "runs", 4, out)
    text = (out / f"{NAME}.md").read_text()
    assert "| spdl | 9.20 ± 0.05 | 3 | 9.35 ± 0.1 | -1.4 | best | 0.0 | bbbbbbb |" in text
    assert "Earlier revisions" not in text
    missing = text.partition("## Missing")[2]
    assert "point-mass-2d, spdl, ppo: 3 of 4 seeds" in missing
    assert "point-mass-2d, goal-gan, ppo: 0 of 4 seeds" in missing
    shown = capsys.readouterr().out
    assert "table-1-ppo: 4 of 10 cells from runs, 0 rows kept" in shown
    assert "selfpaced train point-mass-2d --teacher goal-gan --learner ppo --seeds 4 --out" in shown
    row = read_rows(out / f"{NAME}.csv")[0]
    assert (row.revision, row.seeds) == (COMMIT, (1, 2, 3))
    assert row.edition == "training 1, point-mass-3d 1, spdl 1, ppo 1"
    assert "cores" in row.machine


def test_a_row_stays_until_a_run_has_as_many_seeds(tmp_path, monkeypatch):
    out = tmp_path / "out"
    make_runs(tmp_path / "first", ["spdl", "default"], 3)
    collect(tmp_path / "first", 4, out)
    monkeypatch.setattr(revisions, "EDITIONS", {"spdl": 2})
    before = levels(out)
    make_runs(tmp_path / "second", ["spdl"], 2)
    collect(tmp_path / "second", 4, out)
    assert levels(out) == before
    text = (out / f"{NAME}.md").read_text()
    current, _, earlier = text.partition("## point-mass-2d")[0].partition("Earlier revisions:")
    assert "| default |" in current
    assert "| spdl |" in earlier

    make_runs(tmp_path / "third", ["spdl"], 3)
    collect(tmp_path / "third", 4, out)
    after = levels(out)
    assert after["point-mass-3d", "spdl", "ppo"][1].endswith("spdl 2, ppo 1")
    assert after["point-mass-3d", "default", "ppo"] == before["point-mass-3d", "default", "ppo"]
    assert "Earlier revisions" not in (out / f"{NAME}.md").read_text()


def test_collecting_twice_changes_nothing(tmp_path):
    make_runs(tmp_path / "runs", ["spdl"], 3)
    texts = []
    for _ in range(2):
        collect(tmp_path / "runs", 3, tmp_path / "out")
        texts.append([(tmp_path / "out" / f"{NAME}.{kind}").read_text() for kind in ("md", "csv")])
    assert texts[0] == texts[1]


def test_a_wrong_name_or_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(SelfpacedError, match="result must be one of table-1-ppo"):
        main([str(tmp_path), "--results", "table-7"])
    with pytest.raises(SelfpacedError, match="has no run folder in it"):
        main([str(tmp_path)])


def test_rows_of_an_unknown_form_are_refused(tmp_path):
    make_runs(tmp_path / "runs", ["spdl"], 1)
    (tmp_path / f"{NAME}.csv").write_text("problem,teacher\na,b\n")
    with pytest.raises(SelfpacedError, match=r"must have the columns problem, teacher, .* got no"):
        collect(tmp_path / "runs", 1, tmp_path)
