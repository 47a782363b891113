"""A run folder: one experiment and its results, in files that other tools can read.

experiment.json       every setting, code and versions used, the blocks of seeds
metrics.csv           one row per iteration and seed
evaluations.csv       one row per evaluation and seed: performance on the target
contexts.npz          the contexts at every evaluation: samples, Gaussians, training episodes
policies.safetensors  the learner of every seed, the last or the best one, without past steps
summary.json          the outcome
start.safetensors     the learner that the run started from, if one was given
advice.json           what kept the curriculum from working, if anything did
checksums.json        of all these files
figures/              figures
checkpoints/          state and record of every block; without it, a run cannot be continued
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.registry import only_known_code
from selfpaced.runs.advice import read_advice
from selfpaced.runs.block_files import BlockFiles
from selfpaced.runs.checkpoint import without_replay
from selfpaced.runs.frames import TableName, as_frame, long_contexts, long_table
from selfpaced.runs.manifest import read_verified
from selfpaced.runs.storage import Notes, parse_json, read_arrays, restore_leaves
from selfpaced.runs.tables import read_contexts, read_table
from selfpaced.validation import require_members

TABLES = ("metrics.csv", "evaluations.csv")  # which grow while a run goes on

_STATISTICS = dict[str, float | list[float | None] | None]
_SUMMARY = {
    "problem": str,
    "teacher": str,
    "learner": str,
    "seeds": list[int],
    "wall_seconds": float | None,
    "training_seconds": float | None,
    "teacher_seconds": float | None,
    "steps_per_second": float | None,
    "final_return": _STATISTICS,
    "failed_seeds": list[dict],
    "final_success_rate": float | None,
    "kept_iterations": list[int | None],
}


@dataclass(frozen=True)
class RunFolder:
    """Reads the files of one run.

    Args:
        path: the folder; it does not have to exist yet.
        trust: whether modules that its files name may be imported, which runs their code. Without
            it, only parts of this library and modules that are imported already are found.

    Examples:
        >>> from selfpaced import RunFolder
        >>> folder = RunFolder("runs/point-mass-3d-spdl-ppo")
        >>> folder.experiment().problem, folder.is_finished
        ('point-mass-3d', True)
    """

    path: Path
    trust: bool = False

    def __post_init__(self) -> None:
        path = Path(self.path)  # strings are accepted
        if path.is_symlink() or path.name in ("", ".."):
            path = path.resolve()  # it needs a name: locks are files beside the folder itself
        object.__setattr__(self, "path", path)

    @property
    def is_finished(self) -> bool:
        """Whether the last iteration has been exported (the summary is written last)."""
        return (self.path / "summary.json").exists() and bool(self.summary()["finished"])

    @property
    def figures(self) -> Path:
        """Folder of the figures."""
        return self.path / "figures"

    @property
    def start_path(self) -> Path:
        """File of the learner that the run started from; it exists only if one was given."""
        return self.path / "start.safetensors"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    def description(self) -> Notes:
        """Return the content of `experiment.json`."""
        path = self.path / "experiment.json"
        content = parse_json(path, read_verified(path))
        return require_members(
            str(path),
            content,
            {"experiment": dict, "blocks": list[list[int]]},
            {"versions": dict[str, str], "contexts": dict, "created": str, "code": list[dict]},
        )

    def experiment(self) -> Experiment:
        """Return the experiment of this run."""
        plain = self.description()["experiment"]
        try:
            with only_known_code(is_restricted=not self.trust):
                return Experiment.from_dict(plain)
        except SelfpacedError as error:
            raise SelfpacedError(f"{self.path / 'experiment.json'}: {error}") from error

    def blocks(self) -> list[tuple[int, ...]]:
        """Return the seeds of every block; a resumed run must not change them."""
        return [tuple(block) for block in self.description()["blocks"]]

    def files(self) -> list[BlockFiles]:
        """Return the files of every block in the folder of checkpoints."""
        return [
            BlockFiles(self.checkpoints, block, seeds) for block, seeds in enumerate(self.blocks())
        ]

    def saved_iterations(self) -> list[int]:
        """Return the iterations that each block has saved: all of them if all its seeds failed."""
        notes = [files.notes() for files in self.files()]
        planned = int(self.description()["experiment"]["iterations"])
        return [
            0 if one is None else one["iteration"] if one["seeds"] else planned for one in notes
        ]

    def iteration(self) -> int:
        """Return the number of iterations that all blocks of an unfinished run have saved."""
        return min(self.saved_iterations())

    def require_checkpoints(self) -> None:
        """Raise `SelfpacedError` if a run would start again and overwrite its results."""
        results = [f for f in ("evaluations.csv", "metrics.csv") if (self.path / f).exists()]
        has_summary = (self.path / "summary.json").exists()
        require(
            self.checkpoints.is_dir() or not results,
            f"{self.path} holds {' and '.join(results)} but "
            f"{'checkpoints' if has_summary else 'summary.json'} is missing; restore it, or run "
            "the experiment again",
        )

    def summary(self) -> Notes:
        """Return the content of `summary.json`."""
        path = self.path / "summary.json"
        required = {"finished": bool, "iterations": int}
        return require_members(str(path), parse_json(path, read_verified(path)), required, _SUMMARY)

    def failed_seeds(self) -> tuple[int, ...]:
        """Return the seeds that failed before the last iteration, according to the summary."""
        return tuple(failure["seed"] for failure in self.summary().get("failed_seeds", ()))

    def counted_seeds(self) -> tuple[int, ...]:
        """Return the seeds that statistics and figures are about: all that have not failed."""
        failed = self.failed_seeds()
        return tuple(seed for seed in self.experiment().seeds if seed not in failed)

    def of_counted_seeds(self, columns: dict[str, Array]) -> dict[str, Array]:
        """Return columns [R, S, ...] of the seeds that have not failed."""
        seeds, counted = self.experiment().seeds, self.counted_seeds()
        require(
            len(counted) > 0,
            f"all seeds of {self.path} have failed, see failed_seeds in its summary.json; try them "
            "again with `selfpaced resume --retry-failed`",
        )
        places = [seeds.index(seed) for seed in counted]
        return {
            name: column if column.ndim < 2 else column[:, places]
            for name, column in columns.items()
        }

    def table(self, name: str, seeds: Sequence[int]) -> dict[str, Array]:
        """Return the columns of a file as arrays [R, S] in the order of seeds; `iteration` is [R].

        While the run goes on, rows that a seed does not have yet are NaN.
        """
        return read_table(self.path / name, seeds, may_grow=not self.is_finished)

    def advice(self) -> list[Notes]:
        """Return the warnings of this run, each with its iteration and text."""
        return read_advice(self.path)

    def evaluations(self) -> dict[str, Array]:
        """Return the columns of `evaluations.csv` as arrays [E, S]; `iteration` is [E]."""
        return self.table("evaluations.csv", self.experiment().seeds)

    def metrics(self) -> dict[str, Array]:
        """Return the columns of `metrics.csv` as arrays [I, S]; `iteration` is [I]."""
        return self.table("metrics.csv", self.experiment().seeds)

    def contexts(self) -> dict[str, Array]:
        """Return the arrays of `contexts.npz`: iteration [E], samples [E, S, K, C], ..."""
        return read_contexts(self.path / "contexts.npz")

    def columns(self, table: TableName = "metrics") -> dict[str, Array]:
        """Return a table in long form: one row per iteration and seed, in columns [N].

        Rows that a seed does not have are left out. `contexts` has one row per context. No code of
        the experiment is run.
        """
        description = self.description()
        seeds = [int(seed) for seed in description["experiment"]["seeds"]]
        if table == "contexts":
            names = description.get("contexts", {}).get("names", ())  # earlier versions: none
            return long_contexts(self.contexts(), seeds, names)
        return long_table(self.table(f"{table}.csv", seeds), seeds)

    def frame(
        self, table: TableName = "metrics", library: Literal["pandas", "polars"] | None = None
    ) -> Any:
        """Return a table as a data frame, one row per iteration and seed.

        Args:
            table: the table; `contexts` has one row per context.
            library: None takes pandas, or polars if pandas is not installed.

        Raises:
            SelfpacedError: the table cannot be read, or the library is not installed.

        Examples:
            >>> from selfpaced import RunFolder
            >>> run = RunFolder("runs/point-mass-3d-spdl-ppo")
            >>> run.frame("evaluations").groupby("iteration")["return"].mean().index.tolist()
            [0, 5, 10, 15, 20, 24]
        """
        return as_frame(self.columns(table), library)

    def learner_states(self) -> Any:
        """Return the learner of every seed, arrays with a leading axis of seeds, without replay."""
        experiment = self.experiment()
        with experiment.training(experiment.seeds) as training:
            template = without_replay(experiment, training.init_learners())
        path = self.path / "policies.safetensors"
        arrays, _ = read_arrays(path)
        try:
            return restore_leaves("learner", template, arrays)
        except SelfpacedError as error:
            raise SelfpacedError(f"{path}: {error}") from error


def folder_name(*names: str) -> str:
    """Return a name for a folder without characters that shells or file systems reject."""
    return "-".join(names).replace(":", "-").replace("*", "-star")
