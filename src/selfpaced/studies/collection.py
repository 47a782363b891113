"""Collect the cells of a result from run folders, wherever and in how many parts they were run.

A run is taken if it is finished, has the settings of the cell, and was trained by committed code of
one edition of results, which is that of now. Everything else is named with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from selfpaced.errors import SelfpacedError, require
from selfpaced.runs.folder import RunFolder, folder_name
from selfpaced.runs.revision import edition_of, is_committed, known_edition
from selfpaced.studies.comparison import Cell, Outcome, read_outcome
from selfpaced.studies.merging import merge_runs
from selfpaced.studies.repetition import train_commands


@dataclass(frozen=True)
class Collected:
    """The runs of a planned cell."""

    cell: Cell
    parts: tuple[RunFolder, ...]  # that count, ordered by their seeds
    rejected: tuple[str, ...]  # what does not count, and why
    unfinished: tuple[int, ...] = ()  # seeds of runs that only have to be resumed

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that count: of finished runs, and not failed."""
        return tuple(seed for part in self.parts for seed in part.counted_seeds())

    def outcome(self, scratch: Path) -> Outcome | None:
        """Return the outcome of all parts; they are merged in a new folder if there are several."""
        if not self.seeds:
            return None
        folder = self.parts[0]
        if len(self.parts) > 1:
            name = folder_name(self.cell.experiment.problem_name, self.cell.path.name)
            folder = merge_runs(self.parts, scratch / name)
        cell = replace(self.cell, experiment=folder.experiment(), path=folder.path)
        return read_outcome(cell)

    def missing(self, out: Path, first: int = 1) -> list[str]:
        """Return lines about seeds that are missing, with the commands that add them.

        Args:
            out: folder for new runs.
            first: the first seed if no run counts.
        """
        wanted = len(self.cell.experiment.seeds)
        if len(self.seeds) >= wanted:
            return []
        experiment = self.cell.experiment
        names = f"{experiment.problem_name}, {self.cell.teacher}, {self.cell.learner}"
        lines = [f"{names}: {len(self.seeds)} of {wanted} seeds", *self.rejected]
        known = (*self.seeds, *self.unfinished)
        num = wanted - len(known)
        if num <= 0:
            return lines
        start = max(known) + 1 if known else first
        added = replace(experiment, seeds=tuple(range(start, start + num)))
        name = folder_name(self.cell.path.name, f"{start}-{start + num - 1}")
        return lines + train_commands(added, str(out / experiment.problem_name / name))


def collect(cells: Sequence[Cell], runs: Sequence[RunFolder]) -> list[Collected]:
    """Return the runs of every cell; seeds of a run need not be those of the cell.

    Raises:
        SelfpacedError: two runs that count have a seed in common.
    """
    descriptions = [(run, _names(run)) for run in runs]
    return [
        _collect(cell, [run for run, names in descriptions if names == _cell_names(cell)])
        for cell in cells
    ]


def _collect(cell: Cell, runs: Sequence[RunFolder]) -> Collected:
    verdicts = [(run, _objection(cell, run)) for run in runs]
    fitting = [run for run, objection in verdicts if objection is None]
    parts = [run for run in fitting if run.is_finished]
    unfinished = [run for run in fitting if not run.is_finished]
    for place, part in enumerate(parts):
        for other in parts[:place]:
            both = {*part.experiment().seeds} & {*other.experiment().seeds}
            require(
                not both,
                f"seeds of a cell must be different, got {min(both, default=0)} in {other.path} "
                f"and in {part.path}; move one of them away",
            )
    parts.sort(key=lambda run: run.experiment().seeds)
    rejected = [objection for _, objection in verdicts if objection is not None]
    rejected += [
        f"{run.path} is at {run.iteration()} of {cell.experiment.iterations} iterations: "
        f"`selfpaced resume {run.path}`"
        for run in unfinished
    ]
    coming = [seed for run in unfinished for seed in run.experiment().seeds]
    return Collected(cell, tuple(parts), tuple(rejected), tuple(coming))


def _objection(cell: Cell, run: RunFolder) -> str | None:
    """Return why a run cannot count; None if it does, or will when it is finished."""
    try:
        return next(_objections(cell, run), None)
    except SelfpacedError as error:
        return str(error)


def _objections(cell: Cell, run: RunFolder) -> Iterator[str]:
    experiment = run.experiment()
    if replace(experiment, seeds=cell.experiment.seeds) != cell.experiment:
        yield f"{run.path} has other settings"
    codes = run.description().get("code", [])
    edition = known_edition(codes)
    if edition is None:
        yield f"{run.path} has no single edition of results; run it again"
    elif edition != (now := edition_of(experiment)):
        changed = ", ".join(
            f"{name} {edition.get(name)}, now {now[name]}"
            for name in now
            if edition.get(name) != now[name]
        )
        yield f"{run.path} has another edition of results ({changed}); run it again"
    if not all(is_committed(code["revision"]) for code in codes):
        yield f"{run.path} was trained by changes that are not committed; run it again"


def _names(run: RunFolder) -> tuple[str, str, str] | None:
    try:
        experiment = run.experiment()
    except SelfpacedError:  # of another library or version
        return None
    return experiment.problem_name, experiment.teacher_name, experiment.learner_name


def _cell_names(cell: Cell) -> tuple[str, str, str]:
    return cell.experiment.problem_name, cell.teacher, cell.learner
