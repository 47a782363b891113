"""Options that several commands share, and the parser of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import tyro

from selfpaced.errors import SelfpacedError
from selfpaced.experiment import seeds_from
from selfpaced.presets.neurips2020 import NUM_SEEDS
from selfpaced.runs.folder import folder_name
from selfpaced.validation import require_positive

T = TypeVar("T")

ProblemName = Annotated[
    tyro.conf.Positional[str],
    tyro.conf.arg(
        metavar="PROBLEM",
        help="problem to learn (see `selfpaced list`), or your own as module:PROBLEM",
    ),
]
NumIterations = Annotated[
    int | None, tyro.conf.arg(help="number of iterations; None takes the paper's")
]


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
        require_positive(self, "workers", none_allowed=True)

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds themselves."""
        return seeds_from(self.first_seed, self.seeds)


PAPER_REPETITIONS = Repetitions()


def parse(
    command: str, kind: type[T], arguments: Sequence[str], description: str | None = None
) -> T:
    """Return the options in the arguments; `--help` and unknown flags end the program.

    The description of the help is the docstring of the options if it is None.
    """
    words = ["--help"] if _asks_for_help(arguments) else arguments  # with given arguments, too
    return tyro.cli(kind, args=words, prog=f"selfpaced {command}", description=description)


def parse_with_problem(command: str, kind: type[T], arguments: Sequence[str]) -> T:
    """Return the options of a command whose first argument is PROBLEM."""
    first_argument(command, arguments)
    return parse(command, kind, arguments)


def parse_known(command: str, kind: type[T], arguments: Sequence[str]) -> T:
    """Return some of the options, and ignore other arguments."""
    prog = f"selfpaced {command}"
    known, _ = tyro.cli(kind, args=arguments, prog=prog, return_unknown_args=True, add_help=False)
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
    return Path("runs") / folder_name(*names)


def _asks_for_help(arguments: Sequence[str]) -> bool:
    return "-h" in arguments or "--help" in arguments
