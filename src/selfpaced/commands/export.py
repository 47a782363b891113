"""The command `selfpaced export`: the tables of several runs as Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from selfpaced.commands.options import parse
from selfpaced.errors import require
from selfpaced.studies.dataset import runs_in, write_dataset


@dataclass(frozen=True)
class Options:
    """Write all tables of several runs or a comparison as Parquet files."""

    folders: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="DIR [DIR ...]", help_behavior_hint="(required)"),
    ]
    """run folders, or folders of run folders such as a comparison"""
    out: Path = Path("parquet")
    """folder of the files runs, metrics, evaluations and contexts"""


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("export", Options, arguments)
    require(
        len(options.folders) > 0,
        "DIR must be at least one folder, got none; for example "
        "`selfpaced export runs/compare-point-mass-3d`",
    )
    for path in write_dataset(runs_in(options.folders), options.out):
        print(f"{path} ({path.stat().st_size / 1e6:.2f} MB)")
