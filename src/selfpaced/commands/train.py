"""The command `selfpaced train`: one experiment, with every setting as a flag."""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from selfpaced.commands.progress import Progress
from selfpaced.experiment import Experiment, seeds_from
from selfpaced.presets.files import require_use, with_preset_files
from selfpaced.presets.neurips2020 import NUM_SEEDS, neurips2020
from selfpaced.problems import PROBLEMS
from selfpaced.reports import draw_run
from selfpaced.runs.folder import RunFolder, folder_name
from selfpaced.runs.supervisor import run
from selfpaced.statistics import plus_minus
from selfpaced.training.host import InitialPolicy
from selfpaced.validation import require_positive


@dataclass(frozen=True)
class TrainOptions:
    """Where to run, and what differs from the paper. More flags set the teacher and the learner."""

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """what to learn (see `selfpaced list`), or your own as module:PROBLEM"""
    teacher: str = "spdl"
    """who chooses the contexts, e.g. alp-gmm, the paper's starred variants on ball-catching as
    spdl-star, goal-gan-star and default-star, or your own as module:Class"""
    learner: str | None = None
    """who improves the policy, or your own as module:Class; None: ppo, or episodic with sprl"""
    seeds: int = NUM_SEEDS
    """how many seeds"""
    first_seed: int = 1
    """the first seed; the others follow"""
    preset: Path | None = None
    """file with other settings than the paper's, as `selfpaced search` writes it"""
    out: Path | None = None
    """run folder; None: runs/PROBLEM-TEACHER-LEARNER"""
    workers: int | None = None
    """processes; None: one per core"""
    overwrite: bool = False
    """replace an existing run folder"""

    def __post_init__(self) -> None:
        require_positive(self, "seeds")
        require_positive(self, "workers", none_allowed=True)


def train_command(arguments: list[str]) -> None:
    """Train a learner with a teacher on a problem, several seeds at once."""
    options, experiment = parse_train(arguments)
    names = (experiment.problem, experiment.teacher_name, experiment.learner_name)
    out = options.out or Path("runs") / folder_name(*names)
    console = Console(emoji=False)
    folder = run(experiment, out, options.workers, options.overwrite, Progress(console))
    show_outcome(console, folder)


def parse_train(
    arguments: list[str], problem: str | None = None
) -> tuple[TrainOptions, Experiment]:
    """Options and experiment; the flags depend on which problem, teacher and learner are meant."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("problem", nargs="?", default=next(iter(PROBLEMS)))
    first.add_argument("--teacher", default="spdl")
    first.add_argument("--learner")
    first.add_argument("--preset", type=Path)
    chosen, _ = first.parse_known_args(arguments)
    problem = problem or _guess_problem(arguments) or chosen.problem
    preset = neurips2020(problem, chosen.teacher, chosen.learner)
    if chosen.preset:
        require_use(chosen.preset, [preset])
        preset = with_preset_files(preset, [chosen.preset])
    flags = dataclasses.make_dataclass(
        "TrainFlags",
        [
            ("run", tyro.conf.OmitArgPrefixes[TrainOptions]),
            ("budget", tyro.conf.OmitArgPrefixes[_Budget], _Budget.of(preset)),
            *(
                (f"{role}_settings", _flags_of(settings, role), settings)
                for role, settings in _settings_of(preset).items()
            ),
        ],
        frozen=True,
    )
    parsed: Any = tyro.cli(
        flags, args=arguments, prog="selfpaced train", description=_describe_train(preset)
    )
    options = parsed.run
    if options.problem != problem:
        return parse_train(arguments, options.problem)
    experiment = dataclasses.replace(
        preset,
        **{role: getattr(parsed, f"{role}_settings") for role in _settings_of(preset)},
        seeds=seeds_from(options.first_seed, options.seeds),
        **dataclasses.asdict(parsed.budget),
    )
    return options, experiment


def _describe_train(preset: Experiment) -> str:
    """Which flags there are depends on what is trained."""
    names = f"{preset.teacher_name} and {preset.learner_name} on {preset.problem}"
    return (
        f"{train_command.__doc__} Flags and defaults are those of {names}; for others, name them: "
        "`selfpaced train ball-catching --teacher goal-gan --help`."
    )


def _guess_problem(arguments: list[str]) -> str | None:
    """Options may come first, and before all flags are known nobody knows which have values."""
    words = [word for word in arguments if word in PROBLEMS]
    words += [
        word
        for before, word in pairwise(["", *arguments])
        if ":" in word and not word.startswith("-") and before not in ("--teacher", "--learner")
    ]
    return next(iter(words), None)


@dataclass(frozen=True)
class _Budget:
    """How long to train and how often to look."""

    iterations: int
    """how many times teacher and learner are updated"""
    steps_per_iteration: int
    """environment steps of each seed"""
    num_environments: int
    """environments per seed"""
    evaluate_every: int
    """iterations between evaluations on the target"""
    evaluation_episodes: int
    """episodes of each evaluation and seed"""
    initial_policy: InitialPolicy
    """as the learner draws it, or first taught to hold still (robots only)"""

    @classmethod
    def of(cls, experiment: Experiment) -> _Budget:
        names = (field.name for field in dataclasses.fields(cls))
        return cls(**{name: getattr(experiment, name) for name in names})


def _settings_of(preset: Experiment) -> dict[str, Any]:
    """Whatever has settings that flags can change."""
    found: dict[str, Any] = {"teacher": preset.teacher, "learner": preset.learner}
    if preset.is_hosted and preset.problem in PROBLEMS:  # others may have any type of settings
        found["environment"] = preset.resolve_problem().environment
    return {role: settings for role, settings in found.items() if dataclasses.fields(settings)}


def _flags_of(settings: Any, role: str) -> Any:
    """The settings as flags like `--teacher.zeta`."""
    return Annotated[type(settings), tyro.conf.arg(name=role)]


def show_outcome(console: Console, folder: RunFolder) -> None:
    """A short table, and where the pictures are."""
    summary = folder.summary()
    table = Table(
        title=f"{summary['problem']}: on the target after {summary['iterations']} iterations"
    )
    for column in ("teacher", "learner", "seeds", "return", "success", "wall time", "steps/s"):
        table.add_column(column, justify="left" if column in ("teacher", "learner") else "right")
    final = summary["final_return"]
    table.add_row(
        summary["teacher"],
        summary["learner"],
        str(len(summary["seeds"])),
        plus_minus(final["mean"], final["standard_error"]),
        f"{summary['final_success_rate']:.0%}",
        f"{summary['wall_seconds']:.0f} s",
        f"{summary['steps_per_second']:,.0f}".replace(",", " "),
    )
    console.print(table)
    pictures = draw_run(folder)
    print("pictures: " + ", ".join(str(path) for path in pictures))  # paths as they are
