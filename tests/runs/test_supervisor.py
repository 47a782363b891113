"""Whole runs in worker processes: what they leave, how they resume, and how they fail."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from selfpaced import PPO, Random, RunFolder, SelfpacedError, neurips2020, resume, run
from selfpaced.runs.export import catch_up
from selfpaced.runs.processes import Listener
from selfpaced.runs.replacement import create_run
from selfpaced.runs.supervisor import interruption
from tests.probes import UserTeacher
from tests.runs.small_runs import (
    SHORT,
    SMALL,
    has_reached,
    is_free,
    rows,
    timeless_rows,
    wait_for,
)


class Chatty(UserTeacher):
    """Prints, as people do when they look for a mistake."""

    def sample(self, rng, contexts, state, num):
        print("drawing", num)
        print({"iteration": "nonsense"})
        return super().sample(rng, contexts, state, num)


class Broken(UserTeacher):
    """A teacher with a mistake in it."""

    def sample(self, rng, contexts, state, num):
        return super().sample(rng, contexts, state, num)[:, :, None].no_such_thing


class Moody(UserTeacher):
    """A teacher with a metric in every other update."""

    def update(self, rng, contexts, state, episodes):
        return state, {"a/mood": 1.0} if episodes.num % 2 else {}


class Attentive(Listener):
    """Keeps all messages."""

    def __init__(self):
        self.messages = []

    def received(self, block, message):
        self.messages.append(message)


class Gone(Listener):
    """The reader has closed the pipe: printing exits, as rich does it."""

    def received(self, block, message):
        if message.get("iteration", 0) >= 1:
            raise SystemExit(1)

    def stopping(self):
        raise SystemExit(1)

    ended = stopping


def test_a_finished_run_has_all_its_files(finished):
    names = {path.name for path in finished.path.iterdir()}
    assert names == {
        "experiment.json",
        "metrics.csv",
        "evaluations.csv",
        "contexts.npz",
        "policies.safetensors",
        "summary.json",
        "checksums.json",
        "advice.json",
        "checkpoints",
    }
    assert finished.is_finished
    assert finished.experiment() == SMALL
    assert finished.blocks() == [(1,), (2, 3)]


def test_a_killed_run_resumes_bit_identically(start, tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "killed")
    process = start(folder.path, 40)
    wait_for(lambda: has_reached(folder, 3))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: is_free(folder))
    assert not folder.is_finished
    catch_up(folder)  # an export changes nothing
    assert folder.summary()["iterations"] == folder.iteration()
    assert 3 <= folder.iteration() < 40, "it was killed too late to prove anything"
    resume(folder.path)
    whole = run(replace(SMALL, iterations=40), tmp_path / "whole", workers=2)
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (folder.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert timeless_rows(folder.path / "metrics.csv") == timeless_rows(whole.path / "metrics.csv")
    contexts, expected = folder.contexts(), whole.contexts()
    assert contexts.keys() == expected.keys()
    for name, array in contexts.items():
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("message", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_iterations(start, tmp_path, monkeypatch, message):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "interrupted")
    process = start(folder.path, 100_000)
    wait_for(lambda: has_reached(folder, 2))
    os.kill(process.pid, message)
    assert process.wait(60) != 0
    summary = folder.summary()
    assert not summary["finished"]
    assert summary["iterations"] >= 2
    assert len(rows(folder.path / "metrics.csv")) >= 6
    assert folder.iteration() == summary["iterations"]


def test_a_wrong_number_of_seconds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "often")
    with pytest.raises(SelfpacedError, match=r"must be a number of seconds, got 'often'"):
        run(SHORT, tmp_path / "run", workers=1)


def test_a_finished_run_is_not_resumed(finished):
    with pytest.raises(SelfpacedError, match="is finished; nothing to resume"):
        resume(finished.path)


def test_a_damaged_checkpoint_is_named_and_kept(tmp_path):
    folder = create_run(tmp_path / "damaged", SMALL, [(1, 2, 3)])
    path = folder.files()[0].newest
    path.parent.mkdir()
    path.write_bytes(b"rubbish")
    with pytest.raises(SelfpacedError, match=r"block-0.safetensors is damaged"):
        resume(folder.path)
    assert path.read_bytes() == b"rubbish"


def test_prints_of_a_teacher_are_not_taken_for_messages(tmp_path):
    assert run(SHORT.with_parts(teacher=Chatty()), tmp_path / "run").is_finished


def test_a_mistake_in_a_teacher_is_shown_with_its_place(tmp_path):
    class Hasty(Attentive):
        def stopping(self):
            pytest.fail("no worker was at work any more")

    found = r"(?s)AttributeError.*test_supervisor.py.*no_such_thing"
    with pytest.raises(SelfpacedError, match=found):
        run(SHORT.with_parts(teacher=Broken()), tmp_path / "run", listener=Hasty())


def test_nothing_is_lost_when_the_listener_fails(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(SystemExit):
        run(replace(SMALL, iterations=100_000), folder.path, listener=Gone())
    assert folder.iteration() >= 1  # saved when the workers were asked to stop
    assert folder.summary()["iterations"] == folder.iteration()


def test_a_metric_that_is_sometimes_missing_costs_no_row(tmp_path):
    experiment = replace(SMALL, seeds=(1,)).with_parts(teacher=Moody())
    metrics = run(experiment, tmp_path / "run").metrics()
    mood = metrics["a/mood"][:, 0]
    assert 0 < np.isnan(mood).sum() < len(mood)
    np.testing.assert_array_equal(metrics["iteration"], np.arange(1, 13))
    assert np.isfinite(metrics["context/gate_width_mean"]).all()


def test_unstable_simulations_are_reported_once_and_counted(tmp_path):
    experiment = replace(
        neurips2020("tests.probes:SHAKY", "random"),
        seeds=(1, 2),
        iterations=2,
        steps_per_iteration=64,
        evaluation_episodes=10,
    ).with_parts(teacher=Random(), learner=PPO(hidden=(8,), num_minibatches=4))
    listener = Attentive()
    folder = run(experiment, tmp_path / "run", workers=1, listener=listener)
    advice = [message["advice"] for message in listener.messages if "advice" in message]
    assert sum("became unstable" in text for text in advice) == 1
    np.testing.assert_array_equal(folder.metrics()["train/unstable"], 32)
    np.testing.assert_array_equal(folder.evaluations()["unstable"], 10)


def test_no_workers_are_refused(tmp_path):
    with pytest.raises(SelfpacedError, match="workers must be positive, got 0"):
        run(SMALL, tmp_path / "run", workers=0)


def test_a_run_stopped_in_its_last_iteration_is_called_finished():
    assert "run is finished" in str(interruption("run", 5, 5))
    assert "resume run" in str(interruption("run", 4, 5))
    assert "before the first iteration" in str(interruption("run", 0, 5))
