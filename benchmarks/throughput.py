"""Measure environment steps per second, learning included, beside Stable-Baselines3.

python benchmarks/throughput.py [ppo] [trpo] [sac]

Ours is a complete `selfpaced` run with SPDL as the teacher, evaluations and the paper's settings.
It is timed once everything is compiled and, in brackets, from the command to the last file. The
peer has no curriculum and no evaluation. Run nothing else meanwhile.
"""

import argparse
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from timed_run import timed_run, verdict

from selfpaced import neurips2020

PEER = Path(__file__).with_name("sb3_peer.py")


class Comparison(NamedTuple):
    """How long to measure a learner, and the required ratio to the speed of one peer."""

    peer_steps: int
    iterations: int
    required: dict[int, float]  # ratio by number of seeds


LEARNERS = {
    "ppo": Comparison(12 * 2048, 300, {1: 30.0, 20: 100.0}),
    "trpo": Comparison(12 * 2048, 300, {1: 30.0, 20: 80.0}),
    "sac": Comparison(3 * 2048, 60, {1: 25.0, 8: 70.0}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("learners", nargs="*", default=list(LEARNERS), metavar="LEARNER")
    cores = sorted(os.sched_getaffinity(0))
    print(f"point-mass-3d on {len(cores)} cores, environment steps per second")
    for learner in parser.parse_args().learners:
        compare(learner, LEARNERS[learner], cores)


def compare(learner: str, comparison: Comparison, cores: list[int]) -> None:
    alone = max(peers(learner, comparison.peer_steps, cores[:1])[0] for _ in range(2))
    show(learner, "peer, 1 process", alone)
    together = sum(peers(learner, comparison.peer_steps, cores))
    show(learner, f"peer, {len(cores)} processes", together)
    for num_seeds, required in comparison.required.items():
        experiment = replace(
            neurips2020("point-mass-3d", "spdl", learner, seeds=tuple(range(1, num_seeds + 1))),
            iterations=comparison.iterations,
        )
        timing = timed_run(experiment)
        speed, ratio = timing.steps_per_second, timing.steps_per_second / alone
        whole = experiment.environment_steps / timing.whole_seconds
        show(
            learner,
            f"selfpaced, {num_seeds} seed{'s'[: num_seeds > 1]}",
            speed,
            f"{verdict(ratio, required, ratio >= required)}, "
            f"{speed / together:.0f}x {len(cores)} peers "
            f"[whole command {whole:,.0f} = {whole / alone:.0f}x]; "
            f"teacher {timing.teacher_share:.1%} of the time",
        )


def peers(learner: str, steps: int, cores: list[int]) -> list[float]:
    """Return steps per second of one peer process per core, running side by side."""
    command = [sys.executable, str(PEER), learner, str(steps)]
    processes = [
        subprocess.Popen([*command, str(core)], stdout=subprocess.PIPE, text=True) for core in cores
    ]
    return [float(process.communicate()[0]) for process in processes]


def show(learner: str, what: str, speed: float, remark: str = "") -> None:
    print(f"{learner:5}{what:22}{speed:10,.0f}  {remark}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
