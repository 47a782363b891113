"""Fixtures of the tests of runs."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest

from selfpaced import run
from tests.runs.small_runs import SMALL


@pytest.fixture(scope="session", name="finished")
def _finished(tmp_path_factory):
    """A finished run of SMALL; tests leave it as it is."""
    return run(SMALL, tmp_path_factory.mktemp("runs") / "finished", workers=2)


@pytest.fixture(name="start")
def _start():
    """A function that runs SMALL in another process; none of these outlives its test."""
    processes = []

    def start(folder, iterations, **settings):
        experiment = json.dumps(replace(SMALL, iterations=iterations, **settings).to_dict())
        program = (
            "import json, sys\n"
            "from selfpaced import Experiment, run\n"
            "run(Experiment.from_dict(json.loads(sys.argv[1])), sys.argv[2], workers=2)"
        )
        command = [sys.executable, "-c", program, experiment, str(folder)]
        processes.append(subprocess.Popen(command, start_new_session=True))
        return processes[-1]

    yield start
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
