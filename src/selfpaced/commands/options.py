"""Options that several commands share, and the parser of all of them."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import tyro

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Budget, Keep, seeds_from
from selfpaced.presets.neurips2020 import NUM_SEEDS
from selfpaced.registry import FILE_ENDING
from selfpaced.runs.engine import Engine
from selfpaced.runs.folder import folder_name
from selfpaced.runs.logger import Logger, make_logger
from selfpaced.runs.policies import load_policy
from selfpaced.runs.processes import LocalProcesses
from selfpaced.studies.comparison import Cell
from selfpaced.training.curriculum_learning import InitialPolicy
from selfpaced.validation import require_not_negative, require_positive

T = TypeVar("T")

ProblemName = Annotated[
    tyro.conf.Positional[str],
    tyro.conf.arg(
        metavar="PROBLEM",
        help="problem to learn (see `selfpaced list`), or your own as module:PROBLEM or FILE.toml",
    ),
]
Words = tuple[str, ...]

ROLES = ("teacher", "learner", "environment")  # parts whose settings are flags like --teacher.zeta


@dataclass(frozen=True)
class Repetitions:
    """Which seeds to run, and how many at once."""

    seeds: int = NUM_SEEDS
    """number of seeds of each experiment; the paper has 20"""
    first_seed: int = 1
    """first seed; the others follow it"""
    workers: int | None = None
    """number of processes; None starts one per core"""

    def __post_init__(self) -> None:
        require_positive(self, "seeds")
        require(self.seeds <= 10**5, f"seeds must be at most {10**5}, got {self.seeds}")
        require_not_negative(self, "first_seed")
        most = 2**32 - self.seeds
        require(
            self.first_seed <= most,
            f"first_seed must be at most {most} with {self.seeds} seeds, got {self.first_seed}; "
            "seeds are below 2**32",
        )
        require_positive(self, "workers", none_allowed=True)

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds themselves."""
        return seeds_from(self.first_seed, self.seeds)


@dataclass(frozen=True)
class EngineOptions:
    """Where the blocks of seeds are trained."""

    engine: Literal["local", "ray"] = "local"
    """"local" starts processes on this computer, "ray" tasks of a Ray cluster"""
    address: str | None = None
    """address of the Ray cluster; None starts Ray on this computer, or takes RAY_ADDRESS"""

    def __post_init__(self) -> None:
        require(
            self.engine == "ray" or self.address is None,
            f"address must be given with --engine ray only, got {self.address!r}; add --engine ray",
        )

    def make(self) -> Engine:
        """Return the engine."""
        if self.engine == "local":
            return LocalProcesses()
        from selfpaced.runs.ray_engine import RayEngine  # which imports JAX

        return RayEngine(self.address)


EngineFlags = Annotated[EngineOptions, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="engine")]
THIS_COMPUTER = EngineOptions()


@dataclass(frozen=True)
class LogOptions:
    """Where the numbers of a run go while it learns, beside its folder."""

    log: str | None = None
    """"tensorboard", "wandb", "wandb-offline", or your own as module:Class, separated by commas"""

    def make(self) -> list[Logger]:
        """Return the loggers."""
        return [] if self.log is None else [make_logger(name) for name in split_names(self.log)]


LogFlags = Annotated[LogOptions, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="logging")]
NO_LOGS = LogOptions()

RepetitionFlags = Annotated[
    Repetitions, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="seed and process")
]
PAPER_REPETITIONS = Repetitions()


