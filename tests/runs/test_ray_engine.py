"""The Ray engine: results as in local processes, also if a node is lost half-way."""

from dataclasses import replace

import pytest

from selfpaced import run
from selfpaced.runs.processes import Listener
from selfpaced.runs.ray_engine import RayEngine, train_block
from selfpaced.runs.replacement import create_run
from tests.runs.small_runs import SMALL, timeless_rows


def same_results(one, two):
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (one.path / name).read_bytes() == (two.path / name).read_bytes()
    assert timeless_rows(one.path / "metrics.csv") == timeless_rows(two.path / "metrics.csv")


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


class Saboteur(Listener):
    """Kills a node when a block has reached an iteration."""

    def __init__(self, iteration, kill):
        self.iteration, self.kill = iteration, kill
        self.advice = []

    def received(self, block, message):
        if "advice" in message:
            self.advice.append(message["advice"])
        if message.get("iteration", 0) >= self.iteration and self.kill is not None:
            kill, self.kill = self.kill, None
            kill()


@pytest.mark.slow
def test_a_run_that_loses_a_node_is_that_of_local_processes(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("HOME", str(tmp_path))  # Ray writes a token there
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "120")
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0.5")
    experiment = replace(SMALL, iterations=600)
    settings = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**settings, "include_dashboard": False})
    try:
        node = cluster.add_node(**settings)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        saboteur = Saboteur(150, lambda: cluster.remove_node(node, allow_graceful=False))
        engine = RayEngine(cluster.address)
        assert engine.num_workers == 2
        found = run(experiment, tmp_path / "ray", engine=engine, listener=saboteur)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert any("lost its worker" in text for text in saboteur.advice)
    same_results(found, run(experiment, tmp_path / "local", workers=2))
