"""Measure what grows with the seeds and iterations of a run: speed, checkpoints, memory.

python benchmarks/growth.py [seeds] [iterations]

seeds: CPU time of an iteration per seed with 200 seeds, relative to 20, on two cores (PPO and SPDL
on the point mass, everything included). CPU time, in rounds that alternate, because other programs
on the computer do not change it much. Goal: at least 90 % of the speed.

iterations: a tiny run to 1 000 iterations, extended to 100 000. What one more checkpoint costs
then, in alternating rounds, and the memory of its worker on the way. Goal: at most 1.2 times the
size and CPU time, and no more memory.
"""

import os
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

from selfpaced import PPO, Experiment, RunFolder, neurips2020, resume, run
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.runs.processes import Listener
from selfpaced.runs.storage import Notes

ROUNDS = 3
NUM_SAVES = 21  # per round
ROWS = 50  # iterations between them
FEW, MANY = 1_000, 100_000  # iterations
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    wanted = sys.argv[1:] or ["seeds", "iterations"]
    with tempfile.TemporaryDirectory() as place:
        if "seeds" in wanted:
            measure_seeds(Path(place))
        if "iterations" in wanted:
            measure_iterations(Path(place))


def measure_seeds(place: Path) -> None:
    """Print the speed with 20 and with 200 seeds."""
    ratios = []
    for number in range(ROUNDS):
        small = cpu_seconds_per_seed(place / f"20-{number}", 20, 330)
        large = cpu_seconds_per_seed(place / f"200-{number}", 200, 60)
        ratios.append(small / large)
        print(
            f"CPU ms per iteration and seed: {1e3 * small:.2f} with 20 seeds, "
            f"{1e3 * large:.2f} with 200",
            flush=True,
        )
    show("speed with 200 seeds relative to 20", median(ratios), 0.9, median(ratios) >= 0.9)


def cpu_seconds_per_seed(path: Path, num_seeds: int, iterations: int) -> float:
    """Return the CPU time of all workers per iteration and seed, once everything is compiled."""
    warm = 30
    experiment = neurips2020("point-mass-3d", seeds=tuple(range(1, num_seeds + 1)))
    watch = Watch()
    run(replace(experiment, iterations=iterations), path, workers=2, listener=watch)
    total = 0.0
    for seen in watch.seen.values():
        first = next(one for one in seen if one.iteration >= warm)
        total += (seen[-1].seconds - first.seconds) / (seen[-1].iteration - first.iteration)
    return total / num_seeds


def measure_iterations(place: Path) -> None:
    """Print what a checkpoint costs after few and after many iterations, and the memory."""
    folder = run(tiny_experiment(FEW), place / "run", workers=1)
    early = RunFolder(Path(shutil.copytree(folder.path, place / "early")), trust=True)
    watch = Watch()
    started = time.monotonic()
    resume(folder.path, listener=watch, iterations=MANY)
    print(f"{MANY:,} iterations in {time.monotonic() - started:.0f} s")
    (seen,) = watch.seen.values()
    start = next(one for one in seen if one.iteration >= MANY // 10)
    for one in seen[:: max(len(seen) // 10, 1)]:
        print(f"  iteration {one.iteration:7,}: {one.memory / 2**20:.0f} MiB")
    grown = seen[-1].memory / start.memory
    show(f"memory at {MANY:,} iterations relative to {MANY // 10:,}", grown, 1.05, grown <= 1.05)
    late = RunFolder(folder.path, trust=True)
    costs = {FEW: [], MANY: []}  # type: dict[int, list[Cost]]
    for _ in range(ROUNDS):
        costs[FEW] += save_often(early)
        costs[MANY] += save_often(late)
    for name in Cost._fields:
        few, many = (median(getattr(one, name) for one in costs[num]) for num in (FEW, MANY))
        print(f"{name} of a checkpoint: {few:.4g} after {FEW:,}, {many:.4g} after {MANY:,}")
        if name != "wall_seconds":
            show(f"{name} of a checkpoint", many / few, 1.2, many <= 1.2 * few)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory of this process, which has written the tables: {peak / 2**10:.0f} MiB")


def tiny_experiment(iterations: int) -> Experiment:
    """Return an experiment whose iterations take little time."""
    learner = PPO(hidden=(8,), num_epochs=1, num_minibatches=1)
    budget = {"steps_per_iteration": 64, "evaluate_every": 100, "evaluation_episodes": 2}
    experiment = neurips2020("point-mass-2d", seeds=(1,)).with_parts(learner=learner)
    return replace(experiment, iterations=iterations, **budget)


class Cost(NamedTuple):
    """What it takes to save once."""

    num_bytes: int
    cpu_seconds: float
    wall_seconds: float


def save_often(folder: RunFolder) -> list[Cost]:
    """Continue a run from its last checkpoint in this process; return what each save costs."""
    experiment, (files,) = folder.experiment(), folder.files()
    costs = []
    with experiment.training(files.seeds) as training:
        checkpoint = Checkpoint.start(training, experiment).restore(files.newest)
        for _ in range(NUM_SAVES):
            for _ in range(ROWS):
                state, rows = training.iterate(checkpoint.state, checkpoint.iteration)
                checkpoint.state, checkpoint.iteration = state, checkpoint.iteration + 1
                checkpoint.history.record_iteration(checkpoint.iteration, rows)
            size = files.history.stat().st_size
            cpu, wall = time.process_time(), time.perf_counter()
            files.save(checkpoint)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            rows_size = files.history.stat().st_size - size
            costs.append(Cost(files.newest.stat().st_size + rows_size, cpu, wall))
    return costs


class Moment(NamedTuple):
    """What a worker has used when it had reached an iteration."""

    iteration: int
    seconds: float  # of CPU
    memory: float  # bytes


@dataclass
class Watch(Listener):
    """Looks at the worker processes whenever one of them reports."""

    seen: dict[int, list[Moment]] = field(default_factory=dict)

    def received(self, block: int, message: Notes) -> None:
        if message.get("iteration", 0) and "advice" not in message:
            process = worker_process(block)
            if process is not None:
                moment = Moment(message["iteration"], *usage(process))
                self.seen.setdefault(block, []).append(moment)


def worker_process(block: int) -> int | None:
    """Return the child of this process that trains a block."""
    for path in Path("/proc/self/task").glob("*/children"):
        for child in path.read_text().split():
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if b"selfpaced.runs.worker" in words and words[-3] == str(block).encode():
                return int(child)
    return None


def usage(process: int) -> tuple[float, float]:
    """Return CPU seconds and resident memory in bytes."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK, int(fields[21]) * PAGE


def show(what: str, found: float, required: float, met: bool) -> None:
    word = "at least" if required < 1 else "at most"
    print(f"{what}: {found:.3f} ({word} {required:g}: {'met' if met else 'MISSED'})", flush=True)


if __name__ == "__main__":
    main()