@dataclass(frozen=True)
class BudgetChanges:
    """What differs from the budget of a preset; None keeps the preset's."""

    iterations: int | None = None
    """number of updates of teacher and learner; None takes the preset's, as for all of these"""
    steps_per_iteration: int | None = None
    """environment steps of each seed per iteration"""
    num_environments: int | None = None
    """environments per seed"""
    evaluate_every: int | None = None
    """iterations between evaluations on the target"""
    evaluation_episodes: int | None = None
    """episodes per evaluation and seed"""
    initial_policy: InitialPolicy | None = None
    """"random" starts from the learner's initial policy, "hold" from one that has cloned standing
    still (host environments only)"""
    keep: Keep | None = None
    """policy of each seed: "last" is that after the last iteration, "best" the one with the highest
    return in an evaluation, which is then evaluated in fresh episodes"""

    def __post_init__(self) -> None:
        numbers = (name for name in self.given if name not in ("initial_policy", "keep"))
        require_positive(self, *numbers)

    @property
    def given(self) -> dict[str, int | InitialPolicy | Keep]:
        """The fields that differ."""
        plain = dataclasses.asdict(self)
        return {name: value for name, value in plain.items() if value is not None}

    def applied_to(self, budget: Budget) -> Budget:
        """Return the budget with these changes."""
        return Budget(**dataclasses.asdict(budget) | self.given)

    @property
    def words(self) -> list[str]:
        """The flags that give these changes."""
        pairs = ((f"--{name.replace('_', '-')}", str(value)) for name, value in self.given.items())
        return [word for pair in pairs for word in pair]


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What commands that run several cells change in the presets of the cells."""

    preset: tuple[str, ...] = ()
    """settings by their name, as jmlr2021 (published) or robust (ours), and files with other
    settings, written by `selfpaced search`"""
    overwrite: bool = False
    """replace cells that have other settings or damaged files; others are kept, as without it"""
    start_from: Path | None = None
    """run folder whose policy all seeds of all cells start from, that of its first seed; it needs
    the same learner and sizes of observations and actions"""
    budget: tyro.conf.OmitArgPrefixes[BudgetChanges] = BudgetChanges()
    settings: tyro.conf.Suppress[tuple[Words, ...]] = ()
    """settings of parts, each as a flag like `--teacher.zeta` and its values"""

    def with_start(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells with the policy that they start from, if there is one."""
        if self.start_from is None:
            return list(cells)
        start = load_policy(self.start_from)
        return [dataclasses.replace(cell, start=start) for cell in cells]


def parse(
    command: str, kind: type[T], arguments: Sequence[str], description: str | None = None
) -> T:
    """Return the options in the arguments; `--help` and unknown flags end the program.

    The description of the help is the docstring of the options if it is None. Flags of parts, like
    `--teacher.zeta`, depend on the cells; `StudyOptions` keeps them as words.

    Raises:
        SelfpacedError: a value is wrong.
    """
    words = ["--help"] if _asks_for_help(arguments) else arguments  # with given arguments, too
    prog = f"selfpaced {command}"
    settings: list[Words] = []
    if issubclass(kind, StudyOptions):
        words, settings = _split_settings(words)
    with _one_line_errors(prog, words):
        options = tyro.cli(kind, args=words, prog=prog, description=description)
    if isinstance(options, StudyOptions):
        return dataclasses.replace(options, settings=tuple(settings))
    return options


def parse_with_problem(command: str, kind: type[T], arguments: Sequence[str]) -> T:
    """Return the options of a command whose first argument is PROBLEM."""
    first_argument(command, arguments)
    return parse(command, kind, arguments)


def parse_known(command: str, kind: type[T], arguments: Sequence[str]) -> T:
    """Return some of the options, and ignore other arguments."""
    prog = f"selfpaced {command}"
    with _one_line_errors(prog, arguments):
        known, _ = tyro.cli(
            kind, args=arguments, prog=prog, return_unknown_args=True, add_help=False
        )
    return known


def first_argument(command: str, arguments: Sequence[str]) -> str | None:
    """Return PROBLEM; None if there is only a request for help.

    Raises:
        SelfpacedError: the first argument is missing or a flag.
    """
    if arguments and not arguments[0].startswith("-"):
        return arguments[0]
    if _asks_for_help(arguments):
        return None
    got = f"got {arguments[0]!r}" if arguments else "got no arguments"
    raise SelfpacedError(
        f"PROBLEM must come first, {got}; for example `selfpaced {command} point-mass-3d --seeds 5`"
    )


