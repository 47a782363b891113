"""The command `selfpaced compare`, with invented results; training is tested elsewhere."""

import csv
import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from selfpaced import Random, SelfpacedError, neurips2020
from selfpaced.commands.compare import Options, main
from selfpaced.commands.options import BudgetChanges, Repetitions, parse, parse_with_problem
from selfpaced.errors import InterruptedRunError
from selfpaced.experiment import Budget
from selfpaced.studies import comparison
from tests.studies.cells import Trainer


@pytest.fixture(name="trainer")
def _trainer(monkeypatch):
    trainer = Trainer()
    monkeypatch.setattr(comparison, "run", trainer.run)
    monkeypatch.setattr(comparison, "resume", trainer.resume)
    return trainer


def arguments(out, *more):
    flags = f"point-mass-2d --teachers spdl,default,random --seeds 3 --iterations 20 --out {out}"
    return [*flags.split(), *more]


def read_table(out):
    with open(out / "comparison.csv") as file:
        return list(csv.DictReader(file))


def test_the_command_runs_the_cells_and_writes_tables_and_figures(tmp_path, trainer, capsys):
    main(arguments(tmp_path / "out", "--threshold", "5"))
    shown = capsys.readouterr().out
    assert "cell 3 of 3 point-mass-2d, random-ppo: starting" in shown
    assert "9.20 ± 0.05" in shown
    rows = read_table(tmp_path / "out")
    assert [row["teacher"] for row in rows] == ["spdl", "default", "random"]
    assert [row["share_reaching_threshold"] for row in rows] == ["1", "0", "1"]
    text = (tmp_path / "out" / "comparison.md").read_text()
    assert "--seeds 3 --first-seed 1 --iterations 20 --threshold 5.0 --out" in text
    assert "not finished" not in text
    pictures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert pictures == {
        "learning_curves.png",
        "success_rates.png",
        "contexts.png",
        "interquartile_means.png",
        "probability_of_improvement.png",
    }
    main(arguments(tmp_path / "out"))
    assert "cell 1 of 3 point-mass-2d, spdl-ppo: already finished" in capsys.readouterr().out
    assert len(trainer.calls) == 3


def test_an_interrupted_command_reports_what_is_finished(tmp_path, trainer):
    trainer.stop_at = "random-ppo"
    with pytest.raises(InterruptedRunError):
        main(arguments(tmp_path))
    assert [row["teacher"] for row in read_table(tmp_path)] == ["spdl", "default"]
    assert "- not finished yet: random-ppo" in (tmp_path / "comparison.md").read_text()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_command_that_is_stopped_at_once_writes_no_tables(tmp_path, trainer):
    trainer.stop_at = "spdl-ppo"
    with pytest.raises(InterruptedRunError):
        main(arguments(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["spdl-ppo"]


def test_a_cell_that_fails_keeps_its_message_and_the_others_go_on(tmp_path, trainer):
    trainer.stop_at, trainer.failure = "default-ppo", SelfpacedError("the worker died")
    with pytest.raises(SelfpacedError, match="the worker died"):
        main(arguments(tmp_path))
    assert [row["teacher"] for row in read_table(tmp_path)] == ["spdl", "random"]


def lose_all_seeds(folder):
    """Mark all seeds of a finished cell as failed."""
    summary = json.loads((folder / "summary.json").read_text())
    summary["failed_seeds"] = [{"seed": seed, "reason": "NaN"} for seed in (1, 2, 3)]
    (folder / "summary.json").write_text(json.dumps(summary))


def test_cells_of_which_all_seeds_failed_are_named(tmp_path, trainer):
    main(arguments(tmp_path))
    lose_all_seeds(tmp_path / "spdl-ppo")
    main(arguments(tmp_path))
    text = (tmp_path / "comparison.md").read_text()
    assert "- all seeds of spdl-ppo have failed (reasons: summary.json; try again:" in text
    assert "not finished" not in text
    assert [row["teacher"] for row in read_table(tmp_path)] == ["default", "random"]
    lose_all_seeds(tmp_path / "default-ppo")
    lose_all_seeds(tmp_path / "random-ppo")
    with pytest.raises(SelfpacedError, match=r"all seeds of all cells in .* have failed"):
        main(arguments(tmp_path))


def test_the_defaults_are_all_teachers_with_ppo():
    options = Options("point-mass-3d")
    assert options.folder == Path("runs/compare-point-mass-3d")
    assert {"spdl", "default", "random"} <= {cell.teacher for cell in options.cells()}
    assert {cell.learner for cell in options.cells()} == {"ppo"}
    assert options.cells()[0].experiment.seeds == tuple(range(1, 21))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": -1}, "iterations must be positive, got -1"),
        ({"num_environments": 0}, "num_environments must be positive, got 0"),
    ],
)
def test_changes_of_the_budget_check_themselves(settings, message):
    with pytest.raises(SelfpacedError, match=message):
        BudgetChanges(**settings)


def test_the_threshold_must_be_finite():
    with pytest.raises(SelfpacedError, match="threshold must be finite, got nan"):
        Options("point-mass-3d", threshold=float("nan"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": 0}, "seeds must be positive, got 0"),
        ({"workers": 0}, "workers must be positive"),
    ],
)
def test_shared_options_check_themselves(settings, message):
    with pytest.raises(SelfpacedError, match=message):
        Repetitions(**settings)


def test_a_preset_is_for_the_cell_that_it_fits(tmp_path):
    tuned = neurips2020("point-mass-2d")
    tuned = tuned.with_parts(teacher=replace(tuned.method.teacher, zeta=9.0))
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(tuned.to_dict()))
    cells = Options("point-mass-2d", "spdl,random", preset=(path,), out=tmp_path).cells()
    assert cells[0].experiment.method.teacher.zeta == 9.0
    with pytest.raises(SelfpacedError, match="which is not among: point-mass-2d \\+ random"):
        Options("point-mass-2d", "random", preset=(path,), out=tmp_path).cells()


