"""The rows of a result: one per cell, with the final return of every seed and what it was run by.

Rows are kept in NAME.csv beside the tables, so that a cell stays in the table after its run folder
is gone, until a run of as many seeds replaces it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from selfpaced.errors import require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.runs.revision import edition_of, is_committed, known_edition
from selfpaced.runs.storage import write_csv
from selfpaced.statistics import mean_and_standard_error
from selfpaced.studies.comparison import Outcome

_COLUMNS = (
    *("problem", "teacher", "learner", "seeds", "iterations", "mean", "standard_error"),
    *("success_rate", "wall_seconds", "revision", "edition", "machine", "final_returns"),
)


class ResultRow(NamedTuple):
    """The outcome of a cell; texts are empty where something is not known."""

    problem: str
    teacher: str
    learner: str
    seeds: tuple[int, ...]
    iterations: int
    mean: float
    standard_error: float
    final_returns: Array  # [S]
    success_rate: float
    wall_seconds: float
    revision: str = ""  # all that trained it
    edition: str = ""
    machine: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about."""
        return self.problem, self.teacher, self.learner

    def is_of(self, edition: str) -> bool:
        """Return whether the code that trained it is known, and of an edition."""
        revisions = self.revision.split()
        return bool(revisions) and all(map(is_committed, revisions)) and self.edition == edition


def row_of(outcome: Outcome) -> ResultRow:
    """Return the row of a finished cell."""
    cell, edition = outcome.cell, known_edition(outcome.codes)
    return ResultRow(
        *(cell.experiment.problem_name, cell.teacher, cell.learner),
        tuple(seed for seed in cell.experiment.seeds if seed not in outcome.failed_seeds),
        cell.experiment.iterations,
        *mean_and_standard_error(outcome.final_returns),
        outcome.final_returns,
        outcome.final_success_rate,
        outcome.wall_seconds,
        " ".join(dict.fromkeys(code["revision"] for code in outcome.codes)),
        "" if edition is None else spell_edition(edition),
        outcome.versions.get("processor", ""),
    )


def edition_text(experiment: Experiment) -> str:
    """Return the edition that results of an experiment have now, as in a row."""
    return spell_edition(edition_of(experiment))


def spell_edition(edition: dict[str, int]) -> str:
    """Return an edition as text, as `training 1, point-mass-3d 1, spdl 1, ppo 1`."""
    return ", ".join(f"{name} {number}" for name, number in edition.items())


def write_rows(path: Path, rows: Iterable[ResultRow]) -> None:
    """Write a table of rows."""
    write_csv(path, _COLUMNS, map(_cells, rows))


def read_rows(path: Path) -> list[ResultRow]:
    """Return the rows of a table; none if there is no such file.

    Raises:
        SelfpacedError: it lacks a column.
    """
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        lacking = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        require(
            not lacking,
            f"{path} must have the columns {', '.join(_COLUMNS)}, got no {', '.join(lacking)}; "
            "move it away",
        )
        return [_parse(cells) for cells in reader]


def spell_seeds(seeds: Sequence[int]) -> str:
    """Return seeds as ranges.

    Examples:
        >>> from selfpaced.reports.result_rows import spell_seeds
        >>> spell_seeds((1, 2, 3, 7, 9, 10))
        '1-3 7 9-10'
    """
    breaks = [place + 1 for place, (one, two) in enumerate(pairwise(seeds)) if two != one + 1]
    ranges = [seeds[start:end] for start, end in pairwise([0, *breaks, len(seeds)])]
    return " ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in ranges)


def _seeds(text: str) -> tuple[int, ...]:
    ends = [list(map(int, part.split("-"))) for part in text.split()]
    return tuple(seed for each in ends for seed in range(each[0], each[-1] + 1))


def _cells(row: ResultRow) -> list[object]:
    return [
        *(*row.key, spell_seeds(row.seeds), row.iterations, row.mean, row.standard_error),
        *(row.success_rate, row.wall_seconds, row.revision, row.edition, row.machine),
        " ".join(f"{value:.6g}" for value in row.final_returns),
    ]


def _parse(cells: dict[str, str]) -> ResultRow:
    return ResultRow(
        cells["problem"],
        cells["teacher"],
        cells["learner"],
        _seeds(cells["seeds"]),
        int(cells["iterations"]),
        float(cells["mean"]),
        float(cells["standard_error"] or "nan"),
        np.array(cells["final_returns"].split(), float),
        float(cells["success_rate"] or "nan"),
        float(cells["wall_seconds"] or "nan"),
        cells["revision"],
        cells["edition"],
        cells["machine"],
    )
