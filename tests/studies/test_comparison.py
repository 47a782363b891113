"""Comparisons of runs with invented numbers; nothing is trained here."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

import selfpaced.studies.comparison as comparison
from selfpaced import Random, RunFolder, SelfpacedError, neurips2020
from selfpaced.commands.compare import CompareOptions, compare_command
from selfpaced.runs.storage import write_arrays, write_csv, write_json
from selfpaced.runs.supervisor import InterruptedRunError
from selfpaced.studies.comparison import (
    InterruptedComparisonError,
    inspect_cell,
    plan_cells,
    read_outcome,
    read_outcomes,
    run_cells,
)

SEEDS = (1, 2, 3)
LEVEL = {"SPDL": 9.0, "Default": 1.0, "Random": 5.0}


def invent_results(path, experiment):
    """The files of a finished run that a comparison reads; returns rise to the teacher's level."""
    level = LEVEL[type(experiment.teacher).__name__]
    rows = [
        (moment, seed, level * moment / experiment.iterations + 0.1 * seed, 0.5)
        for moment in experiment.evaluation_iterations
        for seed in experiment.seeds
    ]
    write_csv(path / "evaluations.csv", ["iteration", "seed", "return", "success"], rows)
    write_csv(path / "metrics.csv", ["iteration", "seed"], [])
    write_json(path / "summary.json", {"finished": True, "iterations": 20, "wall_seconds": 2.5})


def make_finished(cell):
    RunFolder.create(cell.path, cell.experiment, [cell.experiment.seeds])
    invent_results(cell.path, cell.experiment)


def make_unfinished(cell):
    folder = RunFolder.create(cell.path, cell.experiment, [cell.experiment.seeds])
    write_arrays(folder.checkpoint_path(0), {}, {"iteration": 3})


@pytest.fixture(name="cells")
def _cells(tmp_path):
    return plan_cells("point-mass-2d", ["spdl", "default", "random"], ["ppo"], SEEDS, tmp_path, 20)


class Trainer:
    """Stands in for `run` and `resume`, and remembers what it was asked to do."""

    def __init__(self):
        self.calls = []
        self.stop_at = None  # a folder name
        self.failure = InterruptedRunError(Path("somewhere"), 1, 20)

    def run(self, experiment, out, workers=None, overwrite=False, listener=None):
        assert not overwrite
        self.calls.append(("run", out.name))
        RunFolder.create(out, experiment, [experiment.seeds])
        self._train(out, experiment)

    def resume(self, path, listener=None):
        self.calls.append(("resume", path.name))
        self._train(path, RunFolder(path).experiment())

    def _train(self, path, experiment):
        if path.name == self.stop_at:
            write_arrays(RunFolder(path).checkpoint_path(0), {}, {"iteration": 1})
            raise self.failure
        invent_results(path, experiment)


@pytest.fixture(name="trainer")
def _trainer(monkeypatch):
    trainer = Trainer()
    monkeypatch.setattr(comparison, "run", trainer.run)
    monkeypatch.setattr(comparison, "resume", trainer.resume)
    return trainer


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_teacher_is_paired_with_every_learner_of_the_paper(tmp_path):
    cells = plan_cells("point-mass-3d", ["spdl", "random"], ["ppo"], SEEDS, tmp_path)
    assert [cell.path for cell in cells] == [tmp_path / "spdl-ppo", tmp_path / "random-ppo"]
    assert cells[0].experiment == neurips2020("point-mass-3d", "spdl", "ppo", SEEDS)
    shorter = plan_cells("point-mass-3d", ["spdl"], ["ppo"], SEEDS, tmp_path, iterations=7)[0]
    assert shorter.experiment == replace(cells[0].experiment, iterations=7)


class Mine(Random):
    """Somebody's teacher."""


def test_anybodys_teacher_has_a_cell_too(tmp_path):
    name = "tests.studies.test_comparison:Mine"
    [cell] = plan_cells("point-mass-3d", [name], ["ppo"], SEEDS, tmp_path)
    assert (cell.teacher, cell.path) == (name, tmp_path / "tests.studies.test_comparison-Mine-ppo")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("point-mass-4d", ["spdl"], ["ppo"]), "did you mean 'point-mass-"),
        (("point-mass-3d", ["random", "sdpl"], ["ppo"]), "unknown teacher 'sdpl': did you mean"),
        (("point-mass-3d", ["spdl"], ["ppo", "poo"]), "unknown learner 'poo': did you mean 'ppo'"),
        (("point-mass-3d", ["spdl", "spdl"], ["ppo"]), "teachers wants every name once, got spdl"),
        (("point-mass-3d", ["spdl"], [""]), "learners wants names, got ''"),
    ],
)
def test_a_wrong_name_is_found_before_anything_runs(tmp_path, arguments, message):
    with pytest.raises(SelfpacedError, match=message):
        plan_cells(*arguments, SEEDS, tmp_path)
    assert not list(tmp_path.iterdir())


