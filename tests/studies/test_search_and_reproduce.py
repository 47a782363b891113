"""Search and reproduce on small synthetic runs; the training itself is tested elsewhere."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from selfpaced import SelfpacedError, neurips2020
from selfpaced.commands.compare import CompareOptions
from selfpaced.commands.main import main
from selfpaced.commands.reproduce import ReproduceOptions, _against, plan_result
from selfpaced.commands.search import SearchOptions, _write, plan_search, rank
from selfpaced.commands.train import parse_train
from selfpaced.presets.published import GRIDS, RESULTS, TABLE_1, grid_of
from selfpaced.runs.storage import write_csv
from selfpaced.studies import comparison
from selfpaced.studies.comparison import Cell, Outcome


def outcome(cell: Cell, level: float) -> Outcome:
    iterations = np.arange(0, 30, 10)
    noise = np.random.default_rng(0).normal(0, 0.1, (3, len(cell.experiment.seeds)))
    return Outcome(cell, iterations, level + noise, noise > 0, 60.0, {})


def test_the_grid_is_the_papers_and_every_combination_is_tried_once(tmp_path):
    cells = plan_search(SearchOptions("point-mass-3d", "alp-gmm", "ppo", out=tmp_path))
    tried = {
        (teacher.p_random, teacher.num_rollouts, teacher.buffer_size)
        for teacher in (cell.experiment.teacher for cell in cells)
    }
    assert len(cells) == len(tried) == 27
    assert (0.1, 100, 500) in tried
    assert len({cell.path for cell in cells}) == 27


def test_the_search_uses_other_seeds_than_the_results():
    searched = SearchOptions("point-mass-3d").experiment().seeds
    assert not set(searched) & set(neurips2020("point-mass-3d").seeds)


def test_every_grid_contains_the_settings_that_the_paper_found():
    for teacher in GRIDS:
        for problem, learner in TABLE_1:
            found = neurips2020(problem, teacher, learner).teacher
            for name, values in grid_of(problem, teacher).items():
                assert getattr(found, name) in values


def test_the_best_area_under_the_curve_becomes_a_preset(tmp_path):
    options = SearchOptions("point-mass-2d", "spdl", "ppo", out=tmp_path)
    cells = plan_search(options)
    ranked = rank([outcome(cell, cell.experiment.teacher.zeta % 1.6) for cell in cells])
    _write(options, ranked)
    with open(tmp_path / "search.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["zeta"]) for row in rows] == [1.4, 1.2, 1.0, 1.8, 1.6]
    preset = tmp_path / "preset.json"
    assert json.loads(preset.read_text())["teacher"]["zeta"] == 1.4
    _, trained = parse_train(["point-mass-2d", "--preset", str(preset), "--seeds", "2"])
    assert (trained.teacher.zeta, trained.seeds) == (1.4, (1, 2))
    _, overridden = parse_train(["point-mass-2d", "--preset", str(preset), "--teacher.zeta", "3"])
    assert overridden.teacher.zeta == 3.0
    with pytest.raises(SelfpacedError, match="is a preset for point-mass-2d \\+ spdl \\+ ppo"):
        parse_train(["point-mass-3d", "--preset", str(preset)])


def test_a_file_that_is_no_preset_is_named(tmp_path):
    path = tmp_path / "experiment.json"
    for plain, message in (
        ({"experiment": {}}, "experiment.json is no preset, as `selfpaced search` writes them"),
        ({"teacher": {"name": "spdl"}}, "experiment.json: this does not describe an experiment"),
    ):
        path.write_text(json.dumps(plain))
        with pytest.raises(SelfpacedError, match=message):
            parse_train(["point-mass-2d", "--preset", str(path)])


def test_compare_takes_a_preset_for_the_cell_it_fits(tmp_path):
    tuned = neurips2020("point-mass-2d")
    tuned = replace(tuned, teacher=replace(tuned.teacher, zeta=9.0))
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(tuned.to_dict()))
    cells = CompareOptions("point-mass-2d", "spdl,random", preset=(path,), out=tmp_path).cells()
    assert cells[0].experiment.teacher.zeta == 9.0
    with pytest.raises(SelfpacedError, match="not what is to be run"):
        CompareOptions("point-mass-2d", "random", preset=(path,), out=tmp_path).cells()


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_plan_with_the_papers_number_of_seeds(name, tmp_path):
    cells = plan_result(RESULTS[name], ReproduceOptions(name, out=tmp_path))
    assert cells
    assert all(len(cell.experiment.seeds) == 20 for cell in cells)
    assert len({cell.path for cell in cells}) == len(cells)


def test_sac_trains_for_the_papers_400_iterations():
    assert neurips2020("point-mass-3d", "spdl", "sac").iterations == 400


def test_the_distance_to_the_paper_is_in_joint_standard_errors():
    assert _against((9.0, 0.3), 10.0, 0.4) == ("9.00 ± 0.3", "+2.0")
    assert _against(None, 1.0, 0.1) == ("–", "–")


def test_reproduce_puts_the_papers_figure_next_to_ours(tmp_path, monkeypatch, capsys):
    from selfpaced.commands import reproduce as module

    def draw_together(folders, out):
        write_csv(out / "x_position.csv", ["run", "seed", "median_x"], [["SPDL", 3, 4.25]])
        return [out / "x_position.png", out / "x_position.csv"]

    monkeypatch.setattr(module, "run_cells", lambda *_: None)
    monkeypatch.setattr(module, "draw_together", draw_together)
    monkeypatch.setattr(module, "draw_run", lambda *_: [])
    levels = {"spdl": 9.3, "default": 2.4}
    monkeypatch.setattr(
        module,
        "read_outcomes",
        lambda cells: [outcome(cell, levels.get(cell.teacher, 0.5)) for cell in cells],
    )
    main(["reproduce", "table-1-ppo", "--seeds", "4", "--out", str(tmp_path)])
    text = (tmp_path / "table-1-ppo.md").read_text()
    assert "## point-mass-3d, ppo" in text
    assert "9.35 ± 0.1" in text
    assert "| best |" in text
    assert "### x position\n\n| run | seed | median x |\n|" in text
    assert "| SPDL | 3 | 4.25 |" in text
    rows = (tmp_path / "table-1-ppo.csv").read_text().splitlines()
    assert len(rows) == 1 + 10
    first = dict(zip(rows[0].split(","), rows[1].split(","), strict=True))
    assert (first["teacher"], first["seeds"], len(first["final_returns"].split())) == (
        "spdl",
        "4",
        4,
    )

    main(["reproduce", "table-1-ppo", "--teachers", "spdl,default", "--out", str(tmp_path)])
    assert len((tmp_path / "table-1-ppo.csv").read_text().splitlines()) == 1 + 4


def test_reproduce_alone_lists_the_results(capsys):
    main(["reproduce"])
    text = capsys.readouterr().out
    assert all(name in text for name in RESULTS)


def test_an_unknown_result_or_teacher_is_answered_with_the_nearest(capsys):
    for arguments, near in (
        (["reproduce", "table-1-pp0"], "table-1-ppo"),
        (["reproduce", "table-1-ppo", "--teachers", "spdll"], "spdl"),
        (["search", "point-mass-3d", "--teacher", "alpgmm"], "alp-gmm"),
        (["compare", "point-mass-3d", "--teachers", "spdl,goalgan"], "goal-gan"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert f"did you mean '{near}'" in " ".join(capsys.readouterr().err.split())


def test_nothing_of_a_comparison_runs_before_all_names_are_known(monkeypatch):
    monkeypatch.setattr(comparison, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(SystemExit):
        main(["compare", "point-mass-3d", "--teachers", "spdl,nobody"])
