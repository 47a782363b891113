"""The command `selfpaced compare`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from selfpaced.commands.progress import Progress, announcer
from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import seeds_from
from selfpaced.presets.files import require_use
from selfpaced.presets.neurips2020 import NUM_SEEDS
from selfpaced.reports.comparison_figures import draw_comparison
from selfpaced.reports.comparison_tables import (
    Row,
    compare_pairs,
    describe,
    format_interval,
    format_p_value,
    format_return,
    tabulate,
    warn_of_few_seeds,
    write_tables,
)
from selfpaced.runs.folder import folder_name
from selfpaced.runs.supervisor import InterruptedRunError
from selfpaced.studies.comparison import Cell, plan_cells, read_outcomes, run_cells, split_names
from selfpaced.teachers import TEACHERS
from selfpaced.validation import require_positive


@dataclass(frozen=True)
class CompareOptions:
    """Every teacher with every learner, each with the paper's settings; finished cells are kept."""

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """what to learn (see `selfpaced list`), or your own as module:PROBLEM"""
    teachers: str = ",".join(name for name in TEACHERS if name != "sprl")
    """who chooses the contexts, names (or module:Class) with commas between them"""
    learners: str = "ppo"
    """who improves the policy, names (or module:Class) with commas between them"""
    seeds: int = NUM_SEEDS
    """how many seeds of each"""
    first_seed: int = 1
    """the first seed; the others follow"""
    iterations: int | None = None
    """how long to train; None: as in the paper"""
    workers: int | None = None
    """processes; None: one per core"""
    preset: tuple[Path, ...] = ()
    """files with other settings than the paper's, as `selfpaced search` writes them"""
    out: Path | None = None
    """folder of the comparison; None: runs/compare-PROBLEM"""
    threshold: float | None = None
    """also tell how long it took to reach this return"""

    def __post_init__(self) -> None:
        require_positive(self, "seeds")
        require_positive(self, "workers", "iterations", none_allowed=True)
        require(
            self.threshold is None or isfinite(self.threshold),
            f"threshold must be a number, got {self.threshold}",
        )

    @property
    def folder(self) -> Path:
        """Where everything goes."""
        return self.out or Path("runs") / folder_name("compare", self.problem)

    def cells(self) -> list[Cell]:
        """What is to be run."""
        seeds = seeds_from(self.first_seed, self.seeds)
        teachers, learners = split_names(self.teachers), split_names(self.learners)
        cells = plan_cells(
            self.problem, teachers, learners, seeds, self.folder, self.iterations, self.preset
        )
        for path in self.preset:
            require_use(path, [cell.experiment for cell in cells])
        return cells

    def command(self) -> str:
        """The command that does the same tomorrow, when there may be more teachers by default."""
        words = ["selfpaced", "compare", self.problem, "--teachers", self.teachers]
        words += ["--learners", self.learners, "--seeds", str(self.seeds)]
        words += ["--first-seed", str(self.first_seed)]
        for flag, value in (("--iterations", self.iterations), ("--threshold", self.threshold)):
            words += [] if value is None else [flag, str(value)]
        if self.preset:
            words += ["--preset", *map(str, self.preset)]
        return shlex.join([*words, "--out", str(self.folder)])


def compare_command(arguments: list[str]) -> None:
    """Train every teacher with every learner on a problem, and compare what came of it."""
    options = tyro.cli(
        CompareOptions,
        args=arguments,
        prog="selfpaced compare",
        description=compare_command.__doc__,
    )
    cells, console = options.cells(), Console(emoji=False)

    try:
        run_cells(cells, options.workers, Progress(console), announcer(console, len(cells)))
    except (InterruptedRunError, SelfpacedError):
        with suppress(SelfpacedError):  # what stopped us is more important
            _report(options, cells)
        raise
    rows, paths = _report(options, cells)
    _show_outcome(console, rows)
    names = ", ".join(str(path.relative_to(options.folder)) for path in paths)
    print(f"in {options.folder}: {names}")  # paths as they are


def _report(options: CompareOptions, cells: Sequence[Cell]) -> tuple[list[Row], list[Path]]:
    """Tables and figures of the cells that are finished."""
    outcomes = read_outcomes(cells)
    if not outcomes:
        return [], []
    rows, improvements = tabulate(outcomes, options.threshold), compare_pairs(outcomes)
    text = describe(cells, outcomes, rows, options.command())
    paths = write_tables(options.folder, rows, improvements, text)
    return rows, paths + draw_comparison(outcomes, rows, improvements, options.folder / "figures")


def _show_outcome(console: Console, rows: Sequence[Row]) -> None:
    table = Table(title=f"{rows[0].problem}: on the target after the last iteration")
    for column in ("teacher", "learner", "return", "interquartile mean", "success", "p"):
        table.add_column(column, justify="left" if column in ("teacher", "learner") else "right")
    for row in rows:
        table.add_row(
            row.teacher,
            row.learner,
            format_return(row) + (" ★" if row.significantly_best else ""),
            format_interval(row).replace("[", r"\["),
            f"{row.success_rate:.0%}",
            format_p_value(row.p_value_against_best),
            style="bold" if row.best else None,
            end_section=row is rows[-1] or row.learner != rows[rows.index(row) + 1].learner,
        )
    console.print(table)
    console.print(
        "bold: best with this learner · ★ better than every other, p < 1 % · p: against the best, "
        "Welch's t-test",
        highlight=False,
        soft_wrap=True,
    )
    if warning := warn_of_few_seeds(rows):
        console.print(f"[yellow]warning:[/] {warning}", highlight=False, soft_wrap=True)
