"""Time a training command with two revisions of this library in turn, and compare their results.

    git worktree add /tmp/old 774f8dc
    python benchmarks/revisions.py /tmp/old/src 3 point-mass-3d --seeds 20 --iterations 300

The first run of each revision compiles and is not counted.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

HERE = Path(__file__).resolve().parents[1] / "src"


def main() -> None:
    old, rounds, *command = Path(sys.argv[1]).resolve(), int(sys.argv[2]), *sys.argv[3:]
    seconds: dict[Path, list[float]] = {old: [], HERE: []}
    with tempfile.TemporaryDirectory() as name:
        folders = {source: Path(name) / key for source, key in ((old, "old"), (HERE, "new"))}
        for number in range(rounds + 1):
            for source, folder in folders.items():
                taken = timed(source, folder, command)
                seconds[source] += [taken] if number else []
        before, after = (results(folder / "run") for folder in folders.values())
    pairs = list(zip(*seconds.values(), strict=True))
    print("results:", "identical" if are_same(before, after) else "DIFFERENT")
    for slow, fast in pairs:
        print(f"old {slow:7.2f} s   new {fast:7.2f} s   {slow / fast:.2f} times as fast")
    print(f"median of the pairs: {median(slow / fast for slow, fast in pairs):.2f}")


def timed(source: Path, folder: Path, command: list[str]) -> float:
    """Return the seconds of the whole command, from the shell's point of view."""
    environment = {**os.environ, "PYTHONPATH": str(source), "XDG_CACHE_HOME": str(folder / "cache")}
    words = [sys.executable, "-m", "selfpaced", "train", *command, "--overwrite", "--out"]
    began = time.perf_counter()
    subprocess.run(
        [*words, str(folder / "run")], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def results(run: Path) -> list[object]:
    """Return tables without times, contexts, and the bytes of the policies."""
    contexts = np.load(run / "contexts.npz")
    return [
        *(without_times(run / f"{name}.csv") for name in ("metrics", "evaluations")),
        {name: contexts[name].tobytes() for name in contexts.files},
        (run / "policies.safetensors").read_bytes(),
    ]


def are_same(before: list[object], after: list[object]) -> bool:
    """Compare results; a newer revision may keep further arrays of contexts."""
    old, new = before[2], after[2]
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    return before == [*after[:2], {name: new.get(name) for name in old}, *after[3:]]


def without_times(path: Path) -> list[dict[str, str]]:
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return [{key: row[key] for key in row if not key.startswith("time/")} for row in rows]


if __name__ == "__main__":
    main()
