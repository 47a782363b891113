"""The command `selfpaced collect`: the paper's results from run folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import tyro
from rich.console import Console

from selfpaced.commands.options import parse
from selfpaced.errors import require
from selfpaced.experiment import seeds_from
from selfpaced.presets.neurips2020 import NUM_SEEDS
from selfpaced.reports.reproduction import write_report
from selfpaced.reports.result_rows import ResultRow, read_rows, row_of
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.verification import find_runs
from selfpaced.studies.collection import collect
from selfpaced.studies.reproduction import RESULTS, plan_result
from selfpaced.validation import require_choice, require_positive


@dataclass(frozen=True)
class Options:
    """Write the tables of `selfpaced reproduce` from runs in several folders, in any parts.

    Runs of other settings, and of code with other results, are left out. Cells that no run has keep
    the row that they have in the tables already.
    """

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="RUNS [RUNS ...]", help_behavior_hint="(required)"),
    ]
    """folders with run folders at any depth"""
    results: tuple[str, ...] = tuple(RESULTS)
    """results to write; see `selfpaced reproduce`"""
    seeds: int = NUM_SEEDS
    """number of seeds of a complete cell; the paper has 20"""
    out: Path = Path("results")
    """folder for tables and figures"""

    def __post_init__(self) -> None:
        require_positive(self, "seeds")
        for name in self.results:
            require_choice("result", name, RESULTS)


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("collect", Options, arguments)
    require(len(options.runs) > 0, "RUNS must be folders of runs, got none")
    runs = [run for path in options.runs for run in find_runs(path)]
    console = Console(highlight=False, emoji=False, soft_wrap=True)
    for name in options.results:
        with TemporaryDirectory() as scratch:
            _write(options, name, runs, Path(scratch), console)


def _write(
    options: Options, name: str, runs: list[RunFolder], scratch: Path, console: Console
) -> None:
    """Write the files of one result, and print what is missing."""
    result, before = RESULTS[name], read_rows(options.out / f"{name}.csv")
    cells = plan_result(result, seeds_from(1, options.seeds), options.runs[0])
    rows = {row.key: row for row in before}
    outcomes, missing, replaced = [], [], set[tuple[str, str, str]]()
    for found in collect(cells, runs):
        names = (found.cell.experiment.problem_name, found.cell.teacher, found.cell.learner)
        old = rows.get(names)
        first = 1 if old is None else old.seeds[0]
        missing += found.missing(options.runs[0], first)
        outcome = found.outcome(scratch)
        if outcome is not None and (old is None or _replaces(row_of(outcome), old)):
            outcomes.append(outcome)
            replaced.add(names)
    kept = [row for row in before if row.key not in replaced]
    if not outcomes and not kept:
        console.print(f"[bold]{name}[/]: no cell")
        return
    _, figures = write_report(name, result, outcomes, options.out, kept, missing)
    console.print(
        f"[bold]{name}[/]: {len(outcomes)} of {len(cells)} cells from runs, {len(kept)} rows kept, "
        f"{len(figures)} figures"
    )
    for line in missing:
        console.print(f"  {line}", markup=False)


def _replaces(new: ResultRow, old: ResultRow) -> bool:
    """Return whether a run takes the place of a row: not if it has fewer seeds."""
    return len(new.seeds) >= len(old.seeds)
