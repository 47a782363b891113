"""The command `selfpaced search`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from selfpaced.commands.options import (
    NumIterations,
    ProblemName,
    RepetitionFlags,
    Repetitions,
    default_folder,
    parse_with_problem,
)
from selfpaced.commands.progress import Progress, announcer
from selfpaced.commands.tables import show_search
from selfpaced.experiment import DEFAULT_LEARNER, Experiment
from selfpaced.presets.neurips2020 import neurips2020
from selfpaced.studies.comparison import read_outcomes, run_cells
from selfpaced.studies.search import find_grid, plan_search, rank, write_search
from selfpaced.validation import require_positive

_REPETITIONS = Repetitions(seeds=5, first_seed=1001)


@dataclass(frozen=True)
class Options:
    """Search a teacher's settings over the paper's grid, and write the best as a preset.

    Finished combinations are not run again. The seeds differ from those of reported results.
    """

    problem: ProblemName
    teacher: str = "alp-gmm"
    """teacher whose settings to search"""
    learner: str = DEFAULT_LEARNER
    """learner, which improves the policy"""
    repetitions: RepetitionFlags = _REPETITIONS
    iterations: NumIterations = None
    out: Path | None = None
    """folder of the search; None is runs/search-PROBLEM-TEACHER-LEARNER"""

    def __post_init__(self) -> None:
        require_positive(self, "iterations", none_allowed=True)

    @property
    def folder(self) -> Path:
        """The folder of all results."""
        return self.out or default_folder("search", self.problem, self.teacher, self.learner)

    def experiment(self) -> Experiment:
        """Return the paper's experiment, from which every combination deviates."""
        seeds = self.repetitions.all_seeds
        preset = neurips2020(self.problem, self.teacher, self.learner, seeds)
        return dataclasses.replace(preset, iterations=self.iterations or preset.iterations)


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse_with_problem("search", Options, arguments)
    grid = find_grid(options.problem, options.teacher)
    cells, console = plan_search(options.experiment(), options.folder), Console(emoji=False)
    workers = options.repetitions.workers
    run_cells(cells, workers, Progress(console), announcer(console, len(cells)))
    ranked = rank(read_outcomes(cells))
    preset = write_search(options.folder, grid, ranked)
    title = f"{options.problem}: {options.teacher} + {options.learner}"
    show_search(console, title, grid, ranked)
    console.print(
        f"use the best with: selfpaced train {options.problem} --teacher {options.teacher} "
        f"--learner {options.learner} --preset {preset}",
        highlight=False,
        soft_wrap=True,
    )