def split_names(names: str) -> list[str]:
    """Return names that are separated by commas."""
    return [name.strip() for name in names.split(",")]


def default_folder(*names: str) -> Path:
    """Return the folder of a command's results if `--out` is not given."""
    short = (Path(name).stem if name.endswith(FILE_ENDING) else name for name in names)
    return Path("runs") / folder_name(*short)


def _split_settings(arguments: Sequence[str]) -> tuple[list[str], list[Words]]:
    """Return the other arguments, and each flag of a part with its values."""
    others: list[str] = []
    settings: list[Words] = []
    is_setting = False
    for word in arguments:
        if word.startswith("--"):
            is_setting = word.startswith(tuple(f"--{role}." for role in ROLES))
            if is_setting:
                flag, *value = word.split("=", 1)
                settings.append((flag.replace("_", "-"), *value))
                continue
        if is_setting:
            settings[-1] += (word,)
        else:
            others.append(word)
    return others, settings


def _asks_for_help(arguments: Sequence[str]) -> bool:
    return "-h" in arguments or "--help" in arguments


@contextmanager
def _one_line_errors(prog: str, arguments: Sequence[str]) -> Iterator[None]:
    """Raise a `SelfpacedError` for a wrong value, for which tyro prints a box and exits."""
    shown = StringIO()
    try:
        with redirect_stderr(shown):
            yield
    except SystemExit as stop:
        error = _original_error(stop) or _wrong_value(shown.getvalue(), prog, arguments)
        if error is not None:
            raise error from None
        sys.stderr.write(shown.getvalue())
        raise
    sys.stderr.write(shown.getvalue())


def _original_error(stop: SystemExit) -> SelfpacedError | None:
    """Return the error of a setting's own check, which tyro has caught."""
    error = stop.__context__
    while error is not None and not isinstance(error, SelfpacedError):
        error = error.__context__
    return error


def _wrong_value(shown: str, prog: str, arguments: Sequence[str]) -> SelfpacedError | None:
    """Return the error for a value of the wrong type, if the box is about one."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    lines = [line.strip("│| ") for line in plain.splitlines()]
    text = " ".join(lines)
    remedy = f"see `{prog} --help`"
    if found := re.search(r"Unrecognized options: (.*?)(?:Perhaps|[─-]{4}|$)", text):
        hint = re.search(r"Perhaps you meant: (--\S+)", text)
        meant = f"did you mean {hint[1]}? " if hint else ""
        return SelfpacedError(f"unrecognized options: {found[1].strip()}; {meant}{remedy}")
    if found := re.search(r"Missing from .*?: (\S+)", text):
        return SelfpacedError(f"{found[1]} must be given, got none; {remedy}")
    if found := re.search(r"Missing value for argument '(--\S+)'", text):
        return SelfpacedError(f"{found[1]} must have a value, got none; {remedy}")
    if found := re.search(r"'(--\S+)'. Expected one of \((.*?),?\)", text):
        condition = f"one of {found[2]}".replace("'", "")
    elif found := re.search(r"Error parsing (--\S+):", text):
        usage = next((line for line in lines if line.startswith(f"{found[1]} ")), "")
        condition = usage.partition(" ")[2] or "valid"
    else:
        return None
    got = " ".join(_values(found[1], arguments))
    return SelfpacedError(f"{found[1]} must be {condition}, got {got!r}; {remedy}")


def _values(flag: str, arguments: Sequence[str]) -> Iterator[str]:
    """Give the words after a flag, which may be joined to it by `=`."""
    is_value = False
    for word in arguments:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            is_value = name.replace("_", "-") == flag
            if is_value and value:
                yield value
        elif is_value:
            yield word
