"""The command `selfpaced report`: one HTML page about runs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape

from selfpaced.commands.options import parse
from selfpaced.errors import require
from selfpaced.reports.page.report import write_report
from selfpaced.reports.page.source import find_runs


@dataclass(frozen=True)
class Options:
    """Write one HTML page about a run, several runs or a comparison."""

    folders: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="DIR [DIR ...]", help_behavior_hint="(required)"),
    ]
    """run folders, or folders of run folders such as a comparison"""
    out: Path = Path("report.html")
    """the file; it needs no network and no other file"""
    episodes: bool = True
    """run episodes of the final policies, for maps, trajectories and videos"""
    trust: bool = False
    """import the modules that the folders name: only if you would run their author's code"""


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("report", Options, arguments)
    require(
        len(options.folders) > 0,
        "DIR must be at least one folder, got none; for example "
        "`selfpaced report runs/compare-point-mass-3d`",
    )
    console = Console(stderr=True)
    for text in find_runs(options.folders)[1]:
        console.print(f"[yellow]warning:[/] {escape(text)}", highlight=False, soft_wrap=True)
    command = shlex.join(["selfpaced", "report", *arguments])
    path = write_report(options.folders, options.out, command, options.trust, options.episodes)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
