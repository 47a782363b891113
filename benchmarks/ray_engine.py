"""Measure the time of cells with the Ray engine beside local processes, on the same cores.

python benchmarks/ray_engine.py [ROUNDS] [ITERATIONS]

Every cell is the 20-seed run of the point mass with PPO and SPDL in two blocks, from the command
to the exported files, start of the processes included. Engines alternate. Ray is started
once, as for a comparison of many cells, and everything is compiled before. Goal: at most 10 % more
than local processes for cells of a minute.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from selfpaced import Experiment, neurips2020, run
from selfpaced.runs.engine import Engine
from selfpaced.runs.processes import LocalProcesses
from selfpaced.runs.ray_engine import RayEngine

NUM_SEEDS = 20
NUM_BLOCKS = 2
ALLOWED = 1.1


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 850
    experiment = neurips2020("point-mass-3d", seeds=tuple(range(1, NUM_SEEDS + 1)))
    engines: dict[str, Engine] = {"local": LocalProcesses(), "ray": RayEngine()}
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        assert engines["ray"].num_workers == NUM_BLOCKS, "Ray must have two cores"
        print(f"Ray starts in {time.perf_counter() - began:.1f} s", flush=True)
        for name, engine in engines.items():
            measure(replace(experiment, iterations=2), Path(place) / f"warm-{name}", engine)
        for number in range(rounds):
            for name, engine in engines.items():
                path = Path(place) / f"{name}-{number}"
                taken = measure(replace(experiment, iterations=iterations), path, engine)
                seconds[name].append(taken)
                print(f"{name:5}: {taken:.1f} s", flush=True)
    pairs = zip(seconds["ray"], seconds["local"], strict=True)
    ratio = median(ray / local for ray, local in pairs)
    verdict = "met" if ratio <= ALLOWED else "MISSED"
    print(f"Ray relative to local processes: {ratio:.3f} (at most {ALLOWED}: {verdict})")


def measure(experiment: Experiment, path: Path, engine: Engine) -> float:
    """Return the seconds of a run."""
    began = time.perf_counter()
    run(experiment, path, workers=NUM_BLOCKS, engine=engine)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
