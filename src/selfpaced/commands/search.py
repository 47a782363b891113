"""The command `selfpaced search`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from selfpaced.commands.options import (
    NO_LOGS,
    THIS_COMPUTER,
    EngineFlags,
    LogFlags,
    ProblemName,
    RepetitionFlags,
    Repetitions,
    StudyOptions,
    default_folder,
    parse_with_problem,
)
from selfpaced.commands.part_settings import GridFlags, parse_grid, with_changes
from selfpaced.commands.progress import Progress, announcer
from selfpaced.experiment import Experiment
from selfpaced.presets.neurips2020 import published
from selfpaced.statistics import plus_minus
from selfpaced.studies.comparison import require_outcomes, run_cells
from selfpaced.studies.preset_files import require_use, split_presets, with_preset_files
from selfpaced.studies.search import (
    Ranked,
    SearchGrid,
    find_grid,
    plan_search,
    rank,
    write_search,
)

_REPETITIONS = Repetitions(seeds=5, first_seed=1001)
_NUM_SHOWN = 10  # combinations in the terminal


@dataclass(frozen=True)
class Options(StudyOptions):
    """Search settings over a grid, by default the paper's, and write the best as a preset.

    Finished combinations are not run again. The seeds differ from those of reported results.
    Settings that are not searched are given as flags `--teacher.NAME`, `--learner.NAME` and
    `--environment.NAME`, which `selfpaced train PROBLEM --help` lists, for example
    `--learner.hidden 64 64`.
    """

    problem: ProblemName
    teacher: str | None = None
    """teacher whose settings to search; None is that of `selfpaced train`: spdl, or currot if a
    distribution of the problem is not a Gaussian"""
    learner: str | None = None
    """learner, which improves the policy; None is ppo, or episodic with sprl"""
    grid: GridFlags = ()
    """values to try for a setting of teacher or learner, for example teacher.zeta=0.5,1,2; repeat
    it for more settings; without it, the paper's grid of the teacher"""
    repetitions: RepetitionFlags = _REPETITIONS
    engine: EngineFlags = THIS_COMPUTER
    logs: LogFlags = NO_LOGS
    out: Path | None = None
    """folder of the search; None is runs/search-PROBLEM-TEACHER-LEARNER"""

    def experiment(self) -> Experiment:
        """Return the experiment from which every combination deviates."""
        seeds = self.repetitions.all_seeds
        name, files = split_presets(self.problem, self.preset)
        experiment = published(self.problem, self.teacher, self.learner, seeds, name)
        for path in files:
            require_use(path, [experiment])
        [changed] = with_changes("search", [with_preset_files(experiment, files)], self)
        return changed


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse_with_problem("search", Options, arguments)
    experiment, console = options.experiment(), Console(emoji=False)
    has_own = len(options.grid) > 0
    name = split_presets(options.problem, options.preset).name
    grid = (
        parse_grid("search", experiment, options.grid) if has_own else find_grid(experiment, name)
    )
    teacher, learner = experiment.teacher_name, experiment.learner_name
    folder = options.out or default_folder("search", options.problem, teacher, learner)
    cells = options.with_start(plan_search(experiment, folder, grid))
    run_cells(
        cells,
        options.repetitions.workers,
        Progress(console),
        announcer(console, len(cells)),
        options.engine.make(),
        options.logs.make(),
        options.overwrite,
    )
    ranked = rank(require_outcomes(cells))
    preset = write_search(folder, grid, ranked)
    _show(console, f"{options.problem}: {teacher} + {learner}", grid, ranked)
    console.print(
        f"use the best with: selfpaced train {options.problem} --teacher {teacher} "
        f"--learner {learner} --preset {preset}",
        highlight=False,
        soft_wrap=True,
    )


def _show(console: Console, title: str, grid: SearchGrid, ranked: Sequence[Ranked]) -> None:
    """Print the best combinations."""
    table = Table(title=title)
    for column in (*grid, "area under the curve", "final return"):
        table.add_column(column, justify="right")
    for entry in ranked[:_NUM_SHOWN]:
        final = f"{entry.outcome.final_returns.mean():.2f}"
        table.add_row(*entry.values(grid), plus_minus(entry.area, entry.error), final)
    console.print(table)
