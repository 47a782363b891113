"""Users' modules that misbehave as programs: they exit, hang, leave threads, change the process.

Each case is a module of its own in a folder of its own, trained with `selfpaced train` in another
process, as a user does it.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from selfpaced import RunFolder, SelfpacedError
from tests.faults.outcomes import Tally, tally
from tests.runs.small_runs import is_free

# one place of the module is replaced; steps are counted in every process
MODULE = """
import ctypes, faulthandler, os, random, signal, subprocess, sys, threading, time, warnings
from dataclasses import dataclass

import gymnasium
import numpy as np

from selfpaced import ContextSpace, Gaussian, Problem
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment

NUM_STEPS = 0
{at_import}

class Mine(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.context, self.time = np.asarray(options["context"]), 0
        return np.zeros(2, np.float32), {{}}

    def step(self, action):
        global NUM_STEPS
        NUM_STEPS += 1
        self.time += 1
        if NUM_STEPS == 90:
            {in_step}
        reward = -float(np.square(action[0] - self.context[0]))
        return np.full(2, 0.1 * self.time, np.float32), reward, self.time >= 4, False, {{}}

    def close(self):
        {in_close}


@dataclass(frozen=True)
class Teacher:
    def init(self, rng, contexts):
        return (np.zeros(1),)

    def sample(self, rng, contexts, state, num):
        return contexts.sample_uniform(rng, num)

    def update(self, rng, contexts, state, episodes):
        if state[0][0] == 1.0:
            {in_update}
        return (state[0] + 1.0,), {{"teacher/number": 1.0}}


gymnasium.register("Mine-v0", Mine, max_episode_steps=10)
ENVIRONMENT = GymnasiumEnvironment("mine:Mine-v0", time_limit=10)
START, TARGET = Gaussian.diagonal((0.0,), (0.3,)), Gaussian.diagonal((0.5,), (0.1,))
CONTEXTS = ContextSpace(("goal",), (-1.0,), (1.0,), START, TARGET)
PROBLEM = Problem("mine", "to test", ENVIRONMENT, CONTEXTS, 0.9)
"""
HARMLESS = {
    "changes the working directory": "os.chdir('/')",
    "works in a deleted directory": "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
    "leaves a daemon thread": (
        "threading.Thread(target=time.sleep, args=(99,), daemon=True).start()"
    ),
    "leaves a thread": "threading.Thread(target=time.sleep, args=(99,)).start()",
    "leaves a thread that raises": "threading.Thread(target=lambda: 1 / 0).start()",
    "leaves a process": "subprocess.Popen(['sleep', '99'])",
    "leaves a fork": "os.fork() or time.sleep(99)",
    "prints": "print('{', flush=True); print('x' * 100000); os.write(1, b'[1]\\n')",
    "prints what is no text": "os.write(1, b'\\xff\\xfe\\n'); os.write(2, b'\\xff\\xfe\\n')",
    "closes standard output": "os.close(1); sys.stdout = None",
    "closes standard error": "os.close(2); sys.stderr = None",
    "replaces standard output": "sys.stdout = open(os.devnull, 'w'); sys.stdout.close()",
    "ignores signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "empties the environment": "os.environ.clear()",
    "makes NumPy raise": "np.seterr(all='raise')",
    "makes warnings errors": "warnings.simplefilter('error')",
    "seeds global generators": "np.random.seed(0); random.seed(0)",
    "reads standard input": "sys.stdin.read()",
    "sets the umask": "os.umask(0o777)",
    "empties the arguments": "sys.argv.clear(); sys.path.clear()",
    "takes a while": "time.sleep(2)",
}
FATAL = {
    "exits with 0": "sys.exit(0)",
    "exits with 3": "sys.exit(3)",
    "exits without a trace": "os._exit(0)",
    "exits without a trace with 3": "os._exit(3)",
    "is interrupted": "raise KeyboardInterrupt",
    "ends a generator": "raise GeneratorExit",
    "raises a group": "raise ExceptionGroup('two', [ValueError('a'), KeyError('b')])",
    "raises what is no exception": "raise BaseException('strange')",
    "kills itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "crashes": "ctypes.string_at(0)",
    "aborts": "os.abort()",
    "recurses without end": "f = lambda: f(); f()",
    "closes every file": "os.closerange(0, 256)",
}
HANGS = {
    "sleeps for ever": "time.sleep(9999)",
    "waits for a lock for ever": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "ignores signals and hangs": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(9999)"
    ),
}
# at import, this process is the one of the command, too
AT_IMPORT = (
    "changes the working directory", "leaves a daemon thread", "prints",
    "replaces standard output", "makes warnings errors", "seeds global generators",
    "exits with 0", "exits with 3", "raises a group", "recurses without end",
)  # fmt: skip
IN_UPDATE = (
    "changes the working directory", "leaves a thread", "closes standard output",
    "makes NumPy raise", "exits with 0", "exits without a trace", "is interrupted", "crashes",
    "recurses without end", "raises what is no exception",
)  # fmt: skip
SECONDS = 240.0


def conduct(place: Path, num: int | None = None) -> Tally:
    """Train with every module, or with about this many."""
    whole = train(place / "whole")
    expected = (whole / "run" / "evaluations.csv").read_bytes()
    both = HARMLESS | FATAL
    cases = [(f"step {name}", {"in_step": code}) for name, code in both.items()]
    cases += [(f"close {name}", {"in_close": FATAL[name]}) for name in ("exits with 0", "crashes")]
    cases += [(f"update {name}", {"in_update": both[name]}) for name in IN_UPDATE]
    cases += [(f"import {name}", {"at_import": both[name]}) for name in AT_IMPORT]
    attempts: list[tuple[str, Callable[[], bool]]] = [
        (name, partial(attempt, place / name.replace(" ", "-"), code, expected))
        for name, code in cases
    ]
    attempts += [
        (f"step {name}", partial(hang, place / name.replace(" ", "-"), code))
        for name, code in HANGS.items()
    ]
    return tally("users' modules", attempts[:: max(len(attempts) // (num or len(attempts)), 1)])


def train(place: Path, **code: str) -> Path:
    """Train with a module in this folder; return it.

    Raises:
        SelfpacedError: with what the command has written.
    """
    process = start(place, **code)
    try:
        _, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise RuntimeError("the command hangs") from None
    if process.returncode:
        raise SelfpacedError(refusal(process.returncode, errors))
    return place


def start(place: Path, **code: str) -> subprocess.Popen[str]:
    parts = {"at_import": "pass", "in_step": "pass", "in_close": "pass", "in_update": "pass"}
    place.mkdir()
    (place / "mine.py").write_text(MODULE.format(**parts | code))
    command = [sys.executable, "-m", "selfpaced", "train", "mine:PROBLEM", "--out", "run"]
    command += ["--teacher", "mine:Teacher", "--learner", "ppo", "--learner.hidden", "4"]
    command += ["--learner.num-minibatches", "2", "--seeds", "2", "--workers", "1"]
    command += ["--iterations", "4", "--steps-per-iteration", "32", "--evaluation-episodes", "2"]
    path = os.pathsep.join([str(Path("src").absolute()), str(place)])
    variables = {
        "PYTHONPATH": path,
        "SELFPACED_WATCHDOG_SECONDS": "2",
        "SELFPACED_STOP_SECONDS": "3",
    }
    return subprocess.Popen(
        command, cwd=place, env=os.environ | variables, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=open(place / "output", "w"), stderr=subprocess.PIPE,
    )  # fmt: skip


def refusal(code: int, errors: str) -> str:
    """Return the line that tells a user where to look; raise if there is none."""
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    names_module = "mine.py" in errors or "os._exit" in errors
    if code < 0 and names_module:  # Python's own report of a crash
        return f"a crash of the command in {errors[errors.index('mine.py') :].splitlines()[0]}"
    if code != 2 or not lines or ("Traceback" in errors and not names_module):
        raise RuntimeError(f"exit code {code}: {errors[-400:]}")
    return lines[0]


def attempt(place: Path, code: dict[str, str], expected: bytes) -> bool:
    """Train; return whether all results are right, or those of the seeds that did not fail.

    Raises:
        SelfpacedError: the command or the report of a seed names the user's module.
    """
    run = RunFolder(train(place, **code) / "run")
    if not is_free(run):
        raise RuntimeError("the folder is still locked")
    if failures := run.summary()["failed_seeds"]:
        reason = failures[0]["reason"]
        if "mine.py" not in reason and "Mine" not in reason:
            raise RuntimeError(f"a report that does not name the module: {reason}")
        raise SelfpacedError(reason)
    return (run.path / "evaluations.csv").read_bytes() == expected


def hang(place: Path, code: str) -> bool:
    """Train until the watchdog reports, then stop; return whether it names the user's line."""
    process = start(place, in_step=code)
    deadline = time.monotonic() + SECONDS
    output = place / "output"
    while "has not reported for" not in output.read_text() or "mine.py" not in output.read_text():
        if time.monotonic() > deadline or process.poll() is not None:
            process.kill()
            raise RuntimeError(f"no report: {output.read_text()[-300:]}")
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=30.0)
    except subprocess.TimeoutExpired:
        process.kill()
        raise RuntimeError("SIGTERM does not end it") from None
    return process.returncode == 130 and is_free(RunFolder(place / "run"))
