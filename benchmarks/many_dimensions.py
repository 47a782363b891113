"""Measure teachers on the point mass with 2 to 48 components: time per update, final return.

python benchmarks/many_dimensions.py --updates               CPU time of single updates, no training
python benchmarks/many_dimensions.py --seeds 5               trainings, as the presets have them
python benchmarks/many_dimensions.py --sizes 24 --iterations 50 --seeds 2
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

if hasattr(os, "sched_setaffinity") and "--updates" in sys.argv:  # before libraries count cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np

from selfpaced import CURROT, SPDL, Episodes, ThresholdSPDL, neurips2020, run
from selfpaced.registry import find_problem

SIZES = (2, 6, 12, 24, 48)
TEACHERS = {
    "spdl": SPDL(),
    "spdl, trade-off": SPDL(pacing="tradeoff", update_offset=0, alpha_offset=0),
    "spdl, trade-off, diagonal": SPDL(
        pacing="tradeoff", update_offset=0, alpha_offset=0, covariance="diagonal"
    ),
    "threshold-spdl": ThresholdSPDL(threshold=3.5, update_offset=0),
    "currot": CURROT(),
}
NUM_UPDATES = 20


def problem_name(size):
    """Return the name of the point mass with this many context components."""
    if size <= 3:
        return f"point-mass-{size}d"
    return f"selfpaced.presets.point_mass_nd:POINT_MASS_{size}D"


def update_seconds(teacher, contexts, num_episodes):
    """Return the CPU time of each update; easy contexts near the start have high returns."""
    rng, seconds = np.random.default_rng(0), []
    state, start = teacher.init(rng, contexts), contexts.initial.mean
    for _ in range(NUM_UPDATES):
        drawn = teacher.sample(rng, contexts, state, num_episodes)
        distance = np.linalg.norm((drawn - start) / contexts.initial.std, axis=1)
        returns = 6.0 - distance / np.sqrt(contexts.size) + 0.3 * rng.normal(size=num_episodes)
        observation, length = np.zeros((num_episodes, 7)), np.full(num_episodes, 50)
        episodes = Episodes(drawn, observation, returns, returns, returns > 5.0, length)
        before = time.process_time()
        state, _ = teacher.update(rng, contexts, state, episodes)
        seconds.append(time.process_time() - before)
    return seconds[2:]  # the first ones compile


def measure_updates(sizes, num_episodes):
    print(f"CPU milliseconds of an update with {num_episodes} episodes, median (longest)")
    print("| teacher | " + " | ".join(f"{size}-D" for size in sizes) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    for name, teacher in TEACHERS.items():
        cells = []
        for size in sizes:
            contexts = find_problem(problem_name(size)).contexts
            seconds = 1e3 * np.array(update_seconds(teacher, contexts, num_episodes))
            cells.append(f"{np.median(seconds):.1f} ({seconds.max():.0f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def measure_trainings(sizes, names, seeds, iterations):
    print("| problem | teacher | seeds | iterations | final return | ms per update of a block |")
    print("|---|---|---|---|---|---|")
    for size in sizes:
        for name in names:
            experiment = neurips2020(problem_name(size), name, "ppo", tuple(range(1, seeds + 1)))
            teacher = experiment.method.teacher
            if name == "threshold-spdl":
                teacher = replace(teacher, threshold=3.5)
            experiment = replace(
                experiment.with_parts(teacher=teacher),
                iterations=iterations or experiment.iterations,
            )
            with tempfile.TemporaryDirectory() as folder:
                done = run(experiment, Path(folder) / "run")
                final, error, seconds = outcome(done)
            cells = f"{size}-D | {name} | {seeds} | {experiment.iterations}"
            print(f"| {cells} | {final:.2f} ± {error:.2f} | {1e3 * seconds:.1f} |", flush=True)


def outcome(folder):
    """Return mean and standard error of the final returns, and the time of an update."""
    returns = folder.evaluations()["return"][-1]
    error = returns.std(ddof=1) / np.sqrt(len(returns)) if len(returns) > 1 else np.nan
    seconds = folder.metrics()["time/teacher_seconds"]  # so far, of a block of seeds
    return returns.mean(), error, float(seconds[-1].max()) / len(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--updates", action="store_true", help="time single updates only")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--teachers", nargs="+", default=("spdl", "threshold-spdl", "currot"))
    parser.add_argument("--episodes", type=int, default=100, help="of a single update")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=None)
    args = parser.parse_args()
    if args.updates:
        measure_updates(args.sizes, args.episodes)
    else:
        measure_trainings(args.sizes, args.teachers, args.seeds, args.iterations)


if __name__ == "__main__":
    main()
