"""Failure rates of the robust and of the paper's settings on the same seeds, with intervals.

`python benchmarks/robust.py train` trains both on the point masses, with 60 seeds that had no part
in any choice. `python benchmarks/robust.py` writes `results/robust.csv` and prints the table of
`results/README.md`. A seed fails if the return that its run reports is below 8.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from selfpaced import RunFolder, run
from selfpaced.presets.neurips2020 import published
from selfpaced.runs.kept import final_values
from selfpaced.runs.storage import write_csv
from selfpaced.statistics import mean_and_standard_error, plus_minus, rate

PROBLEMS = ("point-mass-3d", "point-mass-2d")
PRESETS = ("neurips2020", "robust")
SEEDS = tuple(range(3001, 3061))
SUCCESSFUL = 8.0
RUNS = Path("runs/robust")
OUT = Path(__file__).parents[1] / "results" / "robust.csv"
HEADER = ("problem", "preset", "seed", "iteration", "return", "success", "return_of_last")


def train(folders: dict[tuple[str, str], RunFolder]) -> None:
    """Train what is not finished."""
    for (problem, name), folder in folders.items():
        if not folder.is_finished:
            run(published(problem, seeds=SEEDS, name=name), folder.path)


def row_of(problem: str, name: str, returns: np.ndarray) -> str:
    """Return a row of the table."""
    num = int((returns < SUCCESSFUL).sum())
    share = rate(num, len(returns))
    cells = (
        f"{problem}, {name}",
        plus_minus(*mean_and_standard_error(returns)),
        f"{returns.min():.2f}",
        f"{num} of {len(returns)}",
        f"{share.low:.1%} to {share.high:.1%}".replace("%", " %"),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Train, or write the file and print the table."""
    folders = {(p, n): RunFolder(RUNS / f"{p}-{n}") for p in PROBLEMS for n in PRESETS}
    if sys.argv[1:] == ["train"]:
        train(folders)
    rows: list[list[object]] = []
    print(
        "| problem, settings | return | lowest | below 8 | 95 % interval |\n|---|---|---|---|---|"
    )
    for (problem, name), folder in folders.items():
        if not folder.is_finished:
            continue
        columns, summary = folder.evaluations(), folder.summary()
        final, last = final_values(columns, "return"), columns["return"][-1]
        success = final_values(columns, "success")
        iterations = summary.get("kept_iterations") or [summary["iterations"]] * len(final)
        print(row_of(problem, name, final))
        if name == "robust":
            print(row_of(problem, "robust, last policies", last))
        per_seed = zip(folder.experiment().seeds, iterations, final, success, last, strict=True)
        rows += [[problem, name, *each] for each in per_seed]
    write_csv(OUT, HEADER, rows)


if __name__ == "__main__":
    main()