def cells_of(*words):
    return parse("compare", Options, ["point-mass-2d", *words]).cells()


def test_budget_flags_change_every_cell_and_unset_ones_keep_its_preset():
    flags = "--iterations 7 --steps-per-iteration 512 --num-environments 4 --evaluate-every 2"
    words = f"--teachers spdl,random --learners ppo,trpo {flags} --evaluation-episodes 3"
    for cell in cells_of(*words.split(), "--initial-policy", "random"):
        published = neurips2020("point-mass-2d", cell.teacher, cell.learner)
        budget = Budget(7, 512, 4, 2, 3, "random")
        assert cell.experiment == replace(published, **asdict(budget))
    [unchanged] = cells_of("--teachers", "spdl", "--evaluate-every", "4")
    assert unchanged.experiment == replace(neurips2020("point-mass-2d"), evaluate_every=4)


def test_a_setting_applies_to_every_cell_that_has_it():
    flags = "--teacher.zeta 3 --learner.hidden 8 9 --teacher.no-pretrain --teacher.max_kl=0.1"
    cells = cells_of("--teachers", "spdl,goal-gan,random", "--seeds", "2", *flags.split())
    spdl, goal_gan, random = (cell.experiment.method for cell in cells)
    assert (spdl.teacher.zeta, spdl.teacher.max_kl) == (3.0, 0.1)
    assert not goal_gan.teacher.pretrain
    assert random.teacher == Random()
    assert {method.learner.hidden for method in (spdl, goal_gan, random)} == {(8, 9)}
    assert cells[0].experiment.seeds == (1, 2)


def test_settings_that_only_fit_each_other_can_be_given_together():
    flags = "--learner.batch-size 20000 --learner.buffer-size 30000"  # the paper has 64 and 10000
    [cell] = cells_of("--teachers", "spdl", "--learners", "sac", *flags.split())
    assert cell.experiment.method.learner.batch_size == 20000


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--teacher.zta 3", "one of --teacher.zeta, .*got '--teacher.zta'; did you mean '--teach"),
        (
            "--teacher.p-random 1",
            "setting of a cell \\(spdl, random\\) must be .*got '--teacher.p-random'",
        ),
        ("--environment.normal axis", "got '--environment.normal'"),
        ("--teacher.zeta many", "--teacher.zeta must be FLOAT, got 'many'; see `selfpaced compare"),
        ("--teacher.zeta -1", "zeta must be non-negative, got -1.0"),
    ],
)
def test_a_setting_that_no_cell_has_and_a_wrong_value_are_named(flags, message):
    with pytest.raises(SelfpacedError, match=message):
        cells_of("--teachers", "spdl,random", *flags.split())


def test_settings_of_our_host_environments_apply_too():
    words = ["ball-catching", "--teachers", "random", "--environment.normal", "axis"]
    [cell] = parse("compare", Options, words).cells()
    assert cell.experiment.resolved.environment.normal == "axis"


def test_the_report_repeats_budget_and_settings(tmp_path, trainer):
    main(arguments(tmp_path, "--evaluate-every", "10", "--learner.hidden", "8", "8"))
    text = (tmp_path / "comparison.md").read_text()
    assert "--iterations 20 --evaluate-every 10 --learner.hidden 8 8 --out" in text


def test_the_help_explains_settings_of_cells(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["point-mass-3d", "--teacher.zeta", "--help"])
    assert stop.value.code == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "apply to every cell that has them: `--teacher.zeta 1.2`" in shown
    assert "--evaluation-episodes" in shown
    assert "--settings" not in shown


def test_flags_take_precedence_over_a_preset_file_and_the_file_over_the_paper(tmp_path):
    tuned = replace(neurips2020("point-mass-2d"), iterations=9, evaluate_every=3)
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(tuned.to_dict()))
    words = ["--teachers", "spdl,random", "--preset", str(path), "--evaluate-every", "2"]
    spdl, random = (cell.experiment for cell in cells_of(*words))
    assert (spdl.iterations, spdl.evaluate_every) == (9, 2)
    published = neurips2020("point-mass-2d", "random")
    assert (random.iterations, random.evaluate_every) == (published.iterations, 2)


def test_nothing_runs_before_all_names_are_known(trainer):
    with pytest.raises(SelfpacedError, match="got 'unknown'"):
        main(["point-mass-3d", "--teachers", "spdl,unknown"])
    assert trainer.calls == []


def test_a_grid_makes_a_cell_for_each_value_in_cells_that_have_the_setting(tmp_path):
    words = ["point-mass-2d", "--teachers", "spdl,random", "--out", str(tmp_path)]
    words += ["--grid", "teacher.zeta=0.5,2", "--seeds", "1"]
    options = parse_with_problem("compare", Options, words)
    cells = options.cells()
    assert [cell.teacher for cell in cells] == ["spdl zeta=0.5", "spdl zeta=2", "random"]
    assert [cell.experiment.method.teacher.zeta for cell in cells[:2]] == [0.5, 2.0]
    assert len({cell.path for cell in cells}) == 3
    assert (
        parse_with_problem("compare", Options, shlex.split(options.command())[2:]).cells() == cells
    )


def test_a_grid_over_a_setting_that_no_cell_has_is_refused(tmp_path):
    words = ["point-mass-2d", "--teachers", "random", "--grid", "teacher.zeta=1,2"]
    with pytest.raises(SelfpacedError, match="setting of --grid in a cell must be one of"):
        parse_with_problem("compare", Options, words).cells()