def test_only_what_is_not_finished_is_run(cells, trainer):
    make_finished(cells[0])
    make_unfinished(cells[1])
    before = contents(cells[0].path)
    announced = []
    run_cells(cells, announce=lambda place, cell, state: announced.append((place, state)))
    assert trainer.calls == [("resume", "default-ppo"), ("run", "random-ppo")]
    assert announced == [(1, "finished"), (2, "unfinished"), (3, "new")]
    assert contents(cells[0].path) == before
    trainer.calls.clear()
    run_cells(cells)
    assert trainer.calls == []


def test_a_run_killed_before_its_first_checkpoint_is_resumed(cells):
    RunFolder.create(cells[0].path, cells[0].experiment, [SEEDS])
    assert inspect_cell(cells[0]) == "unfinished"
    cells[1].path.mkdir()
    assert inspect_cell(cells[1]) == "new"


def test_leftover_checkpoints_do_not_make_a_finished_run_unfinished(cells):
    make_unfinished(cells[0])
    invent_results(cells[0].path, cells[0].experiment)
    assert inspect_cell(cells[0]) == "finished"


def test_other_settings_are_named_before_anything_runs(cells, trainer, tmp_path):
    for cell in cells[:2]:
        make_finished(cell)
    other = plan_cells("point-mass-2d", ["random", "spdl"], ["ppo"], (1, 2), tmp_path, 30)
    before = contents(tmp_path)
    with pytest.raises(SelfpacedError) as caught:
        run_cells(other)
    message = str(caught.value)
    assert f"{tmp_path / 'spdl-ppo'} was made with other settings" in message
    assert "seeds (there [1, 2, 3], wanted [1, 2])" in message
    assert "iterations (there 20, wanted 30)" in message
    assert "choose another folder with --out" in message
    assert trainer.calls == []
    assert contents(tmp_path) == before


def test_many_differences_are_not_all_named(cells):
    make_finished(cells[0])
    experiment = cells[0].experiment
    changed = replace(
        experiment,
        seeds=tuple(range(1, 21)),
        iterations=9,
        steps_per_iteration=8,
        evaluate_every=2,
        evaluation_episodes=3,
        teacher=replace(experiment.teacher, zeta=77.0),
    )
    with pytest.raises(SelfpacedError, match=r"wanted 1 … 20, 20 of them.* and 2 more;"):
        inspect_cell(replace(cells[0], experiment=changed))


def test_settings_that_this_version_does_not_know_are_differences(cells):
    make_finished(cells[0])
    path = cells[0].path / "experiment.json"
    description = json.loads(path.read_text())
    description["experiment"]["teacher"]["mood"] = "cheerful"
    write_json(path, description)
    with pytest.raises(SelfpacedError, match=r"teacher.mood \(there cheerful, wanted None\)"):
        inspect_cell(cells[0])


def damage_experiment(cell):
    (cell.path / "experiment.json").write_text('{"experiment": {')


def lose_experiment(cell):
    (cell.path / "experiment.json").unlink()


def lose_summary(cell):
    (cell.path / "summary.json").unlink()


def damage_summary(cell):
    (cell.path / "summary.json").write_text("[]")


def lose_checkpoints(cell):
    write_json(cell.path / "summary.json", {"finished": False, "iterations": 5})


def damage_checkpoint(cell):
    lose_checkpoints(cell)
    path = cell.folder.checkpoint_path(0)
    path.parent.mkdir()
    path.write_bytes(b"rubbish")


def cut_evaluations(cell):
    path = cell.path / "evaluations.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))


def tear_evaluations(cell):
    path = cell.path / "evaluations.csv"
    path.write_text(path.read_text()[:-12])


def lose_returns(cell):
    path = cell.path / "evaluations.csv"
    path.write_text(path.read_text().replace("return", "loss"))


def diverge(cell):
    path = cell.path / "evaluations.csv"
    path.write_text(path.read_text().replace("20,2,5.2,", "20,2,,"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_experiment, "experiment.json is damaged"),
        (lose_experiment, "experiment.json is missing"),
        (lose_summary, "holds evaluations.csv and metrics.csv but summary.json is missing"),
        (damage_summary, "summary.json does not say how far the run is"),
        (lose_checkpoints, "but checkpoints is missing"),
        (damage_checkpoint, "block-0.safetensors is damaged"),
        (cut_evaluations, r"evaluations.csv is damaged \(5 evaluations wanted, got 4\)"),
        (tear_evaluations, "evaluations.csv"),
        (lose_returns, "no column 'return'"),
        (diverge, r"return that is not a number \(seed 2\)"),
    ],
)
def test_a_damaged_cell_is_named_and_kept_and_nothing_runs(cells, trainer, damage, message):
    make_finished(cells[2])
    damage(cells[2])
    before = contents(cells[2].path)
    with pytest.raises(SelfpacedError, match=f"cannot use the cell random-ppo: .*{message}") as it:
        run_cells(cells)
    assert f"move {cells[2].path} away and repeat the command" in str(it.value)
    assert trainer.calls == []
    assert contents(cells[2].path) == before


