"""The command `selfpaced compare`, with invented results; training is tested elsewhere."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from selfpaced import SelfpacedError, neurips2020
from selfpaced.commands.compare import Options, main
from selfpaced.commands.options import Repetitions
from selfpaced.errors import InterruptedRunError
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


def test_a_cell_that_fails_keeps_its_message(tmp_path, trainer):
    trainer.stop_at, trainer.failure = "default-ppo", SelfpacedError("the worker died")
    with pytest.raises(SelfpacedError, match="the worker died"):
        main(arguments(tmp_path))
    assert [row["teacher"] for row in read_table(tmp_path)] == ["spdl"]


def test_the_defaults_are_all_teachers_with_ppo():
    options = Options("point-mass-3d")
    assert options.folder == Path("runs/compare-point-mass-3d")
    assert {"spdl", "default", "random"} <= {cell.teacher for cell in options.cells()}
    assert {cell.learner for cell in options.cells()} == {"ppo"}
    assert options.cells()[0].experiment.seeds == tuple(range(1, 21))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": -1}, "iterations must be positive"),
        ({"threshold": float("nan")}, "threshold must be finite, got nan"),
    ],
)
def test_options_check_themselves(settings, message):
    with pytest.raises(SelfpacedError, match=message):
        Options("point-mass-3d", **settings)


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


def test_nothing_runs_before_all_names_are_known(trainer):
    with pytest.raises(SelfpacedError, match="got 'unknown'"):
        main(["point-mass-3d", "--teachers", "spdl,unknown"])
    assert trainer.calls == []
