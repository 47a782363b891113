"""Measure the share of physics in a training iteration with forty ants.

python benchmarks/ant_iteration.py [--iterations 3]

An iteration of the ant's PPO has 81 920 steps, with SPDL as the teacher and one seed on all cores.
Everything that is not MuJoCo counts as outside: acting, bookkeeping, learning, the teacher.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace

from selfpaced import neurips2020
from selfpaced.environments.mujoco.simulations import Simulations
from selfpaced.runs.processes import worker_settings

MAX_SHARE = 0.35  # outside physics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=3)
    options = parser.parse_args()
    experiment = replace(neurips2020("ant-gate"), seeds=(1,))
    time_physics()
    with experiment.training(experiment.seeds) as training:
        state, _ = training.iterate(training.init(), 0)  # compiles
        for iteration in range(1, options.iterations + 1):
            Clock.physics, start = 0.0, time.perf_counter()
            state, _ = training.iterate(state, iteration)
            seconds = time.perf_counter() - start
            share = 1.0 - Clock.physics / seconds
            verdict = "met" if share <= MAX_SHARE else "MISSED"
            speed = experiment.steps_per_iteration / seconds
            print(
                f"iteration {iteration}: {seconds:.2f} s, {speed:,.0f} steps/s, "
                f"{share:.0%} outside physics (required at most {MAX_SHARE:.0%}: {verdict})",
                flush=True,
            )


class Clock:
    """Seconds in MuJoCo."""

    physics = 0.0


def time_physics() -> None:
    """Replace the call of MuJoCo by a timed one."""
    rollout = Simulations._rollout

    def timed(self, *arguments):  # type: ignore[no-untyped-def]
        start = time.perf_counter()
        outcome = rollout(self, *arguments)
        Clock.physics += time.perf_counter() - start
        return outcome

    Simulations._rollout = timed  # type: ignore[method-assign]


def restart_with_worker_settings() -> None:
    """Restart with the environment variables of workers, which libraries read on import."""
    settings = worker_settings(is_hosted=True)
    if not settings.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **settings})


if __name__ == "__main__":
    restart_with_worker_settings()
    main()
