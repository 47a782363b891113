"""The content of `experiment.json`: complete, and only what survives JSON."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from selfpaced import SPDL, Default, Experiment, SelfpacedError, __version__
from selfpaced.runs.description import describe
from selfpaced.runs.storage import plain
from tests.runs.small_runs import BLOCKS, SMALL


@dataclass(frozen=True)
class Mine:
    """A user's teacher with a setting of any type."""

    rate: object = 1.0

    def init(self, rng, contexts):
        return Default().init(rng, contexts)

    def sample(self, rng, contexts, state, num):
        return Default().sample(rng, contexts, state, num)

    def update(self, rng, contexts, state, episodes):
        return Default().update(rng, contexts, state, episodes)


def through_json(description):
    return json.loads(json.dumps(plain(description)))


def test_the_experiment_and_its_blocks_survive_json():
    description = through_json(describe(SMALL, BLOCKS))
    assert Experiment.from_dict(description["experiment"]) == SMALL
    assert description["blocks"] == [[1], [2, 3]]


def test_the_contexts_are_described_for_other_tools():
    contexts = through_json(describe(SMALL, BLOCKS))["contexts"]
    assert contexts["names"] == ["gate_position", "gate_width"]
    assert (contexts["lower"], contexts["upper"]) == ([-4.0, 0.5], [4.0, 8.0])
    assert contexts["target"] == {"mean": [2.5, 0.5], "cholesky": [[0.004, 0.0], [0.0, 0.00375]]}


def test_versions_and_date_are_those_of_now():
    description = describe(SMALL, BLOCKS)
    assert description["versions"]["selfpaced"] == __version__
    assert description["versions"]["numpy"] == np.__version__
    age = datetime.now(UTC) - datetime.fromisoformat(description["created"])
    assert timedelta(seconds=-1) <= age < timedelta(minutes=1)


@pytest.mark.parametrize("rate", [1.5, "fast", True, None, (1, (2.0, "a"))])
def test_settings_that_survive_json_are_accepted(rate):
    description = through_json(describe(SMALL.with_parts(teacher=Mine(rate)), BLOCKS))
    restored = Experiment.from_dict(description["experiment"])
    assert restored.method.teacher == Mine(rate)


@pytest.mark.parametrize("rate", [float("nan"), SPDL(), {1, 2}, 1j, {1: "a"}])
def test_settings_that_json_would_change_are_refused(rate):
    message = "teacher setting rate must be a finite number, string, boolean, None or a tuple"
    with pytest.raises(SelfpacedError, match=message):
        describe(SMALL.with_parts(teacher=Mine(rate)), BLOCKS)
