"""The command `selfpaced resume`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from selfpaced.commands.options import parse
from selfpaced.commands.progress import Progress
from selfpaced.commands.tables import show_run
from selfpaced.runs.supervisor import resume


@dataclass(frozen=True)
class Options:
    """Continue a run that was stopped or killed; the results are bit-identical."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """run folder"""


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("resume", Options, arguments)
    console = Console(emoji=False)
    show_run(console, resume(options.run, Progress(console)))
