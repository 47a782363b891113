"""The command `selfpaced dashboard`: the page of runs while they go on."""

from __future__ import annotations

import os
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from selfpaced.commands.options import parse
from selfpaced.errors import require
from selfpaced.reports.page.document import Content
from selfpaced.reports.page.live import LivePage, Server
from selfpaced.reports.page.report import collect

_NICENESS = 10  # training comes first


@dataclass(frozen=True)
class Options:
    """Show runs in a browser while they go on; Ctrl-C ends it.

    The page is served to this computer only, and no file of a run is changed.
    """

    folders: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="DIR [DIR ...]", help_behavior_hint="(required)"),
    ]
    """run folders, or folders of run folders such as a comparison; they may still be empty"""
    port: int = 8484
    """port on this computer; 0 takes any that is free"""
    seconds: float = 5.0
    """time between two looks at the runs"""
    open: bool = False
    """also open the page in the browser"""
    trust: bool = False
    """import the modules that the folders name: only if you would run their author's code"""

    def __post_init__(self) -> None:
        require(0 <= self.port < 2**16, f"port must be from 0 to 65535, got {self.port}")
        require(0.2 <= self.seconds <= 3600, f"seconds must be 0.2 to 3600, got {self.seconds}")


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("dashboard", Options, arguments)
    require(
        len(options.folders) > 0,
        "DIR must be at least one folder, got none; for example `selfpaced dashboard runs`",
    )
    os.nice(_NICENESS)

    def build() -> Content:
        return collect(options.folders, trust=options.trust)

    page = LivePage(options.folders, build, options.seconds)
    page.document()  # or raise now: Plotly is missing
    with Server(page, options.port) as server:
        print(f"{server.url} (Ctrl-C ends it)", flush=True)
        if options.open:
            webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print("stopped")
