"""SIGKILL at many moments, and the results after resuming."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from selfpaced import Experiment, RunFolder, SelfpacedError, neurips2020, resume, run
from selfpaced.experiment import default_part
from selfpaced.registry import TEACHERS
from selfpaced.reports.figures import draw_run
from tests.faults.outcomes import Tally
from tests.runs.small_runs import SMALL, is_free, timeless_rows

# runs, then draws; kills itself before a file is moved into place for the given time in the given
# part of the program
PROGRAM = """
import json, os, signal, sys
from selfpaced import Experiment, SelfpacedError, run
from selfpaced.reports.figures import draw_run
from selfpaced.runs import storage, supervisor

def killing(call, num):
    calls = []
    def counted(*arguments, **named):
        calls.append(1)
        if len(calls) >= num:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **named)
    return counted

path, moment, num = sys.argv[2], sys.argv[3], int(sys.argv[4])
if moment == "export":
    export = supervisor.export
    def killed_export(*arguments):
        os.replace = killing(os.replace, num)
        export(*arguments)
    supervisor.export = killed_export
try:
    folder = run(Experiment.from_dict(json.loads(sys.argv[1])), path, workers=2)
except SelfpacedError as error:
    sys.exit(str(error))
if moment == "drawing":
    from matplotlib.figure import Figure
    Figure.savefig = killing(Figure.savefig, num)
draw_run(folder)
"""
MOMENTS = ("start-up", "training", "evaluation", "export", "drawing")
FUNCTIONS = {"training": "_iterate", "evaluation": "_evaluate"}  # of the worker
VICTIMS = ("parent", "worker", "all")
METHODS = [
    *((teacher, "ppo") for teacher in TEACHERS),
    ("random", "sac"),
    ("goal-gan", "trpo"),
]


class Whole(NamedTuple):
    """An experiment, its run without faults, and how long that took."""

    experiment: Experiment
    folder: RunFolder
    seconds: float


def experiments(names: list[tuple[str, str]]) -> list[Experiment]:
    """Return small experiments with these teachers and learners."""
    small = replace(SMALL, iterations=30, evaluate_every=2, evaluation_episodes=40)
    return [
        small.with_parts(
            teacher=SMALL.method.teacher if teacher == "spdl" else default_part("teacher", teacher),
            learner=replace(default_part("learner", learner), hidden=(8,)),
        )
        for teacher, learner in names
    ]


def robot_experiment() -> Experiment:
    """Return a small experiment with MuJoCo."""
    preset = neurips2020("ball-catching")
    learner = replace(default_part("learner", "ppo"), hidden=(8,), num_minibatches=4)
    budget = {"iterations": 4, "steps_per_iteration": 320, "evaluation_episodes": 4}
    return replace(preset.with_parts(learner=learner), seeds=(1, 2), evaluate_every=2, **budget)


def kills(num: int, seed: int, place: Path, planned: list[Experiment] | None = None) -> Tally:
    """Kill the parent, one worker, or all, at many moments; resume, and compare all files."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    examples = []
    planned = [*experiments(METHODS), robot_experiment()] if planned is None else planned
    wholes = [carry_out(experiment, place / f"whole-{n}") for n, experiment in enumerate(planned)]
    for number in range(num):
        whole = wholes[number % len(wholes)]
        # every experiment at most moments, every moment with every victim
        moment = MOMENTS[(number + number // len(wholes)) % len(MOMENTS)]
        victim = VICTIMS[number // len(MOMENTS) % len(VICTIMS)]
        outcome, details = outcome_of_kill(whole, place / f"killed-{number}", moment, victim, rng)
        counts[outcome] += 1
        if outcome != "bit-identical":
            experiment = whole.experiment
            names = f"{experiment.teacher_name} + {experiment.learner_name}"
            examples.append(f"{victim} in {moment} of {names}: {outcome} {details}")
    return Tally("SIGKILLs", counts, examples)


def carry_out(experiment: Experiment, path: Path) -> Whole:
    start = time.monotonic()
    return Whole(experiment, run(experiment, path, workers=2), time.monotonic() - start)


def outcome_of_kill(
    whole: Whole, path: Path, moment: str, victim: str, rng: np.random.Generator
) -> tuple[str, str]:
    kill_one(whole, path, moment, victim, rng)
    folder = RunFolder(path)
    try:
        if not (path / "experiment.json").exists():
            run(whole.experiment, path, workers=2)
        elif not folder.is_finished:
            resume(path)
        drawn = draw_run(folder)
    except SelfpacedError as error:
        return "DEAD END", str(error)
    is_same = same_files(path, whole.folder.path) and all(one.stat().st_size for one in drawn)
    return "bit-identical" if is_same else "DIFFERENT", ""


def kill_one(whole: Whole, path: Path, moment: str, victim: str, rng: np.random.Generator) -> None:
    """Run in another process, and kill it or its workers."""
    settings = json.dumps(whole.experiment.to_dict())
    num = int(rng.integers(1, 8 if moment == "export" else 3))
    command = [sys.executable, "-c", PROGRAM, settings, str(path), moment, str(num)]
    environment = os.environ | {"SELFPACED_CHECKPOINT_SECONDS": "0.2"}
    process = subprocess.Popen(
        command, start_new_session=True, env=environment, stderr=subprocess.DEVNULL
    )
    if moment == "start-up":
        time.sleep(float(rng.uniform(0.05, 0.5)) * whole.seconds)
        strike(process, victim, workers_of(process), rng)
    elif moment in FUNCTIONS:
        time.sleep(float(rng.uniform(0.3, 0.8)) * whole.seconds)
        while process.poll() is None:
            workers = workers_of(process)
            if workers and stop_in(FUNCTIONS[moment], workers[0], path):
                strike(process, victim, workers, rng)
                break
            time.sleep(0.01)
    process.wait()
    while not is_free(RunFolder(path)):
        time.sleep(0.1)


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        return [int(word) for word in children.read_text().split()]
    except OSError:  # it has just ended
        return []


def stop_in(function: str, worker: int, path: Path) -> bool:
    """Stop a worker and return whether it is in this function; if not, let it go on."""
    try:
        words = Path(f"/proc/{worker}/cmdline").read_bytes().split(b"\0")
        (caught,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{worker}/status").read_text())
        if not int(caught, 16) >> (signal.SIGUSR1 - 1) & 1:  # it would be killed by the signal
            return False
        with open(path / "checkpoints" / f"block-{words[-3].decode()}.log") as log:
            log.seek(0, os.SEEK_END)
            os.kill(worker, signal.SIGUSR1)  # it writes where it is
            time.sleep(0.002)
            os.kill(worker, signal.SIGSTOP)
            if f" in {function}\n" in log.read():
                return True
        os.kill(worker, signal.SIGCONT)
    except (OSError, ValueError):  # it has just started or ended
        pass
    return False


def strike(
    process: subprocess.Popen[bytes], victim: str, workers: list[int], rng: np.random.Generator
) -> None:
    if victim == "worker":
        victims = workers[:1] or [process.pid]
    else:
        victims = [process.pid, *(workers if victim == "all" else ())]
    for signal_number, pids in ((signal.SIGKILL, victims), (signal.SIGCONT, workers)):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal_number)


def same_files(one: Path, two: Path) -> bool:
    exact = all(
        (one / name).read_bytes() == (two / name).read_bytes()
        for name in ("evaluations.csv", "policies.safetensors")
    )
    return exact and timeless_rows(one / "metrics.csv") == timeless_rows(two / "metrics.csv")
