"""What is shown while blocks of seeds are at different places."""

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
    shown.begin(neurips2020("point-mass-2d", "random", "ppo", seeds=(1, 2, 3)))
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
    progress.end()
    return progress.console.file.getvalue().splitlines()[-1]  # type: ignore[attr-defined]


def test_means_are_over_seeds_not_over_blocks(progress: Progress) -> None:
    progress.hear(0, _message(10, 1, 0.0))
    progress.hear(1, _message(10, 2, 3.0))
    line = _last_line(progress)
    assert "iteration 10/1000" in line
    assert "training return 2.00" in line
    assert "gate position 2.00 ± 1" in line


def test_advice_is_shown_as_it_is_whatever_brackets_it_has(progress: Progress) -> None:
    text = "stay in [low, high], see [/tmp/x]"
    progress.hear(0, {"advice": text, "iteration": 3, "num_seeds": 1})
    assert text in progress.console.file.getvalue()  # type: ignore[attr-defined]


def test_blocks_at_different_places_are_not_shown_as_one(progress: Progress) -> None:
    progress.hear(0, _message(40, 1, 0.0))
    progress.hear(1, _message(10, 2, 0.0))
    assert "iteration 10 to 40/1000" in _last_line(progress)


def test_a_block_that_has_not_begun_is_at_the_beginning(progress: Progress) -> None:
    progress.hear(0, _message(40, 1, 0.0))
    assert "iteration 0 to 40/1000" in _last_line(progress)


def test_speed_adds_up_and_the_slowest_block_says_when(
    progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    for moment, fast, slow in ((0.0, 0, 0), (10.0, 500, 100)):
        monkeypatch.setattr(time, "monotonic", lambda moment=moment: moment)
        progress.hear(0, _message(fast, 1, 0.0))
        progress.hear(1, _message(slow, 2, 0.0))
    line = _last_line(progress)
    steps = (50 * 1 + 10 * 2) * progress.experiment.steps_per_iteration
    assert f"steps/s {steps:,.0f}".replace(",", " ") in line
    assert "time left 90 s" in line


def test_a_block_that_only_says_that_it_is_done(progress: Progress) -> None:
    progress.hear(0, {"iteration": 1000, "num_seeds": 3})
    assert _last_line(progress) == "iteration 1000/1000"
