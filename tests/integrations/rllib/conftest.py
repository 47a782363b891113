"""One small local Ray cluster for all tests of this folder."""

import os
import sys

import pytest


@pytest.fixture(scope="session", name="ray_cluster")
def _ray_cluster(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))  # Ray writes a token there
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_raylet_start_wait_time_s", "120")
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        ray = pytest.importorskip("ray")
        ray.init(
            num_cpus=4,
            object_store_memory=100 * 2**20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
        yield
        ray.shutdown()
