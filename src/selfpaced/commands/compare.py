"""The command `selfpaced compare`."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from rich.console import Console

from selfpaced.commands.options import (
    NO_LOGS,
    PAPER_REPETITIONS,
    THIS_COMPUTER,
    EngineFlags,
    LogFlags,
    ProblemName,
    RepetitionFlags,
    StudyOptions,
    default_folder,
    parse_with_problem,
    split_names,
)
from selfpaced.commands.part_settings import GridFlags, parse_grid, split_grid, with_changes
from selfpaced.commands.progress import Progress, announcer
from selfpaced.commands.tables import show_comparison
from selfpaced.errors import InterruptedRunError, SelfpacedError, require
from selfpaced.experiment import DEFAULT_LEARNER
from selfpaced.registry import TEACHERS
from selfpaced.reports.comparison_figures import draw_comparison
from selfpaced.reports.comparison_tables import (
    Row,
    compare_pairs,
    describe,
    tabulate,
    write_tables,
)
from selfpaced.reports.curricula import draw_contexts_together
from selfpaced.reports.style import save
from selfpaced.runs.folder import folder_name
from selfpaced.studies.comparison import (
    Cell,
    Outcome,
    plan_cells,
    read_outcomes,
    require_outcomes,
    run_cells,
)
from selfpaced.studies.search import combinations


@dataclass(frozen=True)
class Options(StudyOptions):
    """Train every teacher with every learner on a problem, and compare the results.

    Every cell has the paper's settings; finished cells are not run again. Settings are given as
    flags `--teacher.NAME`, `--learner.NAME` and `--environment.NAME`, which `selfpaced train
    PROBLEM --teacher TEACHER --help` lists, and apply to every cell that has them:
    `--teacher.zeta 1.2`. Several values of a setting make several cells: `--grid
    teacher.zeta=0.5,1,2`; `selfpaced search` ranks them and keeps the best.
    """

    problem: ProblemName
    teachers: str = ",".join(TEACHERS)
    """names of teachers (or module:Class), separated by commas"""
    learners: str = DEFAULT_LEARNER
    """names of learners (or module:Class), separated by commas"""
    grid: GridFlags = ()
    """values of a setting to compare, for example teacher.zeta=0.5,1,2, in every cell that has it;
    repeat it for more settings"""
    repetitions: RepetitionFlags = PAPER_REPETITIONS
    engine: EngineFlags = THIS_COMPUTER
    logs: LogFlags = NO_LOGS
    out: Path | None = None
    """folder of the comparison; None is runs/compare-PROBLEM"""
    threshold: float | None = None
    """also report the number of iterations until the return reaches this value"""

    def __post_init__(self) -> None:
        require(
            self.threshold is None or isfinite(self.threshold),
            f"threshold must be finite, got {self.threshold}",
        )

    @property
    def folder(self) -> Path:
        """The folder of all results."""
        return self.out or default_folder("compare", self.problem)

    def cells(self) -> list[Cell]:
        """Return the experiments to run."""
        cells = plan_cells(
            self.problem,
            split_names(self.teachers),
            split_names(self.learners),
            self.repetitions.all_seeds,
            self.folder,
            self.preset,
        )
        changed = with_changes("compare", [cell.experiment for cell in cells], self)
        texts = split_grid(changed, self.grid)
        return self.with_start(
            [
                each
                for cell, experiment, own in zip(cells, changed, texts, strict=True)
                for each in self._combinations(
                    dataclasses.replace(cell, experiment=experiment), own
                )
            ]
        )

    def _combinations(self, cell: Cell, texts: Sequence[str]) -> Iterator[Cell]:
        """Give the cell itself, or one for each combination of a grid, marked by its values."""
        if not texts:
            yield cell
            return
        grid = parse_grid("compare", cell.experiment, texts)
        for name, experiment in combinations(cell.experiment, grid):
            variant = f"{experiment.variant} {name}"
            marked = dataclasses.replace(experiment, variant=variant)
            path = self.folder / folder_name(f"{cell.path.name}-{name}")
            yield Cell(marked.teacher_name, cell.learner, marked, path)

    def command(self) -> str:
        """Return the command with all defaults written out, which may change later."""
        words = ["selfpaced", "compare", self.problem, "--teachers", self.teachers]
        words += ["--learners", self.learners, "--seeds", str(self.repetitions.seeds)]
        words += ["--first-seed", str(self.repetitions.first_seed)]
        words += self.budget.words
        words += [word for setting in self.settings for word in setting]
        words += [word for text in self.grid for word in ("--grid", text)]
        if self.threshold is not None:
            words += ["--threshold", str(self.threshold)]
        if self.preset:
            words += ["--preset", *map(str, self.preset)]
        if self.start_from is not None:
            words += ["--start-from", str(self.start_from)]
        return shlex.join([*words, "--out", str(self.folder)])


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse_with_problem("compare", Options, arguments)
    cells, console = options.cells(), Console(emoji=False)
    workers = options.repetitions.workers
    try:
        run_cells(
            cells,
            workers,
            Progress(console),
            announcer(console, len(cells)),
            options.engine.make(),
            options.logs.make(),
            options.overwrite,
        )
    except (InterruptedRunError, SelfpacedError):
        with suppress(SelfpacedError):  # the first error is the one to report
            if outcomes := read_outcomes(cells):
                _write_report(options, cells, outcomes)
        raise
    rows, paths = _write_report(options, cells, require_outcomes(cells))
    show_comparison(console, rows)
    names = ", ".join(str(path.relative_to(options.folder)) for path in paths)
    print(f"in {options.folder}: {names}")  # paths unwrapped


def _write_report(
    options: Options, cells: Sequence[Cell], outcomes: Sequence[Outcome]
) -> tuple[list[Row], list[Path]]:
    """Write tables and figures of the finished cells."""
    rows, improvements = tabulate(outcomes, options.threshold), compare_pairs(outcomes)
    text = describe(cells, outcomes, rows, options.command())
    paths = write_tables(options.folder, rows, improvements, text)
    figures = options.folder / "figures"
    paths += draw_comparison(outcomes, rows, improvements, figures)
    contexts = draw_contexts_together([outcome.cell.folder for outcome in outcomes])
    return rows, [*paths, save(contexts, figures / "contexts.png")]
