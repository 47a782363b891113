"""Measure the cost of a teacher: wall time of a 20-seed PPO run relative to Random.

python benchmarks/teachers.py [--iterations 300]

GoalGAN trains its networks about every 20 iterations and ALP-GMM fits mixtures about every 5, so a
few hundred iterations contain both at their real frequency. The time of the whole command is
extrapolated to the paper's number of iterations, so that one-off costs (start, compilation,
GoalGAN's pretraining) have their real share.
"""

import argparse
from dataclasses import replace

from timed_run import timed_run, verdict

from selfpaced import neurips2020

MAX_RATIO = {"random": None, "alp-gmm": 2.0, "goal-gan": 1.3}  # to the time of Random


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, default=300)
    measured = parser.parse_args().iterations
    print("point-mass-3d, PPO, 20 seeds: seconds of the whole command")
    seconds = {}
    for teacher, limit in MAX_RATIO.items():
        experiment = neurips2020("point-mass-3d", teacher, "ppo")
        timing = timed_run(replace(experiment, iterations=measured))
        remaining = experiment.iterations - measured
        seconds[teacher] = timing.whole_seconds + remaining * timing.seconds_per_iteration
        ratio = seconds[teacher] / seconds["random"]
        remark = "" if limit is None else verdict(ratio, limit, ratio <= limit) + ";"
        share = f"teacher {timing.teacher_share:.1%} of the time"
        print(f"{teacher:10}{seconds[teacher]:8.0f}  {remark} {share}", flush=True)


if __name__ == "__main__":
    main()
