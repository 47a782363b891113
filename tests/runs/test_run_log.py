"""Loggers of a run: every row once, and no logger costs a run."""

import shutil
import time

import pytest

from selfpaced import SelfpacedError, resume, run
from selfpaced.errors import InterruptedRunError
from selfpaced.runs.logger import LOGGERS, Logger, make_logger
from selfpaced.runs.processes import Listener
from tests.runs.small_runs import SHORT, SMALL, rows


class Recorder:
    """Keeps all rows."""

    def __init__(self):
        self.rows, self.events = [], []

    def start(self, run):
        self.events.append("start")

    def log(self, rows):
        self.rows += rows

    def finish(self, run):
        self.events.append(run.is_finished)


class Broken(Recorder):
    """Fails with the first rows."""

    def log(self, rows):
        raise SystemExit("no space left")


class Slow(Recorder):
    """Takes longer than a user waits."""

    def finish(self, run):
        time.sleep(30)


class Impatient(Listener):
    """Presses Ctrl-C after the first checkpoint behind an iteration."""

    def __init__(self, iteration):
        self.iteration, self.messages = iteration, []

    def received(self, block, message):
        self.messages.append(message)
        if "saved" in message and message["iteration"] >= self.iteration:
            raise KeyboardInterrupt

    @property
    def warnings(self):
        return [message["advice"] for message in self.messages if "advice" in message]


def numbers(found):
    return [(row.iteration, row.seed) for row in found]


@pytest.mark.slow
def test_a_row_comes_once_although_a_run_is_stopped_and_resumed(tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    recorder = Recorder()
    path = tmp_path / "run"
    with pytest.raises(InterruptedRunError):
        run(SMALL, path, 2, listener=Impatient(3), loggers=[recorder])
    before = len(recorder.rows)
    assert recorder.events == ["start", False]
    folder = resume(path, loggers=[recorder])
    assert recorder.events == ["start", False, "start", True]
    assert 0 < before < len(recorder.rows)
    expected = [(iteration, seed) for iteration in range(13) for seed in SMALL.seeds]
    assert sorted(numbers(recorder.rows)) == expected
    for name, values in (("metrics", "metrics"), ("evaluations", "evaluation")):
        for row in rows(folder.path / f"{name}.csv"):
            number = (int(row.pop("iteration")), int(row.pop("seed")))
            (found,) = (one for one in recorder.rows if numbers([one]) == [number])
            for key, cell in row.items():
                value = getattr(found, values).get(key, float("nan"))
                assert cell == ("" if value != value else f"{value:.9g}")
    contexts = [row.contexts for row in recorder.rows if row.evaluation]
    assert all(one["samples"].shape[1] == one["mean"].size == 2 for one in contexts)


def test_a_logger_that_comes_later_receives_the_past(finished, tmp_path):
    copy = shutil.copytree(finished.path, tmp_path / "copy")
    recorder = Recorder()
    resume(copy, iterations=13, loggers=[recorder])
    assert sorted({row.iteration for row in recorder.rows}) == list(range(14))
    assert len(recorder.rows) == 14 * 3
    # the evaluation after the former end is no longer planned
    assert {row.iteration for row in recorder.rows if row.evaluation} == {0, 5, 10, 13}


def test_a_broken_logger_costs_one_warning(tmp_path):
    listener, recorder = Impatient(10**9), Recorder()
    folder = run(SHORT, tmp_path / "run", listener=listener, loggers=[Broken(), recorder])
    assert folder.is_finished
    (warning,) = (text for text in listener.warnings if "logger" in text)
    assert "the logger Broken failed and is off; training goes on" in warning
    assert "no space left" in warning
    assert numbers(recorder.rows) == [(0, 1), (1, 1)]


def test_a_logger_that_hangs_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_LOGGER_SECONDS", "0.2")
    listener = Impatient(10**9)
    began = time.monotonic()
    assert run(SHORT, tmp_path / "run", listener=listener, loggers=[Slow()]).is_finished
    assert time.monotonic() - began < 29
    assert any("Slow did not end within 0.2 s" in text for text in listener.warnings)


def test_loggers_have_names_or_places():
    for name in LOGGERS:
        assert isinstance(make_logger(name), Logger)
    assert isinstance(make_logger(f"{__name__}:Recorder"), Recorder)
    with pytest.raises(SelfpacedError, match="logger must be one of tensorboard"):
        make_logger("tensorbord")
    with pytest.raises(SelfpacedError, match="must have the methods start, log and finish"):
        make_logger(f"{__name__}:Listener")
