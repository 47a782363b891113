"""Measure the cost of a teacher: wall time of a 20-seed PPO run relative to Random.

python benchmarks/teachers.py [--teachers currot plr] [--iterations 100] [--rounds 3]
python benchmarks/teachers.py --updates

Runs alternate with those of Random, and ratios are medians of the rounds. GoalGAN trains its
networks about every 20 iterations and ALP-GMM fits mixtures about every 5, so a few hundred
iterations (`--iterations 300`) contain both at their real frequency. The time of the whole command
is extrapolated to the paper's number of iterations, so that one-off costs (start, compilation,
GoalGAN's pretraining) have their real share.

With `--updates`, measure single updates of 500 particles with 1000 remembered episodes.
"""

import argparse
import os
import sys
import time
from dataclasses import replace

if hasattr(os, "sched_setaffinity") and "--updates" in sys.argv:  # before libraries count cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
from timed_run import timed_run, verdict

from selfpaced import CURROT, GRADIENT, Episodes, Staircase, ThresholdSPDL, neurips2020
from selfpaced.registry import TEACHERS, find_problem

NEW_LIMIT = 1.5  # to the time of Random
LIMITS = {"default": None, "spdl": None, "alp-gmm": 2.0, "goal-gan": 1.3}
SETTINGS = {"threshold-spdl": ThresholdSPDL(threshold=3.5, std_lower_bound=(0.2, 0.1875, 0.1))}
UPDATE_LIMIT = 20.0  # milliseconds
NUM_UPDATES, EPISODES_PER_UPDATE = 40, 50
PARTICLE_TEACHERS = {
    "currot, published": CURROT(500, 50, threshold=0.8, radius=1.2, signal="success", wait=True),
    "currot": CURROT(500, 50, signal="success"),
    "gradient": GRADIENT(0.05, 500, 50, threshold=0.6, signal="success"),
    "staircase": Staircase(500),
}


def measure_runs(teachers, iterations, rounds):
    print("point-mass-3d, PPO, 20 seeds: seconds of the whole command")
    seconds = {name: [] for name in ("random", *teachers)}
    shares = {name: [] for name in seconds}
    for _ in range(rounds):
        for name in seconds:
            experiment = neurips2020("point-mass-3d", name, "ppo")
            if name in SETTINGS:
                experiment = experiment.with_parts(teacher=SETTINGS[name])
            timing = timed_run(replace(experiment, iterations=iterations))
            remaining = experiment.iterations - iterations
            whole = timing.whole_seconds + remaining * timing.seconds_per_iteration
            seconds[name].append(whole)
            shares[name].append(timing.teacher_share)
    for name, measured in seconds.items():
        ratio = np.median(np.divide(measured, seconds["random"]))
        limit = LIMITS.get(name, NEW_LIMIT)
        is_compared = limit is not None and name != "random"
        remark = verdict(ratio, limit, ratio <= limit) if is_compared else f"{ratio:.2f}x"
        share = f"teacher {np.median(shares[name]):.1%} of the time"
        print(f"{name:16}{np.median(measured):6.0f}  {remark}; {share}", flush=True)


def measure_updates():
    """Successes end at a wall that retreats, so that particles follow it to the target."""
    contexts = find_problem("goal-maze").contexts
    print("goal-maze, 500 particles, CPU milliseconds of an update with 50 new episodes")
    for name, teacher in PARTICLE_TEACHERS.items():
        rng, milliseconds = np.random.default_rng(0), []
        state = teacher.init(rng, contexts)
        for number in range(NUM_UPDATES + 1000 // EPISODES_PER_UPDATE):
            drawn = teacher.sample(rng, contexts, state, EPISODES_PER_UPDATE)
            wall = 18.0 * (1.0 - number / NUM_UPDATES)
            chance = 0.95 / (1.0 + np.exp(wall - drawn[:, 2]))
            success = rng.random(EPISODES_PER_UPDATE) < chance
            observation, length = np.zeros((EPISODES_PER_UPDATE, 5)), np.full(50, 100)
            returns = success.astype(float)
            episodes = Episodes(drawn, observation, returns, returns, success, length)
            before = time.process_time()
            state, _ = teacher.update(rng, contexts, state, episodes)
            milliseconds.append(1e3 * (time.process_time() - before))
        measured = np.array(milliseconds[-NUM_UPDATES:])  # with full memories
        median, longest = np.median(measured), measured.max()
        is_met = "met" if median <= UPDATE_LIMIT else "MISSED"
        print(
            f"{name:20}{median:6.1f} (longest {longest:.0f}; required {UPDATE_LIMIT:.0f}: {is_met})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--updates", action="store_true", help="time single updates only")
    others = [name for name in TEACHERS if name != "random"]
    parser.add_argument("--teachers", nargs="+", default=others)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if args.updates:
        measure_updates()
    else:
        measure_runs(args.teachers, args.iterations, args.rounds)


if __name__ == "__main__":
    main()
