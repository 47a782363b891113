"""`metrics.csv` and `evaluations.csv` while a run goes on: rows are appended as they are saved.

Rows of different blocks interleave, each in one piece: a reader never finds half a row unless it
reads while the row is written. A file is replaced only if a new column appears, and at the end by
the sorted table of the export, which has a checksum.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import final

from selfpaced.runs.folder import TABLES, RunFolder
from selfpaced.runs.locks import export_lock
from selfpaced.runs.logger import Row
from selfpaced.runs.manifest import forget_checksums
from selfpaced.runs.storage import csv_bytes, write_bytes

Cells = tuple[int, int, dict[str, float]]  # iteration, seed, values


@final
class GrowingTables:
    """The logger that keeps the tables of a run folder up to date."""

    def start(self, run: RunFolder) -> None:
        """Begin both tables anew; what they have held before comes again as rows."""
        with export_lock(run.path):
            forget_checksums(run.path, TABLES)
        self._metrics = GrowingTable(run.path / "metrics.csv")
        self._evaluations = GrowingTable(run.path / "evaluations.csv")

    def log(self, rows: Sequence[Row]) -> None:
        """Append rows to the tables that they belong to."""
        self._metrics.append([(row.iteration, row.seed, row.metrics) for row in rows])
        self._evaluations.append([(row.iteration, row.seed, row.evaluation) for row in rows])

    def finish(self, run: RunFolder) -> None:
        """Leave the tables to the export."""


@final
class GrowingTable:
    """A file of comma-separated values; the first rows replace what it has held before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: list[str] = []

    def append(self, rows: Iterable[Cells]) -> None:
        """Append the rows that have values."""
        rows = [row for row in rows if row[2]]
        names = sorted(set(self._names).union(*(values for _, _, values in rows)))
        nan = float("nan")
        lines = csv_bytes(
            ["iteration", "seed", *names],
            (
                [iteration, seed, *(values.get(name, nan) for name in names)]
                for iteration, seed, values in rows
            ),
        )
        if not rows:
            return
        if names == self._names:
            with open(self.path, "ab") as file:
                file.write(lines.partition(b"\n")[2])
        else:
            write_bytes(self.path, self._widened(names, lines))
            self._names = names

    def _widened(self, names: list[str], lines: bytes) -> bytes:
        """The rows so far with empty cells for the new columns, and new lines behind them."""
        if not self._names:
            return lines
        text = io.StringIO()
        header, _, new = lines.decode().partition("\n")
        writer = csv.DictWriter(text, header.split(","), restval="", lineterminator="\n")
        writer.writeheader()
        with open(self.path, newline="") as file:
            writer.writerows(csv.DictReader(file))
        return (text.getvalue() + new).encode()
