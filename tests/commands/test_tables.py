"""Results of runs as tables in the terminal."""

from io import StringIO

from rich.console import Console

from selfpaced import PPO, CurriculumLearning, Experiment, Random, run
from selfpaced.commands.tables import show_run
from selfpaced.statistics import percentage


def test_a_success_rate_is_shown_as_a_percentage_or_as_not_reported():
    assert (percentage(0.0), percentage(0.843)) == ("0%", "84%")
    assert percentage(float("nan")) == percentage(None) == "not reported"


def test_a_run_without_a_success_signal_is_shown_as_not_reported(tmp_path):
    method = CurriculumLearning(Random(), PPO(hidden=(8,), num_epochs=1, num_minibatches=2))
    experiment = Experiment(
        "tests.probes:SILENT",
        method,
        seeds=(1,),
        iterations=2,
        steps_per_iteration=16,
        evaluation_episodes=2,
    )
    folder = run(experiment, tmp_path / "run", workers=1)
    console = Console(file=StringIO(), width=120)
    show_run(console, folder)
    assert "not reported" in console.file.getvalue()  # type: ignore[attr-defined]
    assert folder.summary()["final_success_rate"] is None
