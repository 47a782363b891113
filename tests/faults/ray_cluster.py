"""A Ray cluster of two nodes on this computer, whose workers and nodes can be killed."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ray
from ray.cluster_utils import Cluster

from selfpaced.runs.ray_engine import RayEngine
from selfpaced.runs.storage import cache_folder

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
SECONDS_TO_START = 60.0  # of a task in a process of its own


class TwoNodes:
    """A head, where the driver is, and a second node; each has one core."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.second = cluster.add_node(**NODE)

    @property
    def engine(self) -> RayEngine:
        return RayEngine(self.cluster.address)

    def kill_node(self) -> None:
        """Kill the second node while it trains."""
        _wait_for_task([self.second])
        self.cluster.remove_node(self.second, allow_graceful=False)

    def kill_worker(self) -> None:
        """Kill one of the processes that train."""
        os.kill(_wait_for_task([self.cluster.head_node, self.second]), signal.SIGKILL)

    def repair(self) -> None:
        """Add a second node if it was killed."""
        if self.second not in self.cluster.list_all_nodes():
            self.second = self.cluster.add_node(**NODE)


@contextmanager
def two_nodes(seconds_between_checkpoints: float = 0.5) -> Iterator[TwoNodes]:
    """Start both nodes, and connect to the head; end everything afterwards."""
    with tempfile.TemporaryDirectory() as home:
        settings = {
            "HOME": home,  # Ray writes a token there
            "XDG_CACHE_HOME": str((cache_folder() or Path(home)).parent),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": "120",
            "RAY_worker_niceness": "0",  # a busy computer would starve them
            "SELFPACED_CHECKPOINT_SECONDS": str(seconds_between_checkpoints),
        }
        with patch.dict(os.environ, settings):
            cluster = Cluster(
                initialize_head=True, head_node_args={**NODE, "include_dashboard": False}
            )
            try:
                nodes = TwoNodes(cluster)
                ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
                yield nodes
            finally:
                ray.shutdown()
                cluster.shutdown()


def _wait_for_task(nodes: list[Any]) -> int:
    """Return the process of a task on one of the nodes."""
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        for node in nodes:
            (raylet,) = node.all_processes["raylet"]
            for pid in _children(raylet.process.pid):
                if b"train_block" in _title(pid):
                    return pid
        time.sleep(0.05)
    raise TimeoutError(f"no task in {SECONDS_TO_START:g} s")


def _children(pid: int) -> list[int]:
    return [
        int(child)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for child in path.read_text().split()
    ]


def _title(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""
