"""Cells of a comparison with invented results; training is tested elsewhere."""

import json
from dataclasses import replace

import pytest

from selfpaced import SelfpacedError, neurips2020
from selfpaced.errors import InterruptedRunError
from selfpaced.runs.replacement import create_run
from selfpaced.runs.storage import write_json
from selfpaced.studies import comparison
from selfpaced.studies.comparison import (
    inspect_cell,
    plan_cells,
    read_outcome,
    read_outcomes,
    run_cells,
)
from tests.studies.cells import Trainer, invent_results, make_finished, make_unfinished

SEEDS = (1, 2, 3)


def shortened(cells, iterations):
    return [
        replace(cell, experiment=replace(cell.experiment, iterations=iterations)) for cell in cells
    ]


@pytest.fixture(name="cells")
def _cells(tmp_path):
    teachers = ["spdl", "default", "random"]
    return shortened(plan_cells("point-mass-2d", teachers, ["ppo"], SEEDS, tmp_path), 20)


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


def test_a_users_teacher_has_a_cell_too(tmp_path):
    name = "tests.probes:UserTeacher"
    [cell] = plan_cells("point-mass-3d", [name], ["ppo"], SEEDS, tmp_path)
    assert (cell.teacher, cell.path) == (name, tmp_path / "tests.probes-UserTeacher-ppo")


def test_sprl_has_one_cell_whatever_the_learners_are(tmp_path):
    cells = plan_cells("point-mass-3d", ["sprl", "random"], ["ppo", "trpo"], SEEDS, tmp_path)
    names = [cell.path.name for cell in cells]
    assert names == ["random-ppo", "random-trpo", "sprl-episodic"]
    [alone] = plan_cells("point-mass-3d", ["sprl"], ["ppo"], SEEDS, tmp_path)
    assert alone.experiment == neurips2020("point-mass-3d", "sprl", seeds=SEEDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("point-mass-4d", ["spdl"], ["ppo"]), "did you mean 'point-mass-"),
        (("point-mass-3d", ["random", "sdpl"], ["ppo"]), "got 'sdpl'; did you mean 'spdl'"),
        (("point-mass-3d", ["spdl"], ["ppo", "poo"]), "got 'poo'; did you mean 'ppo'"),
        (("point-mass-3d", ["spdl", "spdl"], ["ppo"]), "duplicate teacher 'spdl' in --teachers"),
        (("point-mass-3d", ["spdl"], ["ppo", "ppo"]), "duplicate learner 'ppo' in --learners"),
        (("ball-catching", ["spdl*", "spdl-star"], ["ppo"]), "duplicate teacher 'spdl-star'"),
        (("point-mass-3d", ["spdl"], [""]), "--learners must be names separated by commas, got ''"),
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
    create_run(cells[0].path, cells[0].experiment, [SEEDS])
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
    other = plan_cells("point-mass-2d", ["random", "spdl"], ["ppo"], (1, 2), tmp_path)
    other = shortened(other, 30)
    before = contents(tmp_path)
    with pytest.raises(SelfpacedError) as caught:
        run_cells(other)
    message = str(caught.value)
    assert f"{tmp_path / 'spdl-ppo'} has other settings" in message
    assert "seeds (existing [1, 2, 3], requested [1, 2])" in message
    assert "iterations (existing 20, requested 30)" in message
    assert "choose another folder with --out" in message
    assert trainer.calls == []
    assert contents(tmp_path) == before


def test_many_differences_are_not_all_named(cells):
    make_finished(cells[0])
    experiment = cells[0].experiment
    teacher = replace(experiment.method.teacher, zeta=77.0)
    changed = replace(
        experiment.with_parts(teacher=teacher),
        seeds=tuple(range(1, 21)),
        iterations=9,
        steps_per_iteration=8,
        evaluate_every=2,
        evaluation_episodes=3,
    )
    with pytest.raises(SelfpacedError, match=r"requested 1 … 20, 20 values.* and 2 more;"):
        inspect_cell(replace(cells[0], experiment=changed))


def test_settings_of_another_version_are_differences(cells):
    make_finished(cells[0])
    path = cells[0].path / "experiment.json"
    description = json.loads(path.read_text())
    description["experiment"]["teacher"]["temperature"] = 0.5
    write_json(path, description)
    (cells[0].path / "checksums.json").unlink()  # of that version, which had none
    with pytest.raises(
        SelfpacedError, match=r"teacher.temperature \(existing 0.5, requested None\)"
    ):
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
    path = cell.folder.files()[0].newest
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
        (damage_summary, "summary.json must be a JSON object, got"),
        (lose_checkpoints, "but checkpoints is missing"),
        (damage_checkpoint, "block-0.safetensors is damaged"),
        (cut_evaluations, "evaluations.csv must have 5 evaluations, got 4; it is damaged"),
        (tear_evaluations, "evaluations.csv"),
        (lose_returns, "no column 'return'"),
        (diverge, r"evaluations.csv must be finite, got NaN or infinity \(seed 2\)"),
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
    with pytest.raises(SelfpacedError, match="must be a folder, got a file"):
        inspect_cell(cells[0])


@pytest.mark.parametrize(
    "failure",
    [InterruptedRunError("stopped before the first iteration was saved"), KeyboardInterrupt()],
)
def test_an_interrupted_comparison_is_continued_by_the_same_command(cells, trainer, failure):
    trainer.stop_at, trainer.failure = "default-ppo", failure
    with pytest.raises(InterruptedRunError) as caught:
        run_cells(cells)
    assert str(caught.value) == (
        "stopped in cell 2 of 3 (default-ppo), which is kept; continue with the same command"
    )
    assert [outcome.cell.teacher for outcome in read_outcomes(cells)] == ["spdl"]
    trainer.stop_at = None
    trainer.calls.clear()
    run_cells(cells)
    assert trainer.calls == [("resume", "default-ppo"), ("run", "random-ppo")]
    assert len(read_outcomes(cells)) == 3


def test_an_outcome_holds_the_evaluations(cells):
    make_finished(cells[0])
    outcome = read_outcome(cells[0])
    assert outcome.iterations.tolist() == [0, 5, 10, 15, 20]
    assert outcome.returns.shape == outcome.successes.shape == (5, 3)
    assert outcome.final_returns.tolist() == pytest.approx([9.1, 9.2, 9.3])
    assert outcome.wall_seconds == 2.5
    assert "jax" in outcome.versions
