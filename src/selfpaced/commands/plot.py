"""The command `selfpaced plot`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from selfpaced.commands.options import parse
from selfpaced.errors import require
from selfpaced.reports.figures import draw_run, draw_together
from selfpaced.runs.export import catch_up
from selfpaced.runs.folder import RunFolder


@dataclass(frozen=True)
class Options:
    """Draw the figures of a run again, or several runs in one figure."""

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="RUN [RUN ...]", help_behavior_hint="(required)"),
    ]
    """run folders"""
    out: Path | None = None
    """folder of the figures; None is RUN/figures, or ./figures for several runs"""
    trust: bool = False
    """import the modules that the folder names: only if you would run its author's code"""


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("plot", Options, arguments)
    require(
        len(options.runs) > 0,
        "RUN must be at least one run folder, got none; for example "
        "`selfpaced plot runs/point-mass-3d-spdl-ppo`",
    )
    folders = [RunFolder(path, options.trust) for path in options.runs]
    for folder in folders:
        catch_up(folder)
    if len(folders) == 1:
        paths = draw_run(folders[0], options.out)
    else:
        paths = draw_together(folders, options.out or Path("figures"))
    for path in paths:
        print(path)
