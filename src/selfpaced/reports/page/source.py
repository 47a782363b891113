"""What the page shows of a run: read without writing, as far as its files go.

Everything here is a stranger's data. A file that is missing, damaged or unfinished leaves a gap
and a note, and the rest is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.reports.names import name_learner, name_teacher
from selfpaced.runs.checkpoint import mark_of
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.history import History, join_parts, parse_payload
from selfpaced.runs.history_log import read_frames
from selfpaced.runs.kept import PREFIX, final_values
from selfpaced.runs.storage import Notes

MAX_RUNS = 60  # on one page

Columns = dict[str, Array]
T = TypeVar("T")


@dataclass(frozen=True)
class ContextBox:
    """The context space as `experiment.json` describes it, without the code of the problem."""

    labels: tuple[str, ...]
    lower: Array  # [C]
    upper: Array  # [C]
    target: Array  # [N, C]: the mean of a Gaussian, or draws
    target_cholesky: Array | None  # [C, C]
    is_log: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.labels)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every pair of components; one component is paired with itself."""
        pairs = [(i, j) for i in range(self.size) for j in range(i + 1, self.size)]
        return pairs or [(0, 0)]

    def to_unit(self, contexts: Array) -> Array:
        """Return contexts [..., C] with the box scaled to [0, 1]."""

        def scaled(values: Array) -> Array:
            return np.where(self.is_log, np.log(np.maximum(values, 1e-30)), values)

        lower, upper = scaled(self.lower), scaled(self.upper)
        unit: Array = (scaled(contexts) - lower) / (upper - lower)
        return unit


