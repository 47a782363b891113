"""SIGKILL at random moments, and the results after resuming."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from selfpaced import Experiment, RunFolder, resume, run
from selfpaced.experiment import default_part
from tests.faults.outcomes import Tally
from tests.runs.small_runs import SMALL, is_free, timeless_rows

PROGRAM = (
    "import json, sys\n"
    "from selfpaced import Experiment, run\n"
    "run(Experiment.from_dict(json.loads(sys.argv[1])), sys.argv[2], workers=2)"
)
METHODS = [
    ("spdl", "ppo"),
    ("alp-gmm", "ppo"),
    ("goal-gan", "trpo"),
    ("random", "sac"),
    ("default", "ppo"),
]


def experiments(names: list[tuple[str, str]]) -> list[Experiment]:
    """Return small experiments with these teachers and learners."""
    return [
        replace(SMALL, iterations=30).with_parts(
            teacher=SMALL.method.teacher if teacher == "spdl" else default_part("teacher", teacher),
            learner=replace(default_part("learner", learner), hidden=(8,)),
        )
        for teacher, learner in names
    ]


def kills(num: int, seed: int, place: Path, names: list[tuple[str, str]] = METHODS) -> Tally:
    """Kill the parent, one worker, or all, at random moments; resume, and compare all files."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    examples = []
    planned = experiments(names)
    wholes = []
    for index, experiment in enumerate(planned):
        start = time.monotonic()
        whole = run(experiment, place / f"whole-{index}", workers=2)
        wholes.append((whole, time.monotonic() - start))
    for number in range(num):
        experiment, (whole, seconds) = planned[number % len(planned)], wholes[number % len(planned)]
        folder = RunFolder(place / f"killed-{number}")
        whom = ("parent", "all")[number // len(planned) % 2]
        kill_one(experiment, folder.path, whom, float(rng.uniform(0.1, 1.1)) * seconds)
        if not folder.path.exists() or not (folder.path / "experiment.json").exists():
            run(experiment, folder.path, workers=2)
        elif not folder.is_finished:
            resume(folder.path)
        outcome = "bit-identical" if same_files(folder.path, whole.path) else "DIFFERENT"
        counts[outcome] += 1
        if outcome == "DIFFERENT":
            examples.append(f"{whom} of {experiment.teacher_name} + {experiment.learner_name}")
    return Tally("SIGKILLs", counts, examples)


def kill_one(experiment: Experiment, path: Path, whom: str, delay: float) -> None:
    """Start a run in another process, and kill it."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(experiment.to_dict()), str(path)]
    environment = os.environ | {"SELFPACED_CHECKPOINT_SECONDS": "0.2"}
    process = subprocess.Popen(command, start_new_session=True, env=environment)
    time.sleep(delay)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers = children.read_text().split() if children.exists() else []
    process.kill()
    process.wait()
    for worker in workers if whom == "all" else ():
        try:
            os.kill(int(worker), signal.SIGKILL)
        except ProcessLookupError:
            continue
    while not is_free(RunFolder(path)):
        time.sleep(0.1)


def same_files(one: Path, two: Path) -> bool:
    exact = all(
        (one / name).read_bytes() == (two / name).read_bytes()
        for name in ("evaluations.csv", "policies.safetensors")
    )
    return exact and timeless_rows(one / "metrics.csv") == timeless_rows(two / "metrics.csv")
