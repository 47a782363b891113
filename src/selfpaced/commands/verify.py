"""The command `selfpaced verify`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape

from selfpaced.commands.options import parse
from selfpaced.errors import require
from selfpaced.runs.verification import Verdict, find_runs, verify

_STYLES: dict[Verdict, str] = {"ok": "green", "unverified": "yellow", "damaged": "bold red"}


@dataclass(frozen=True)
class Options:
    """Check the files of all runs in a folder against their checksums."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """run folder, or a folder of runs such as that of a comparison"""


def main(arguments: list[str]) -> None:
    """Run the command; a damaged file is an error."""
    options = parse("verify", Options, arguments)
    console = Console(highlight=False, emoji=False, soft_wrap=True)
    num_damaged = 0
    for run in find_runs(options.folder):
        findings = verify(run)
        verdicts: list[Verdict] = [finding.verdict for finding in findings]
        counts = ", ".join(
            f"[{style}]{verdicts.count(verdict)} {verdict}[/]"
            for verdict, style in _STYLES.items()
            if verdict in verdicts
        )
        console.print(f"{escape(str(run.path))}: {counts}")
        for finding in findings:
            if finding.verdict == "damaged":
                num_damaged += 1
                console.print(f"  [bold red]damaged[/] {finding.file}: {escape(finding.details)}")
            elif finding.verdict == "unverified":
                console.print(f"  [yellow]unverified[/] {finding.file}: it has no checksum")
    require(not num_damaged, f"{num_damaged} damaged files in {options.folder}, named above")
