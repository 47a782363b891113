"""Measure the share of a run's time that goes into checkpoints.

python benchmarks/checkpoints.py [ITERATIONS]

The 20-seed run of the point mass with PPO and SPDL on two cores has blocks of ten seeds; one of
them is trained in this process, and every save is timed: rows, checksums, writing, syncing and
renaming. Saves and training are slowed alike by other programs on the computer. Goal: at most 2 %
of the time with a checkpoint every 20 s.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import IO

from selfpaced import neurips2020, run
from selfpaced.runs.block_files import BlockFiles
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.processes import Listener
from selfpaced.runs.worker import BlockRun

NUM_SEEDS = 10  # of 20 on two cores
REQUIRED = 0.02


class TimedFiles(BlockFiles):
    """The files of a block; remembers the seconds of every save."""

    seconds: list[float] = []  # noqa: RUF012 (of the only block)

    def save(self, checkpoint: Checkpoint) -> None:
        began = time.perf_counter()
        super().save(checkpoint)
        self.seconds.append(time.perf_counter() - began)


class NoRequests:
    """Nothing asks the block to stop."""

    stop_requested = False


class ThisProcess:
    """The engine that trains the only block in this process, and measures it."""

    num_workers = 1

    def train(self, folder: RunFolder, lock: IO[str], listener: Listener) -> list[str]:
        block = BlockRun(folder, 0, NoRequests())
        block.files = TimedFiles(block.files.folder, 0, block.files.seeds)
        began = time.perf_counter()
        for message in block.events():
            listener.received(0, message)
        self.seconds = time.perf_counter() - began
        return []


def main() -> None:
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    experiment = neurips2020("point-mass-3d", seeds=tuple(range(1, NUM_SEEDS + 1)))
    engine = ThisProcess()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:  # a disk, not memory
        run(replace(experiment, iterations=iterations), Path(place) / "run", engine=engine)
    saves = TimedFiles.seconds
    share = sum(saves) / engine.seconds
    print(
        f"{len(saves)} checkpoints of {NUM_SEEDS} seeds in {engine.seconds:.1f} s: "
        f"{1e3 * sum(saves) / len(saves):.0f} ms each, {share:.2%} of the time "
        f"(at most {REQUIRED:.0%}: {'met' if share <= REQUIRED else 'MISSED'})"
    )


if __name__ == "__main__":
    main()
