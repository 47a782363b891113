"""Cells that are collected from run folders: what counts, what does not, and what is missing."""

from dataclasses import replace

import pytest

from selfpaced import SelfpacedError
from selfpaced.experiment import seeds_from
from selfpaced.runs import revision as revisions
from selfpaced.runs.verification import find_runs
from selfpaced.studies.collection import collect
from selfpaced.studies.reproduction import RESULTS, plan_result
from tests.reports.invented_runs import invented_run
from tests.studies.cells import make_finished, make_unfinished

COMMIT = "a" * 40


@pytest.fixture(autouse=True)
def _committed(monkeypatch):
    """The tree of these tests may have changes."""
    monkeypatch.setattr(revisions, "revision", lambda: COMMIT)


@pytest.fixture(name="cell")
def _cell(tmp_path):
    """SPDL with PPO in three dimensions, 6 seeds."""
    return plan_result(RESULTS["table-1-ppo"], seeds_from(1, 6), tmp_path, ["spdl"])[0]


def part(cell, name, first, num, make=make_finished, **settings):
    """Make a run of some seeds in a folder of any name."""
    experiment = replace(cell.experiment, seeds=seeds_from(first, num), **settings)
    make(replace(cell, experiment=experiment, path=cell.path.parents[1] / name))


def collected(cell):
    root = cell.path.parents[1]
    (found,) = collect([cell], find_runs(root))
    return found


def test_a_run_is_found_wherever_it_is(cell, tmp_path):
    part(cell, "deep/in/a/folder", 1, 6)
    found = collected(cell)
    assert found.seeds == (1, 2, 3, 4, 5, 6)
    assert found.missing(tmp_path) == []
    outcome = found.outcome(tmp_path / "scratch")
    assert outcome.final_returns.shape == (6,)
    assert not (tmp_path / "scratch").exists()


def test_parts_with_different_seeds_are_one_cell(tmp_path):
    cell = plan_result(RESULTS["table-1-ppo"], seeds_from(1, 20), tmp_path, ["spdl"])[0]
    path, seeds = tmp_path / "parts", ((7, 8), (1,))
    for number, each in enumerate(seeds):
        invented_run(path / str(number), seeds=each)
    runs = find_runs(path)
    cell = replace(cell, experiment=replace(runs[0].experiment(), seeds=cell.experiment.seeds))
    (found,) = collect([cell], runs)
    assert found.seeds == (1, 7, 8)
    outcome = found.outcome(tmp_path / "scratch")
    assert outcome.cell.experiment.seeds == (1, 7, 8)
    assert len(outcome.codes) == 1


def test_missing_seeds_are_counted_and_have_a_command(cell, tmp_path):
    part(cell, "some", 3, 2)
    lines = collected(cell).missing(tmp_path / "new")
    assert lines == [
        "point-mass-3d, spdl, ppo: 2 of 6 seeds",
        "selfpaced train point-mass-3d --teacher spdl --learner ppo --seeds 4 --first-seed 5 --out "
        f"{tmp_path / 'new' / 'point-mass-3d' / 'spdl-ppo-5-8'}",
    ]


def test_without_a_run_seeds_start_where_they_are_said_to(cell, tmp_path):
    (found,) = collect([cell], [])
    assert found.outcome(tmp_path) is None
    assert "--first-seed 11 " in found.missing(tmp_path, first=11)[-1]
    assert "--first-seed" not in found.missing(tmp_path)[-1]


def test_an_unfinished_run_is_named_with_its_iteration(cell, tmp_path):
    part(cell, "half", 1, 6, make_unfinished)
    found = collected(cell)
    assert found.seeds == ()
    (line,) = found.rejected
    assert line.endswith(f"is at 3 of 1000 iterations: `selfpaced resume {tmp_path / 'half'}`")
    assert found.missing(tmp_path) == ["point-mass-3d, spdl, ppo: 0 of 6 seeds", line]


def test_another_edition_of_results_is_refused(cell, monkeypatch):
    part(cell, "old", 1, 6)
    monkeypatch.setattr(revisions, "EDITIONS", {"ppo": 2})
    found = collected(cell)
    assert found.parts == ()
    assert found.rejected[0].endswith(
        "old has another edition of results (ppo 1, now 2); run it again"
    )


def test_an_edition_of_another_part_is_accepted(cell, monkeypatch):
    part(cell, "old", 1, 6)
    monkeypatch.setattr(revisions, "EDITIONS", {"sac": 2})
    assert collected(cell).seeds == (1, 2, 3, 4, 5, 6)


def test_changes_that_are_not_committed_and_other_settings_are_refused(cell, monkeypatch):
    part(cell, "short", 1, 6, iterations=7)
    monkeypatch.setattr(revisions, "revision", lambda: f"{COMMIT}+changes")
    part(cell, "changed", 1, 6)
    changed, short = collected(cell).rejected
    assert changed.endswith("changed was trained by changes that are not committed; run it again")
    assert short.endswith("short has other settings")


def test_a_seed_must_not_count_twice(cell):
    part(cell, "one", 1, 4)
    part(cell, "two", 4, 2)
    with pytest.raises(SelfpacedError, match="seeds of a cell must be different, got 4 in"):
        collected(cell)
