"""Runs of different seeds as one run."""

import shutil
import sys

import numpy as np
import pytest

from selfpaced import PPO, RunFolder, SelfpacedError, load_policy
from selfpaced.commands.main import main
from selfpaced.reports.figures import draw_run
from selfpaced.runs.manifest import write_files
from selfpaced.runs.storage import json_bytes
from selfpaced.studies.merging import merge_runs
from tests.reports.invented_runs import invented_run


@pytest.fixture(name="parts", scope="module")
def _parts(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    return [invented_run(path / "one", seeds=(1, 2)), invented_run(path / "two", seeds=(7,))]


def test_a_merged_run_has_the_seeds_of_its_parts_in_order(parts, tmp_path):
    merged = merge_runs(parts, tmp_path / "all")
    assert merged.is_finished
    assert merged.experiment().seeds == (1, 2, 7)
    assert merged.description()["merged_from"] == [str(part.path) for part in parts]
    for name in ("evaluations", "metrics", "contexts"):
        whole, *columns = (getattr(run, name)() for run in (merged, *parts))
        names = set(whole) - {"iteration", "seed", "seeds"}
        assert names
        for column in names:
            expected = np.concatenate([part[column] for part in columns], axis=1)
            np.testing.assert_array_equal(whole[column], expected)


def test_the_summary_is_that_of_all_seeds(parts, tmp_path):
    summary = merge_runs(parts, tmp_path / "all").summary()
    per_seed = [run for part in parts for run in part.summary()["final_return"]["per_seed"]]
    assert summary["final_return"]["per_seed"] == per_seed
    assert summary["final_return"]["mean"] == pytest.approx(np.mean(per_seed))
    assert summary["seeds"] == [1, 2, 7]
    assert summary["wall_seconds"] == 2.0


def test_runs_whose_seconds_are_unknown_have_no_speed(parts, tmp_path):
    one, two = (RunFolder(shutil.copytree(part.path, tmp_path / part.path.name)) for part in parts)
    for part in (one, two):
        summary = part.summary() | {"wall_seconds": 0.0}
        write_files(part.path, {"summary.json": json_bytes(summary)})
    assert merge_runs([one, two], tmp_path / "all").summary()["steps_per_second"] is None


def test_a_merged_run_opens_like_any_other(parts, tmp_path):
    merged = merge_runs(parts, tmp_path / "all")
    assert {path.name for path in draw_run(merged)} >= {"learning_curve.png", "contexts.png"}
    observation = np.full(merged.experiment().resolved.spec.observation_size, 0.3)
    for part, seed in ((parts[0], 2), (parts[1], 7)):
        expected = load_policy(part.path, seed)(observation)
        np.testing.assert_array_equal(load_policy(merged.path, seed)(observation), expected)


def test_other_settings_are_named(parts, tmp_path):
    other = invented_run(tmp_path / "other", seeds=(8,), learner=PPO(hidden=(5,)))
    with pytest.raises(SelfpacedError, match=r"seeds only.*learner.hidden \(existing \[4\], "):
        merge_runs([*parts, other], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_a_seed_that_occurs_twice_is_named(parts, tmp_path):
    with pytest.raises(SelfpacedError, match="seeds of the runs must differ, got 7 twice"):
        merge_runs([*parts, parts[1]], tmp_path / "all")


def test_an_unfinished_run_is_named(parts, tmp_path):
    unfinished = invented_run(tmp_path / "short", seeds=(9,), reached=[3])
    with pytest.raises(SelfpacedError, match="short is not finished; resume it first"):
        merge_runs([*parts, unfinished], tmp_path / "all")


def test_a_folder_that_is_no_run_is_named(parts, tmp_path):
    with pytest.raises(SelfpacedError, match=r"nowhere/experiment.json is missing; is .* a run"):
        merge_runs([*parts, RunFolder(tmp_path / "nowhere")], tmp_path / "all")


def test_runs_of_a_problem_of_ones_own_are_merged_if_trusted(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_probe.py").write_text("from tests.reports.invented_runs import PROBE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    parts = [
        str(invented_run(tmp_path / str(seed), "own_probe:PROBE", seeds=(seed,)).path)
        for seed in (1, 2)
    ]
    monkeypatch.delitem(sys.modules, "own_probe")
    out = str(tmp_path / "all")
    with pytest.raises(SystemExit):
        main(["merge", *parts, "--out", out])
    assert "if you trust it, add --trust" in capsys.readouterr().err
    main(["merge", *parts, "--out", out, "--trust"])
    assert (tmp_path / "all" / "figures" / "learning_curve.png").exists()


def test_an_existing_folder_is_kept(parts, tmp_path):
    with pytest.raises(SelfpacedError, match="out must be a new folder"):
        merge_runs(parts, tmp_path)


def test_the_command_merges_runs(parts, tmp_path, capsys):
    words = [str(part.path) for part in parts]
    main(["merge", *words, "--out", str(tmp_path / "all")])
    assert RunFolder(tmp_path / "all").experiment().seeds == (1, 2, 7)
    assert "point-mass-3d" in capsys.readouterr().out


def test_the_command_requires_a_new_folder(parts, capsys):
    with pytest.raises(SystemExit):
        main(["merge", str(parts[0].path), str(parts[1].path)])
    assert "--out must name a new folder" in capsys.readouterr().err


def test_runs_of_different_editions_are_not_merged(parts, tmp_path):
    copy = RunFolder(shutil.copytree(parts[1].path, tmp_path / "copy"))
    description = copy.description()
    code = description["code"][0]
    newer = code | {"edition": code["edition"] | {"ppo": 2}}
    write_files(copy.path, {"experiment.json": json_bytes(description | {"code": [newer]})})
    message = r"same edition of results, got .*ppo 2 in .*copy and .*ppo 1 in .*one; run the older"
    with pytest.raises(SelfpacedError, match=message):
        merge_runs([parts[0], copy], tmp_path / "all")


def test_a_merged_run_names_all_code_of_its_parts(parts, tmp_path):
    copy = RunFolder(shutil.copytree(parts[1].path, tmp_path / "copy"))
    description = copy.description()
    older = description["code"][0] | {"revision": "older"}
    write_files(copy.path, {"experiment.json": json_bytes(description | {"code": [older]})})
    merged = merge_runs([parts[0], copy], tmp_path / "all")
    assert merged.description()["code"] == [*parts[0].description()["code"], older]