@dataclass(frozen=True)
class RunData:
    """One run, read from its folder."""

    folder: RunFolder
    problem: str
    teacher: str
    learner: str
    seeds: tuple[int, ...]
    planned: int  # iterations
    steps_per_iteration: int
    description: Notes
    name: str = ""
    place: int = 0  # among the runs of the page, which gives it its colour
    experiment: Experiment | None = None  # None: its code cannot be used here
    summary: Notes = field(default_factory=dict)
    failures: tuple[Notes, ...] = ()
    evaluations: Columns = field(default_factory=dict)
    metrics: Columns = field(default_factory=dict)
    contexts: Columns = field(default_factory=dict)
    box: ContextBox | None = None
    advice: tuple[Notes, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether the last iteration has been exported."""
        return bool(self.summary.get("finished"))

    @property
    def iterations(self) -> Array:
        """The evaluated iterations [E]."""
        return self.evaluations.get("iteration", np.zeros(0, int))

    @property
    def counted(self) -> Array:
        """Whether each seed [S] counts: those that failed do not."""
        failed = {failure["seed"] for failure in self.failures}
        return np.array([seed not in failed for seed in self.seeds])

    @property
    def counted_seeds(self) -> tuple[int, ...]:
        """The seeds that have not failed."""
        return tuple(np.array(self.seeds)[self.counted].tolist())

    def curve(self, column: str) -> Array:
        """Return a column of the evaluations [E, S] of the seeds that count, NaN where unknown."""
        known = self.evaluations.get(column)
        shape = (len(self.iterations), len(self.counted_seeds))
        return np.full(shape, np.nan) if known is None else known[:, self.counted]

    @property
    def last(self) -> int | None:
        """The row of the last evaluation with a finite return of every seed that counts."""
        returns = self.curve("return")
        whole: Array = np.flatnonzero(np.isfinite(returns).all(axis=1) & (returns.shape[1] > 0))
        return int(whole[-1]) if len(whole) else None

    def final(self, column: str) -> Array:
        """Return finite values [S] of the last evaluation of every seed; none if there is none.

        They are those of the policies that were kept, if the run keeps the best ones.
        """
        values = np.zeros(0)
        if self.last is not None:
            rows = {name: self.curve(name)[: self.last + 1] for name in (column, PREFIX + column)}
            values = final_values(rows, column)
        finite: Array = values[np.isfinite(values)]
        return finite

    def wall_seconds(self) -> Array:
        """Return the seconds of training [E] at every evaluation, those of the slowest seed."""
        seconds = self.metrics.get("time/training_seconds")
        if seconds is None or not np.isfinite(seconds).any():
            return np.full(len(self.iterations), np.nan)
        slowest = np.nanmax(np.where(np.isfinite(seconds), seconds, -np.inf), axis=1)
        known = np.isfinite(slowest)
        x = np.concatenate([[0.0], self.metrics["iteration"][known]])
        return np.interp(self.iterations, x, np.concatenate([[0.0], slowest[known]]))


def find_runs(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the run folders at or below the given folders, and notes on the others."""
    found: list[Path] = []
    notes: list[str] = []
    for path in paths:
        below = _runs_below(path)
        if (path / "experiment.json").exists():
            found.append(path)
        elif below:
            found += below
        else:
            reason = "holds no run" if path.is_dir() else "is no folder"
            notes.append(f"{path} {reason}; it is left out")
    unique = list({path.resolve(): path for path in found}.values())
    if len(unique) > MAX_RUNS:
        notes.append(f"{len(unique) - MAX_RUNS} runs beyond the first {MAX_RUNS} are left out")
    return unique[:MAX_RUNS], notes


def _runs_below(path: Path) -> list[Path]:
    """Runs in a folder and in comparisons in it, without those that are just being replaced."""
    files = [file for depth in ("*", "*/*") for file in path.glob(f"{depth}/experiment.json")]
    folders = [file.parent for file in files]
    return sorted(
        folder
        for folder in folders
        if not any(part.startswith(".") for part in folder.relative_to(path).parts)
    )


def read_runs(paths: Sequence[Path], trust: bool = False) -> tuple[list[RunData], list[str]]:
    """Read all runs at or below some folders; return them, and notes on what cannot be shown."""
    folders, notes = find_runs(paths)
    runs = []
    for path in folders:
        try:
            runs.append(read_run(RunFolder(path, trust)))
        except SelfpacedError as error:
            notes.append(f"{path} is left out: {error}")
    return _named(runs), notes


def read_run(folder: RunFolder) -> RunData:
    """Read one run.

    Raises:
        SelfpacedError: `experiment.json` is missing or damaged, without which nothing is known.
    """
    description = folder.description()
    plain = description["experiment"]
    gaps = Gaps(folder.path)
    seeds = gaps.attempt(lambda: tuple(int(seed) for seed in plain["seeds"])) or ()
    require(len(seeds) > 0, f"seeds in {folder.path / 'experiment.json'} must be whole numbers")
    experiment = gaps.attempt(folder.experiment)
    has_summary = (folder.path / "summary.json").exists()
    summary = (gaps.attempt(folder.summary) if has_summary else None) or {}
    tables, failures = _tables(folder, seeds, summary, gaps)
    checked = {name: _checked(name, tables.get(name, {}), len(seeds), gaps) for name in _TABLES}
    return RunData(
        folder,
        problem=_problem_name(plain),
        teacher=_teacher_name(plain, experiment),
        learner=_learner_name(plain, experiment),
        seeds=seeds,
        planned=gaps.attempt(lambda: int(plain["iterations"])) or 0,
        steps_per_iteration=gaps.attempt(lambda: int(plain["steps_per_iteration"])) or 0,
        description=description,
        experiment=experiment,
        summary=summary,
        failures=tuple(each for each in failures if each.get("seed") in seeds),
        evaluations=checked["evaluations"],
        metrics=checked["metrics"],
        contexts=checked["contexts"],
        box=gaps.attempt(lambda: _box(description, experiment)),
        advice=tuple(gaps.attempt(lambda: _advice(folder)) or ()),
        missing=tuple(dict.fromkeys(gaps.texts)),
    )


class Gaps:
    """Collects what is missing while a run is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: list[str] = []

    def attempt(self, read: Callable[[], T]) -> T | None:
        """Return what a function reads; None, and a note, if it cannot."""
        try:
            return read()
        except (SelfpacedError, OSError) as error:
            self.texts.append(str(error))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            self.texts.append(f"{self.path}: {type(error).__name__}: {error}")
        return None


_TABLES = History._fields


def _tables(
    folder: RunFolder, seeds: tuple[int, ...], summary: Notes, gaps: Gaps
) -> tuple[dict[str, Columns], list[Notes]]:
    """The tables of a finished run, or what the checkpoints of an unfinished one hold so far."""
    if not summary.get("finished"):
        saved = gaps.attempt(lambda: _saved_tables(folder, seeds))
        if saved is not None:
            return saved
        if not summary:
            return {}, []
    readers: dict[str, Callable[[], Columns]] = {
        "evaluations": lambda: folder.table("evaluations.csv", seeds),
        "metrics": lambda: folder.table("metrics.csv", seeds),
        "contexts": folder.contexts,
    }
    tables = {name: gaps.attempt(read) or {} for name, read in readers.items()}
    return tables, list(summary.get("failed_seeds", ()))


def _saved_tables(
    folder: RunFolder, seeds: tuple[int, ...]
) -> tuple[dict[str, Columns], list[Notes]]:
    """Read the record up to the newest checkpoints; no file is written."""
    parts, failures = [], []
    for files in folder.files():
        notes = files.notes()
        if notes is None:
            continue
        frames = read_frames(files.history, mark_of(notes))
        parts += [parse_payload(frame) for frame in frames]
        failures += [one.notes["failure"] for one in files.failures()]
    require(len(parts) > 0, f"{folder.path} has no saved iteration yet")
    return {name: join_parts(parts, name, seeds) for name in _TABLES}, failures


def _checked(name: str, columns: Columns, num_seeds: int, gaps: Gaps) -> Columns:
    """Leave out columns of another shape."""
    if not columns or "iteration" not in columns:
        return {}
    num = len(columns["iteration"])
    fits = {
        key: column
        for key, column in columns.items()
        if key == "iteration"
        or (column.dtype.kind in "fiub" and column.shape[:2] == (num, num_seeds))
    }
    if lost := sorted(columns.keys() - fits.keys() - {"seeds"}):
        gaps.texts.append(f"columns {', '.join(lost)} of {name} have an unexpected shape")
    return fits if num else {}


def _advice(folder: RunFolder) -> list[Notes]:
    return [note for note in folder.advice() if isinstance(note, dict)]


def _box(description: Notes, experiment: Experiment | None) -> ContextBox:
    space: ContextSpace | None = None if experiment is None else experiment.resolved.contexts
    plain = description["contexts"]
    target = plain["target"]
    lower, upper = np.array(plain["lower"], float), np.array(plain["upper"], float)
    if "cholesky" in target:
        centre, cholesky = np.array(target["mean"], float)[None], np.array(target["cholesky"])
    else:
        centre, cholesky = np.array(target["samples"], float), None
    size = len(plain["names"])
    if not lower.shape == upper.shape == centre.shape[1:] == (size,) or not (lower < upper).all():
        raise ValueError("the description of the contexts is inconsistent")
    names = tuple(str(name).replace("_", " ") for name in plain["names"])
    labels, scales = names, ("linear",) * size
    if space is not None and space.size == size:
        labels, scales = space.labels, space.scales or scales
    is_log = tuple(scale == "log" for scale in scales)
    return ContextBox(labels, lower, upper, np.clip(centre, lower, upper), cholesky, is_log)


def _problem_name(plain: Notes) -> str:
    problem = plain.get("problem", "unknown problem")
    return str(problem.get("file", "file")) if isinstance(problem, dict) else str(problem)


def _part_name(plain: Notes, role: str) -> str:
    part: Any = plain.get(role)
    return str(part.get("name", "unknown")) if isinstance(part, dict) else "unknown"


def _teacher_name(plain: Notes, experiment: Experiment | None) -> str:
    if experiment is not None:
        return name_teacher(experiment)
    return _part_name(plain, "teacher").rpartition(":")[2] + str(plain.get("variant", ""))


def _learner_name(plain: Notes, experiment: Experiment | None) -> str:
    if experiment is not None:
        return name_learner(experiment)
    return _part_name(plain, "learner").rpartition(":")[2]


def _named(runs: list[RunData]) -> list[RunData]:
    """Give every run the shortest name that tells it from the others."""
    names = [f"{run.teacher} + {run.learner}" for run in runs]
    if len({run.problem for run in runs}) > 1:
        names = [f"{run.problem}: {name}" for run, name in zip(runs, names, strict=True)]
    for place in ([run.folder.path.name for run in runs], [str(run.folder.path) for run in runs]):
        names = [
            f"{name.partition(' (')[0]} ({which})" if names.count(name) > 1 else name
            for name, which in zip(names, place, strict=True)
        ]
    return [
        replace(run, name=name, place=place)
        for place, (run, name) in enumerate(zip(runs, names, strict=True))
    ]


def finite(value: object) -> float:
    """Return a number, NaN for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else math.nan  # type: ignore[arg-type]
