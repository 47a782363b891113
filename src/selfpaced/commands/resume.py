"""The command `selfpaced resume`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from selfpaced.commands.options import NO_LOGS, THIS_COMPUTER, EngineFlags, LogFlags, parse
from selfpaced.commands.progress import Progress
from selfpaced.commands.tables import show_run
from selfpaced.runs.supervisor import resume
from selfpaced.validation import require_positive


@dataclass(frozen=True)
class Options:
    """Continue a run that was stopped or killed, or extend it; the results are bit-identical."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """run folder"""
    iterations: int | None = None
    """extend the run to this number of iterations, finished or not"""
    retry_failed: bool = False
    """try seeds that failed again, from where they failed"""

    engine: EngineFlags = THIS_COMPUTER
    logs: LogFlags = NO_LOGS

    def __post_init__(self) -> None:
        require_positive(self, "iterations", none_allowed=True)


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("resume", Options, arguments)
    console = Console(emoji=False)
    run = resume(
        options.run,
        Progress(console),
        options.iterations,
        options.retry_failed,
        options.engine.make(),
        options.logs.make(),
    )
    show_run(console, run)