def test_a_file_in_the_place_of_a_cell_is_named(cells):
    cells[0].path.write_text("")
    with pytest.raises(SelfpacedError, match="is a file"):
        inspect_cell(cells[0])


@pytest.mark.parametrize("failure", [InterruptedRunError(Path("x"), 1, 20), KeyboardInterrupt()])
def test_an_interruption_says_to_repeat_the_command_and_it_goes_on_there(cells, trainer, failure):
    trainer.stop_at, trainer.failure = "default-ppo", failure
    with pytest.raises(InterruptedComparisonError) as caught:
        run_cells(cells)
    assert str(caught.value) == (
        "stopped in cell 2 of 3 (default-ppo); nothing is lost, repeat the same command to go on"
    )
    assert [outcome.cell.teacher for outcome in read_outcomes(cells)] == ["spdl"]
    trainer.stop_at = None
    trainer.calls.clear()
    run_cells(cells)
    assert trainer.calls == [("resume", "default-ppo"), ("run", "random-ppo")]
    assert len(read_outcomes(cells)) == 3


def test_an_outcome_is_what_the_evaluations_say(cells):
    make_finished(cells[0])
    outcome = read_outcome(cells[0])
    assert outcome.iterations.tolist() == [0, 5, 10, 15, 20]
    assert outcome.returns.shape == outcome.successes.shape == (5, 3)
    assert outcome.final_returns.tolist() == pytest.approx([9.1, 9.2, 9.3])
    assert outcome.wall_seconds == 2.5
    assert "jax" in outcome.versions


def arguments(out, *more):
    flags = f"point-mass-2d --teachers spdl,default,random --seeds 3 --iterations 20 --out {out}"
    return [*flags.split(), *more]


def read_table(out):
    with open(out / "comparison.csv") as file:
        return list(csv.DictReader(file))


def test_the_command_runs_the_cells_and_writes_what_came_of_them(tmp_path, trainer, capsys):
    compare_command(arguments(tmp_path / "out", "--threshold", "5"))
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
        "interquartile_means.png",
        "probability_of_improvement.png",
    }
    compare_command(arguments(tmp_path / "out"))
    assert "cell 1 of 3 point-mass-2d, spdl-ppo: finished before" in capsys.readouterr().out
    assert len(trainer.calls) == 3


def test_an_interrupted_command_reports_what_is_finished(tmp_path, trainer):
    trainer.stop_at = "random-ppo"
    with pytest.raises(InterruptedComparisonError):
        compare_command(arguments(tmp_path))
    assert [row["teacher"] for row in read_table(tmp_path)] == ["spdl", "default"]
    assert "- not finished yet: random-ppo" in (tmp_path / "comparison.md").read_text()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_command_that_is_stopped_at_once_writes_no_tables(tmp_path, trainer):
    trainer.stop_at = "spdl-ppo"
    with pytest.raises(InterruptedComparisonError):
        compare_command(arguments(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["spdl-ppo"]


def test_a_cell_that_fails_keeps_its_message(tmp_path, trainer):
    trainer.stop_at, trainer.failure = "default-ppo", SelfpacedError("the worker died")
    with pytest.raises(SelfpacedError, match="the worker died"):
        compare_command(arguments(tmp_path))
    assert [row["teacher"] for row in read_table(tmp_path)] == ["spdl"]


def test_the_command_knows_its_defaults():
    options = CompareOptions("point-mass-3d")
    assert options.folder == Path("runs/compare-point-mass-3d")
    assert {"spdl", "default", "random"} <= {cell.teacher for cell in options.cells()}
    assert {cell.learner for cell in options.cells()} == {"ppo"}
    assert options.cells()[0].experiment.seeds == tuple(range(1, 21))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": 0}, "seeds must be positive, got 0"),
        ({"workers": 0}, "workers must be positive"),
        ({"iterations": -1}, "iterations must be positive"),
        ({"threshold": float("nan")}, "threshold must be a number, got nan"),
    ],
)
def test_options_check_themselves(settings, message):
    with pytest.raises(SelfpacedError, match=message):
        CompareOptions("point-mass-3d", **settings)
