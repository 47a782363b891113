"""The Ray engine: what a task sends; `tests/faults` has clusters that lose workers and nodes."""

import signal
import sys
from dataclasses import replace
from types import SimpleNamespace

from selfpaced.runs import ray_engine
from selfpaced.runs.ray_engine import runtime_environment, train_block
from selfpaced.runs.replacement import create_run
from tests.runs.small_runs import SMALL


def test_what_a_task_sends_makes_the_files_of_its_block(tmp_path, monkeypatch):
    """As on a node without the run folder; the first task is lost after its first checkpoint."""
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    experiment = replace(SMALL, seeds=(1,), iterations=4)
    folder = create_run(tmp_path / "run", experiment, [(1,)])
    (files,) = folder.files()
    description = (folder.path / "experiment.json").read_bytes()
    for update in train_block(description, 0, None, 0):
        if not isinstance(update, dict):
            files.receive(update)
            break
    assert files.notes()["iteration"] == 1
    events = list(train_block(description, 0, files.newest.read_bytes(), files.log_size()))
    for event in events:
        if not isinstance(event, dict):
            files.receive(event)
    assert {"done": True} in events
    assert files.recover() == ""
    tables = [part.tables["metrics"]["iteration"].tolist() for part in files.parts(files.read())]
    assert tables == [[1], [2], [3], [4]]


def test_a_mistake_on_a_node_is_sent_as_a_message(tmp_path):
    folder = create_run(tmp_path / "run", SMALL, [(1, 2, 3)])
    description = (folder.path / "experiment.json").read_bytes()
    (message,) = list(train_block(description.replace(b'"ppo"', b'"pppo"'), 0, None, 0))
    assert "did you mean 'ppo'" in message["error"]


def test_settings_of_the_driver_are_passed_on_to_nodes(monkeypatch):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "5")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("EDITOR", "vi")
    settings = runtime_environment(False, SMALL.to_dict())["env_vars"]
    assert settings["SELFPACED_CHECKPOINT_SECONDS"] == "5"
    assert settings["OMP_NUM_THREADS"] == "3"
    assert settings["JAX_PLATFORMS"] == "cpu"
    assert "EDITOR" not in settings


def test_connecting_leaves_the_handler_of_sigterm(monkeypatch):
    def init(address, **_):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))  # as Ray does

    ray = SimpleNamespace(
        is_initialized=lambda: False,
        init=init,
        cluster_resources=lambda: {"CPU": 2.0},
        exceptions=SimpleNamespace(RayError=RuntimeError),
    )
    monkeypatch.setattr(ray_engine, "require_extra", lambda *_: ray)
    before = signal.getsignal(signal.SIGTERM)
    assert ray_engine.RayEngine().num_workers == 2
    assert signal.getsignal(signal.SIGTERM) is before
