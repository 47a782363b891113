"""The protocol of loggers: they receive every saved row of a run while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from selfpaced.errors import require
from selfpaced.records import Array
from selfpaced.registry import Registry
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.history import Columns, Part


class Row(NamedTuple):
    """What is recorded of one seed after one iteration; NaN stands for a value that is missing.

    Args:
        seed: the seed.
        iteration: number of completed iterations; 0 is the evaluation before the first one.
        metrics: values by their names in `metrics.csv`; none at iteration 0.
        evaluation: values by their names in `evaluations.csv`; none between evaluations.
        contexts: `samples` [K, C] and, depending on the teacher, `mean` [C] and `cholesky` [C, C],
            or `particles` [N, C]; none between evaluations.
    """

    seed: int
    iteration: int
    metrics: dict[str, float]
    evaluation: dict[str, float]
    contexts: dict[str, Array]


@runtime_checkable
class Logger(Protocol):
    """Receives the rows of a run, in a thread of its own.

    Every row comes once, when a checkpoint holds it, so that no row is ever taken back: a resumed
    run goes on with the row after the last one. If the process was killed, the last rows of a seed
    may come a second time, with the same values. An error ends the logger, not the run.

    Examples:
        >>> class LastReturn:
        ...     def start(self, run):
        ...         self.found = {}
        ...
        ...     def log(self, rows):
        ...         self.found |= {row.seed: row.metrics.get("train/return") for row in rows}
        ...
        ...     def finish(self, run):
        ...         print(self.found)
    """

    def start(self, run: RunFolder) -> None:
        """Prepare for rows: of a new run, or of one that is resumed."""

    def log(self, rows: Sequence[Row]) -> None:
        """Write new rows; their iterations ascend for each seed. Rows are kept when it returns."""

    def finish(self, run: RunFolder) -> None:
        """Write what the end allows, and close everything; `run.is_finished` if it is complete."""


LOGGERS: Registry[Callable[[], Logger]] = Registry(
    "logger",
    {
        "tensorboard": "selfpaced.loggers.tensorboard:TensorBoard",
        "wandb": "selfpaced.loggers.wandb:WandB",
        "wandb-offline": "selfpaced.loggers.wandb:offline",
    },
)


def make_logger(name: str) -> Logger:
    """Return a logger by its short name, or a user's as `package.module:Class`.

    Raises:
        SelfpacedError: the name is unknown, a library is missing, or the class has other methods.
    """
    logger = LOGGERS.find(name)()
    require(
        isinstance(logger, Logger),
        f"logger {name!r} must have the methods start, log and finish, got a "
        f"{type(logger).__name__}; see selfpaced.runs.logger.Logger",
    )
    return logger


def rows_of(part: Part) -> list[Row]:
    """Return the rows of a part of the record, by iteration and then by seed."""
    metrics, evaluations, contexts = (
        _by_iteration(part.tables[name], len(part.seeds))
        for name in ("metrics", "evaluations", "contexts")
    )
    nothing: list[dict] = [{} for _ in part.seeds]
    return [
        Row(seed, iteration, *values)
        for iteration in sorted({*metrics, *evaluations, *contexts})
        for seed, *values in zip(
            part.seeds,
            metrics.get(iteration, nothing),
            evaluations.get(iteration, nothing),
            contexts.get(iteration, nothing),
            strict=True,
        )
    ]


def _by_iteration(columns: Columns, num_seeds: int) -> dict[int, list[dict]]:
    """The values of every seed after each iteration."""
    names = [name for name in columns if name != "iteration"]
    # numbers of Python are faster one by one
    values = [column.tolist() if column.ndim == 2 else column for column in _arrays(columns, names)]
    return {
        iteration: [
            dict(zip(names, (value[row][seed] for value in values), strict=True))
            for seed in range(num_seeds)
        ]
        for row, iteration in enumerate(columns["iteration"].tolist())
    }


def _arrays(columns: Columns, names: Sequence[str]) -> Iterator[Array]:
    return (columns[name] for name in names)
