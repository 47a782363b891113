"""Absurd budgets are refused before they eat the memory."""

from dataclasses import replace

import pytest

from selfpaced import SelfpacedError, run
from selfpaced.runs.memory import require_memory
from tests.runs.small_runs import SMALL


def test_ordinary_budgets_fit():
    require_memory(SMALL)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("iterations", 10**12, "iterations must be at most 100000000, got 1000000000000"),
        ("num_environments", 10**6, "num_environments must be at most 100000"),
        ("steps_per_iteration", 10**9, "steps_per_iteration must be at most 100000000"),
    ],
)
def test_budgets_beyond_any_computer_are_refused(name, value, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(SMALL, **{name: value})


@pytest.mark.parametrize("name", ["steps_per_iteration", "evaluation_episodes"])
def test_budgets_beyond_this_computer_are_refused(tmp_path, name):
    most = {"steps_per_iteration": 10**8, "evaluation_episodes": 10**6}[name]
    experiment = replace(SMALL, seeds=tuple(range(5000)), **{name: most})
    with pytest.raises(SelfpacedError, match=f"{name} must fit into the memory"):
        run(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()
