"""Searches with invented outcomes; training is tested elsewhere."""

import csv
import json

import pytest

from selfpaced import PROBLEMS, SPDL, SelfpacedError, neurips2020
from selfpaced.commands.search import Options
from selfpaced.commands.train import parse_train
from selfpaced.presets.neurips2020 import GRIDS, find_preset, grid_of
from selfpaced.studies.search import find_grid, plan_search, rank, write_search
from tests.studies.outcomes import invent_outcome


def test_every_combination_of_the_papers_grid_is_tried_once(tmp_path):
    cells = plan_search(neurips2020("point-mass-3d", "alp-gmm", "ppo"), tmp_path)
    tried = {
        (teacher.p_random, teacher.num_rollouts, teacher.buffer_size)
        for teacher in (cell.experiment.method.teacher for cell in cells)
    }
    assert len(cells) == len(tried) == 27
    assert (0.1, 100, 500) in tried
    assert len({cell.path for cell in cells}) == 27


def test_the_search_uses_other_seeds_than_the_results():
    searched = Options("point-mass-3d").experiment().seeds
    assert not set(searched) & set(neurips2020("point-mass-3d").seeds)


def test_every_grid_contains_the_settings_that_the_paper_found():
    columns = [
        (problem, learner) for problem in PROBLEMS for learner in find_preset(problem).published
    ]
    assert len(columns) == 6
    for teacher in GRIDS:
        for problem, learner in columns:
            found = neurips2020(problem, teacher, learner).method.teacher
            for name, values in grid_of(problem, teacher).items():
                assert getattr(found, name) in values


def test_a_teacher_without_a_grid_is_refused(tmp_path):
    with pytest.raises(SelfpacedError, match=r"teacher with a grid must be one of .* got 'random'"):
        plan_search(neurips2020("point-mass-3d", "random"), tmp_path)
    with pytest.raises(SelfpacedError, match=r"got 'spdl\*'; did you mean 'spdl'"):
        plan_search(neurips2020("ball-catching", "spdl*"), tmp_path)


def test_the_best_area_under_the_curve_becomes_a_preset(tmp_path):
    cells = plan_search(neurips2020("point-mass-2d", "spdl", "ppo"), tmp_path)
    zetas = [cell.experiment.method.teacher.zeta for cell in cells]
    ranked = rank(
        [invent_outcome(cell, zeta % 1.6) for cell, zeta in zip(cells, zetas, strict=True)]
    )
    preset = write_search(tmp_path, find_grid(cells[0].experiment), ranked)
    with open(tmp_path / "search.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["zeta"]) for row in rows] == [1.4, 1.2, 1.0, 1.8, 1.6]
    assert preset == tmp_path / "preset.json"
    assert json.loads(preset.read_text())["teacher"]["zeta"] == 1.4
    _, trained = parse_train(["point-mass-2d", "--preset", str(preset), "--seeds", "2"])
    assert (trained.method.teacher.zeta, trained.seeds) == (1.4, (1, 2))
    _, overridden = parse_train(["point-mass-2d", "--preset", str(preset), "--teacher.zeta", "3"])
    assert overridden.method.teacher.zeta == 3.0
    with pytest.raises(SelfpacedError, match="is a preset for point-mass-2d \\+ spdl \\+ ppo"):
        parse_train(["point-mass-3d", "--preset", str(preset)])


def test_a_file_that_is_no_preset_is_named(tmp_path):
    path = tmp_path / "experiment.json"
    for plain, message in (
        ({"experiment": {}}, "experiment.json must be a preset as `selfpaced search` writes it"),
        ({"teacher": {"name": "spdl"}}, "experiment.json: this does not describe an experiment"),
    ):
        path.write_text(json.dumps(plain))
        with pytest.raises(SelfpacedError, match=message):
            parse_train(["point-mass-2d", "--preset", str(path)])


def test_a_grid_may_search_teacher_and_learner(tmp_path):
    grid = {"zeta": (0.5, 2.0), "learner.hidden": ((8,), (8, 8)), "learner.learning_rate": (1e-3,)}
    cells = plan_search(neurips2020("point-mass-2d", "spdl", "ppo"), tmp_path, grid)
    assert [cell.path.name for cell in cells] == [
        f"zeta={zeta},learner.hidden={hidden},learner.learning_rate=0.001"
        for zeta in ("0.5", "2")
        for hidden in ("8", "8x8")
    ]
    last = cells[-1].experiment.method
    assert (last.teacher.zeta, last.learner.hidden, last.learner.learning_rate) == (
        2.0,
        (8, 8),
        1e-3,
    )
    write_search(tmp_path, grid, rank([invent_outcome(cells[-1], 1.0)]))
    [row] = csv.DictReader((tmp_path / "search.csv").read_text().splitlines())
    assert (row["zeta"], row["learner.hidden"]) == ("2", "8x8")


def test_values_that_differ_by_little_have_different_folders(tmp_path):
    grid = {"zeta": (1.0000001, 1.0000002)}
    cells = plan_search(neurips2020("point-mass-2d"), tmp_path, grid)
    assert len({cell.path for cell in cells}) == 2


def test_the_papers_grid_of_spdl_is_refused_where_it_has_no_effect(tmp_path):
    experiment = neurips2020("point-mass-2d").with_parts(teacher=SPDL(pacing="mastery"))
    with pytest.raises(SelfpacedError, match=r'is for pacing="tradeoff".*give values to try'):
        plan_search(experiment, tmp_path)
