"""A small experiment, and helpers to look at its runs from outside."""

import csv
import time
from contextlib import suppress
from dataclasses import replace

from selfpaced import PPO, SPDL, CurriculumLearning, SelfpacedError, neurips2020
from selfpaced.runs.locks import training_lock

SMALL = replace(
    neurips2020("point-mass-2d"),
    method=CurriculumLearning(
        SPDL(
            pacing="tradeoff",
            update_offset=1,
            alpha_offset=2,
            std_lower_bound=(0.2, 0.1875),
        ),
        PPO(hidden=(8,)),
    ),
    seeds=(1, 2, 3),
    iterations=12,
    steps_per_iteration=256,
    evaluation_episodes=10,
)
SHORT = replace(SMALL, iterations=1, seeds=(1,))
MISTAKEN = SMALL.with_parts(teacher=SPDL(std_lower_bound=(0.2,)))  # found by the workers only
BLOCKS = [(1,), (2, 3)]  # of SMALL with two workers


def rows(path):
    """Return the rows of a table as dictionaries of strings."""
    with open(path) as file:
        return list(csv.DictReader(file))


def timeless_rows(path):
    """Return the rows without the columns that measure time."""
    return [
        {name: cell for name, cell in row.items() if not name.startswith("time/")}
        for row in rows(path)
    ]


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition was never fulfilled"
        time.sleep(0.05)


def has_reached(folder, iteration):
    return (folder.path / "experiment.json").exists() and folder.iteration() >= iteration


def is_free(folder):
    """Return whether the last worker has exited."""
    with suppress(SelfpacedError), training_lock(folder.path):
        return True
    return False
