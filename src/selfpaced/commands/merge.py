"""The command `selfpaced merge`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from selfpaced.commands.options import parse
from selfpaced.commands.tables import show_run
from selfpaced.errors import require
from selfpaced.runs.folder import RunFolder
from selfpaced.studies.merging import merge_runs


@dataclass(frozen=True)
class Options:
    """Merge finished runs that differ in their seeds only into one run folder."""

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="RUN RUN [RUN ...]", help_behavior_hint="(required)"),
    ]
    """run folders"""
    out: Path | None = None
    """folder of the merged run (required)"""
    trust: bool = False
    """import the modules that the folders name: only if you would run their author's code"""


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("merge", Options, arguments)
    require(options.out is not None, "--out must name a new folder for the merged run, got none")
    assert options.out is not None
    folder = merge_runs([RunFolder(path, options.trust) for path in options.runs], options.out)
    show_run(Console(emoji=False), folder)
