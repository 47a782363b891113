"""How much of a training iteration with forty ants is physics.

One iteration of the ant's PPO, 81 920 steps, with SPDL as the teacher and one seed on all cores.
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

WANTED = 0.35  # at most this share outside physics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=3)
    options = parser.parse_args()
    experiment = replace(neurips2020("ant-gate"), seeds=(1,))
    training = experiment.training(experiment.seeds)
    watch_physics()
    state, _ = training.iterate(training.init(), 0)  # compiles
    for iteration in range(1, options.iterations + 1):
        Clock.physics, began = 0.0, time.perf_counter()
        state, _ = training.iterate(state, iteration)
        seconds = time.perf_counter() - began
        share = 1.0 - Clock.physics / seconds
        verdict = "met" if share <= WANTED else "MISSED"
        print(
            f"iteration {iteration}: {seconds:.2f} s, {81_920 / seconds:,.0f} steps/s, "
            f"{share:.0%} outside physics (wanted at most {WANTED:.0%}: {verdict})",
            flush=True,
        )


class Clock:
    """Seconds in MuJoCo."""

    physics = 0.0


def watch_physics() -> None:
    """Let the clock run while MuJoCo does."""
    rollout = Simulations._rollout

    def timed(self, *arguments):  # type: ignore[no-untyped-def]
        began = time.perf_counter()
        outcome = rollout(self, *arguments)
        Clock.physics += time.perf_counter() - began
        return outcome

    Simulations._rollout = timed  # type: ignore[method-assign]


def train_as_workers_do() -> None:
    """Start again with their settings: libraries read them when they are imported."""
    settings = worker_settings(is_hosted=True)
    if not settings.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **settings})


if __name__ == "__main__":
    train_as_workers_do()
    main()
