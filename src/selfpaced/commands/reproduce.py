"""The command `selfpaced reproduce`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markdown import Markdown

from selfpaced.commands.options import (
    NO_LOGS,
    PAPER_REPETITIONS,
    THIS_COMPUTER,
    EngineFlags,
    LogFlags,
    RepetitionFlags,
    parse,
    split_names,
)
from selfpaced.commands.progress import Progress, announcer
from selfpaced.reports.reproduction import write_report
from selfpaced.studies.comparison import Cell, require_outcomes, run_cells
from selfpaced.studies.reproduction import RESULTS, Result, plan_result
from selfpaced.validation import require_choice


@dataclass(frozen=True)
class Options:
    """Reproduce a result of the paper, and show it beside the published one.

    Without RESULT, list all results. Results share their runs, and finished runs are not run again.
    """

    result: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="RESULT")] = None
    """result to reproduce; None lists all results"""
    teachers: str | None = None
    """only these teachers, separated by commas; None takes all of the paper's"""
    repetitions: RepetitionFlags = PAPER_REPETITIONS
    engine: EngineFlags = THIS_COMPUTER
    logs: LogFlags = NO_LOGS
    out: Path = Path("runs/reproduce")
    """folder for runs, tables and figures"""

    def cells(self, result: Result) -> list[Cell]:
        """Return the experiments of a result."""
        teachers = None if self.teachers is None else split_names(self.teachers)
        return plan_result(result, self.repetitions.all_seeds, self.out, teachers)


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("reproduce", Options, arguments)
    console = Console(highlight=False, emoji=False)
    if options.result is None:
        for name, result in RESULTS.items():
            console.print(f"  [bold]{name:<19}[/]{result.summary}", soft_wrap=True)
        return
    require_choice("result", options.result, RESULTS)
    result = RESULTS[options.result]
    cells = options.cells(result)
    workers = options.repetitions.workers
    run_cells(
        cells,
        workers,
        Progress(console),
        announcer(console, len(cells)),
        options.engine.make(),
        options.logs.make(),
    )
    text, figures = write_report(options.result, result, require_outcomes(cells), options.out)
    console.print(Markdown(text))
    print("figures: " + ", ".join(map(str, figures)))  # paths unwrapped
