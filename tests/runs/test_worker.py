"""The process of a block, run in this process: its loop is `Training.iterate`."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import SPRL, EpisodicPolicy, EpisodicUpdate, SelfpacedError
from selfpaced.runs.history import History, join_parts
from selfpaced.runs.replacement import create_run
from selfpaced.runs.worker import BlockRun, seconds_between_checkpoints
from selfpaced.sprl.training import EpisodicTraining
from selfpaced.training.loop import Training
from tests.probes import UserTeacher, train
from tests.runs.small_runs import SMALL

SEEDS = (1, 2)
EXPERIMENT = replace(SMALL, seeds=SEEDS, iterations=6)
SMALL_SPRL = SPRL(
    EpisodicUpdate(num_rollouts=5, num_remembered=2, alpha_offset=1), EpisodicPolicy(hidden=(4,))
)


class FakeParent:
    """Keeps messages; asks the worker to stop after an iteration."""

    def __init__(self, last=None):
        self.messages, self.last, self.stop_requested = [], last, False

    def send(self, message):
        self.messages.append(message)
        if self.last is not None and message.get("iteration", 0) >= self.last:
            self.stop_requested = True


class Block:
    """What a block has saved."""

    def __init__(self, folder):
        (files,) = folder.files()
        saved = files.read()
        self.policy, self.seeds, self.notes = saved.policy, saved.seeds, saved.notes
        self.iteration = saved.notes["iteration"]
        parts = files.parts(saved)
        self.tables = {name: join_parts(parts, name, files.seeds) for name in History._fields}


def train_block(folder, parent):
    for message in BlockRun(folder, 0, parent).events():
        parent.send(message)


def run_block(path, experiment, parent=None):
    """Return the tables that the worker of a block leaves."""
    parent = parent or FakeParent()
    folder = create_run(path, experiment, [experiment.seeds])
    train_block(folder, parent)
    return Block(folder)


def counted(monkeypatch, kind):
    """Return the iterations for which `iterate` is called."""
    calls, iterate = [], kind.iterate

    def count(self, state, iteration):
        calls.append(iteration)
        return iterate(self, state, iteration)

    monkeypatch.setattr(kind, "iterate", count)
    return calls


@pytest.mark.parametrize(
    ("experiment", "kind"),
    [(EXPERIMENT, Training), (replace(EXPERIMENT, method=SMALL_SPRL), EpisodicTraining)],
    ids=["curriculum", "sprl"],
)
def test_the_worker_calls_iterate_once_per_iteration(tmp_path, monkeypatch, experiment, kind):
    calls = counted(monkeypatch, kind)
    saved = run_block(tmp_path / "run", experiment)
    assert calls == list(range(6))
    assert saved.iteration == 6


def test_the_metrics_are_those_that_iterate_returns(tmp_path):
    metrics = run_block(tmp_path / "run", EXPERIMENT).tables["metrics"]
    with EXPERIMENT.training(SEEDS) as training:
        _, rows = train(training, 6)
    assert metrics["iteration"].tolist() == [1, 2, 3, 4, 5, 6]
    names = {name for row in rows for seed in row for name in seed}
    assert set(metrics) == names | {
        "iteration",
        "time/training_seconds",
        "time/teacher_seconds",
    }
    for name in names:
        expected = [[seed.get(name, np.nan) for seed in row] for row in rows]
        np.testing.assert_array_equal(metrics[name], expected)


CALLS = []


class Counting(UserTeacher):
    """Keeps its calls in a list of this process."""

    def init(self, rng, contexts):
        CALLS.append("init")
        return super().init(rng, contexts)

    def sample(self, rng, contexts, state, num):
        CALLS.append("sample")
        return super().sample(rng, contexts, state, num)

    def update(self, rng, contexts, state, episodes):
        CALLS.append("update")
        return super().update(rng, contexts, state, episodes)


def test_a_teacher_is_called_in_the_order_of_algorithm_1_and_by_evaluations(tmp_path):
    CALLS.clear()
    experiment = replace(EXPERIMENT, seeds=(1,), iterations=3, evaluate_every=2)
    run_block(tmp_path / "run", experiment.with_parts(teacher=Counting()))
    evaluation, iteration = ["sample"], ["sample", "update"]
    expected = ["init", *evaluation, *iteration, *iteration, *evaluation, *iteration, *evaluation]
    assert expected == CALLS


def test_a_worker_asked_to_stop_saves_and_continues_bit_identically(tmp_path):
    whole = run_block(tmp_path / "whole", EXPERIMENT)
    folder = create_run(tmp_path / "stopped", EXPERIMENT, [SEEDS])
    train_block(folder, FakeParent(last=1))
    assert Block(folder).iteration == 1
    train_block(folder, FakeParent())
    resumed = Block(folder)
    assert resumed.iteration == 6
    for name, array in whole.policy.items():
        np.testing.assert_array_equal(resumed.policy[name], array)
    for table, columns in whole.tables.items():
        for name, column in columns.items():
            if not name.startswith("time/"):
                np.testing.assert_array_equal(resumed.tables[table][name], column)


def test_the_time_of_teachers_is_part_of_the_time_of_training(tmp_path):
    saved = run_block(tmp_path / "run", EXPERIMENT)
    assert 0 < saved.notes["teacher_seconds"] < saved.notes["training_seconds"]
    for name in ("time/training_seconds", "time/teacher_seconds"):
        assert (np.diff(saved.tables["metrics"][name], axis=0) > 0).all()


def test_the_first_and_last_messages_tell_the_iteration(tmp_path):
    parent = FakeParent()
    run_block(tmp_path / "run", EXPERIMENT, parent)
    assert parent.messages[0] == {"iteration": 0, "num_seeds": 2}
    assert parent.messages[-2] == {"iteration": 6, "num_seeds": 2, "saved": True}
    assert parent.messages[-1] == {"done": True}
    reports = [message for message in parent.messages if "target_return" in message]
    assert reports[0]["iteration"] == 1
    assert len(reports[0]["context_mean"]) == 2


def test_seconds_between_checkpoints_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("SELFPACED_CHECKPOINT_SECONDS", raising=False)
    assert seconds_between_checkpoints() == 20.0
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0.5")
    assert seconds_between_checkpoints() == 0.5
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "often")
    with pytest.raises(SelfpacedError, match="must be a number of seconds, got 'often'"):
        seconds_between_checkpoints()
