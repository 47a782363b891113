"""Presets with wrong types, and flags with wrong values."""

import json
from functools import partial
from pathlib import Path

import numpy as np

from selfpaced.commands.compare import Options as CompareOptions
from selfpaced.commands.options import parse_with_problem
from selfpaced.commands.train import parse_train
from selfpaced.studies.preset_files import with_preset_files
from tests.faults.corruptions import retype
from tests.faults.outcomes import Tally, tally
from tests.runs.small_runs import SMALL

VALUES = (
    "",
    "0",
    "-1",
    "1e400",
    "nan",
    "abc",
    "1.5",
    "2,3",
    "True",
    "None",
    "[]",
    "9" * 30,
    "é",
    "--",
)
FLAGS = (
    "--seeds", "--first-seed", "--workers", "--iterations", "--steps-per-iteration",
    "--num-environments", "--evaluate-every", "--evaluation-episodes", "--initial-policy",
    "--teacher", "--learner", "--preset", "--engine", "--address", "--teacher.zeta",
    "--teacher.max-kl", "--teacher.std-lower-bound", "--learner.hidden",
    "--learner.learning-rate", "--learner.num-minibatches", "--unknown",
)  # fmt: skip


def presets(num: int, seed: int, place: Path) -> Tally:
    """Use presets in which one value has another type."""
    rng = np.random.default_rng(seed)
    attempts = []
    for number in range(num):
        plain = json.loads(json.dumps(SMALL.to_dict()))
        for _ in range(1 + number % 2):
            retype(plain, rng)
        path = place / f"preset-{number}.json"
        path.write_text(json.dumps(plain))
        attempts.append((path.read_text(), partial(use, path)))
    return tally("presets", attempts)


def use(path: Path) -> bool:
    experiment = with_preset_files(SMALL, [path])
    return type(experiment).from_dict(experiment.to_dict()) == experiment


def flags(num: int, seed: int) -> Tally:
    """Parse command lines of `train` and `compare` with strange values."""
    rng = np.random.default_rng(seed)
    attempts = []
    for number in range(num):
        words = ["point-mass-2d"]
        for _ in range(1 + number % 3):
            words += [FLAGS[rng.integers(len(FLAGS))], VALUES[rng.integers(len(VALUES))]]
        attempts.append((" ".join(words), partial((parse, compare)[number % 2], words)))
    return tally("flag values", attempts)


def parse(words: list[str]) -> bool:
    parse_train(words)
    return True


def compare(words: list[str]) -> bool:
    parse_with_problem("compare", CompareOptions, words).cells()
    return True
