"""Environment steps per second, learning included: selfpaced beside Stable-Baselines3, in one run.

python benchmarks/throughput.py [--iterations 400]

Ours is a real `selfpaced` run with SPDL as the teacher and evaluations on the way, timed from the
30th iteration on (until then programs are compiled) and, in brackets, from the command to the
last file. The peer has no curriculum and no evaluation. Nothing else should run meanwhile.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from selfpaced import neurips2020, run

PEER = Path(__file__).with_name("sb3_peer.py")
PEER_STEPS = 12 * 2048
WARM = 30  # iterations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, default=400)
    iterations = parser.parse_args().iterations
    cores = sorted(os.sched_getaffinity(0))
    print(f"cores {len(cores)}; SPDL + PPO on point-mass-3d, settings of the paper", flush=True)
    alone = max(peer(cores[:1])[0] for _ in range(2))
    print(f"Stable-Baselines3, 1 process:           {alone:10,.0f} steps/s", flush=True)
    both = sum(peer(cores))
    print(f"Stable-Baselines3, {len(cores)} processes:         {both:10,.0f} steps/s", flush=True)
    for num_seeds in (1, 20):
        steady, whole, teacher = ours(num_seeds, iterations)
        print(
            f"selfpaced, {num_seeds:2} seed{'s'[: num_seeds > 1]:1}:                    "
            f"{steady:10,.0f} steps/s = {steady / alone:.0f}x one peer, {steady / both:.0f}x "
            f"{len(cores)} peers (whole command {whole:,.0f} = {whole / alone:.0f}x); "
            f"teacher {teacher:.1%} of the time",
            flush=True,
        )


def peer(cores: list[int]) -> list[float]:
    """Steps per second of one peer process per core, running side by side."""
    command = [sys.executable, str(PEER), str(PEER_STEPS)]
    processes = [
        subprocess.Popen([*command, str(core)], stdout=subprocess.PIPE, text=True) for core in cores
    ]
    return [float(process.communicate()[0]) for process in processes]


def ours(num_seeds: int, iterations: int) -> tuple[float, float, float]:
    """Steps per second once warm, and of the whole command; share of the teacher once warm."""
    experiment = replace(
        neurips2020("point-mass-3d", seeds=tuple(range(1, num_seeds + 1))), iterations=iterations
    )
    with tempfile.TemporaryDirectory() as folder:
        finished = run(experiment, Path(folder) / "run")
        summary, metrics = finished.summary(), finished.metrics()
    seconds = metrics["time/training_seconds"]
    teacher = metrics["time/teacher_seconds"]
    warm = (seconds[-1] - seconds[WARM - 1]).max()  # of the slowest block
    steps = (iterations - WARM) * experiment.steps_per_iteration * num_seeds
    return (
        steps / warm,
        summary["steps_per_second"],
        (teacher[-1] - teacher[WARM - 1]).max() / warm,
    )


if __name__ == "__main__":
    main()
