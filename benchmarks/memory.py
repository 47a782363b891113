"""Peak memory of one process that simulates 40 ants and 64 arms, everything included."""

from __future__ import annotations

import resource
import sys

import numpy as np

from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching

REQUIRED = 2.0  # GiB, at most
UNIT = 1 if sys.platform == "darwin" else 1024  # bytes; the unit of ru_maxrss


def main() -> None:
    for robot, num in ((AntGate(), 40), (BallCatching(), 64)):
        vector = robot.make(num, num_threads=2)
        vector.reset(seed=0)
        for _ in range(100):
            vector.step(np.zeros(vector.action_space.shape))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / 2**30
    verdict = "met" if peak <= REQUIRED else "MISSED"
    print(f"40 ants and 64 arms: {peak:.2f} GiB (required: at most {REQUIRED:.0f}, {verdict})")


if __name__ == "__main__":
    main()
