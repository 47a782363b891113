"""Messages and settings of worker processes."""

import signal
import subprocess
import sys
import time

import pytest

from selfpaced.runs.locks import training_lock
from selfpaced.runs.processes import Listener, listen, started_workers
from selfpaced.runs.replacement import create_run
from tests.runs.small_runs import SHORT, is_free, wait_for


@pytest.fixture(name="folder")
def _folder(tmp_path):
    folder = create_run(tmp_path / "run", SHORT, [(1,)])
    folder.files()[0].log.parent.mkdir()
    return folder


def started(program):
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def test_other_output_of_a_worker_goes_to_its_log(folder):
    program = (
        "print('welcome'); print('[1]'); print('{\"iteration\": 3}'); print('{\"half'); "
        "print('{\"done\": true}')"
    )
    received, listener = [], Listener()
    listener.received = lambda block, message: received.append((block, message))
    with started(program) as process:
        assert listen(folder, [process], listener) == []
    assert received == [(0, {"iteration": 3}), (0, {"done": True})]
    assert folder.files()[0].log.read_text() == 'welcome\n[1]\n{"half\n'


@pytest.mark.parametrize(("error", "num_calls"), [(KeyboardInterrupt, 1), (ZeroDivisionError, 0)])
def test_only_an_interruption_is_announced(folder, error, num_calls):
    calls, listener = [], Listener()
    listener.stopping = lambda: calls.append(1)
    with (
        training_lock(folder.path) as lock,
        pytest.raises(error),
        started_workers(folder, lock, listener),
    ):
        raise error
    assert len(calls) == num_calls
    assert is_free(folder)  # no worker is left


def test_the_error_of_one_worker_does_not_announce_a_stop_of_the_others(folder, monkeypatch):
    calls, listener = [], Listener()
    listener.stopping = lambda: calls.append(1)
    programs = iter(
        [
            'print(\'{"error": "no memory"}\')',
            "import time; print('{}', flush=True); time.sleep(60)",
        ]
    )
    start = subprocess.Popen

    def start_next(command, **settings):
        return start([sys.executable, "-c", next(programs)], **settings)

    two = create_run(folder.path.parent / "two", SHORT, [(1,), (2,)])
    monkeypatch.setattr(subprocess, "Popen", start_next)
    with training_lock(two.path) as lock, started_workers(two, lock, listener) as workers:
        assert listen(two, workers, listener) == ["no memory"]
        assert workers[1].poll() is None
    assert calls == []


def test_a_worker_that_dies_without_a_message_is_reported_with_its_log(folder):
    folder.files()[0].log.write_text("out of memory\n")
    with started("import os, signal; os.kill(os.getpid(), signal.SIGKILL)") as process:
        (error,) = listen(folder, [process], Listener())
    assert error == "the worker of block 0 died (SIGKILL)\nout of memory"


def test_a_worker_that_leaves_early_with_code_0_is_an_error(folder):
    folder.files()[0].log.write_text("bye\n")
    with started("print('{\"iteration\": 3}'); import os; os._exit(0)") as process:
        (error,) = listen(folder, [process], Listener())
    cause = "exit code 0 before the end); does the environment or the teacher call os._exit?"
    assert error == f"the worker of block 0 died ({cause}\nbye"


def test_a_worker_that_leaves_processes_behind_ends_with_its_last_message(folder):
    program = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('{\"done\": true}', flush=True)"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        assert listen(folder, [process], Listener()) == []
        assert process.stdout.read() == ""  # nothing holds the pipe open any more


def test_a_worker_that_hangs_is_reported_with_its_place(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_WATCHDOG_SECONDS", "0.5")
    program = tmp_path / "slow_environment.py"
    program.write_text(
        "import faulthandler, signal, time\n"
        "faulthandler.register(signal.SIGUSR1, all_threads=False)\n"
        "print('{\"started\": true}', flush=True)\n"
        "def step():\n"
        "    time.sleep(4)\n"
        "step()\n"
        "print('{\"done\": true}', flush=True)\n"
    )
    received, listener = [], Listener()
    listener.received = lambda block, message: received.append(message)
    command = [sys.executable, str(program)]
    with (
        open(folder.files()[0].log, "a") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        time.sleep(1.0)
        assert listen(folder, [process], listener) == []
    advice = next(message["advice"] for message in received if "advice" in message)
    assert "has not reported for 0.5 s; it is in step" in advice
    assert "slow_environment.py, line 5" in advice


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from selfpaced.runs.locks import training_lock

with training_lock(Path(sys.argv[1])) as lock:
    worker = [sys.executable, "-c", "import sys; print('ready', flush=True); sys.stdin.read()"]
    subprocess.Popen(worker, pass_fds=(lock.fileno(),))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_stays_locked_until_the_last_worker_of_a_killed_run_exits(folder):
    command = [sys.executable, "-c", KILLED, str(folder.path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"  # printed by the worker
        assert process.wait() == -signal.SIGKILL
        assert not is_free(folder)
    wait_for(lambda: is_free(folder))
