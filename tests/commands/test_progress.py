"""Progress of a run whose blocks of seeds are at different iterations."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from selfpaced.commands.progress import Progress
from selfpaced.presets.neurips2020 import neurips2020


@pytest.fixture
def progress() -> Progress:
    shown = Progress(Console(file=io.StringIO(), width=200))
    shown.started(neurips2020("point-mass-2d", "random", "ppo", seeds=(1, 2, 3)))
    return shown


def _message(iteration: int, num_seeds: int, value: float) -> dict[str, object]:
    return {
        "iteration": iteration,
        "num_seeds": num_seeds,
        "train_return": value,
        "context_mean": [value, 0.0],
        "context_std": [1.0, 1.0],
    }


def _last_line(progress: Progress) -> str:
    progress.ended()
    return progress.console.file.getvalue().splitlines()[-1]  # type: ignore[attr-defined]


def test_means_are_over_seeds_not_over_blocks(progress: Progress) -> None:
    progress.received(0, _message(10, 1, 0.0))
    progress.received(1, _message(10, 2, 3.0))
    line = _last_line(progress)
    assert "iteration 10/1000" in line
    assert "training return 2.00" in line
    assert "gate position 2.00 ± 1" in line


def test_brackets_in_advice_are_not_markup(progress: Progress) -> None:
    text = "stay in [low, high], see [/tmp/x]"
    progress.received(0, {"advice": text, "iteration": 3, "num_seeds": 1})
    assert text in progress.console.file.getvalue()  # type: ignore[attr-defined]


def test_a_success_that_is_not_reported_is_not_shown_as_zero(progress: Progress) -> None:
    progress.received(0, {**_message(10, 1, 0.0), "target_return": 1.0, "target_success": None})
    assert "target success not reported" in _last_line(progress)
    progress.received(0, {**_message(20, 1, 0.0), "target_return": 1.0, "target_success": 0.0})
    assert "target success 0%" in _last_line(progress)


def test_blocks_at_different_iterations_are_shown_as_a_range(progress: Progress) -> None:
    progress.received(0, _message(40, 1, 0.0))
    progress.received(1, _message(10, 2, 0.0))
    assert "iteration 10 to 40/1000" in _last_line(progress)


def test_a_block_without_a_report_is_at_iteration_zero(progress: Progress) -> None:
    progress.received(0, _message(40, 1, 0.0))
    assert "iteration 0 to 40/1000" in _last_line(progress)


def test_speeds_add_up_and_the_slowest_block_determines_the_time_left(
    progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    for moment, fast, slow in ((0.0, 0, 0), (10.0, 500, 100)):
        monkeypatch.setattr(time, "monotonic", lambda moment=moment: moment)
        progress.received(0, _message(fast, 1, 0.0))
        progress.received(1, _message(slow, 2, 0.0))
    line = _last_line(progress)
    steps = (50 * 1 + 10 * 2) * progress.experiment.steps_per_iteration
    assert f"steps/s {steps:,.0f}".replace(",", " ") in line
    assert "time left 90 s" in line


def test_a_finished_block_may_report_nothing_but_its_iteration(progress: Progress) -> None:
    progress.received(0, {"iteration": 1000, "num_seeds": 3})
    assert _last_line(progress) == "iteration 1000/1000"
