"""Command lines on damaged folders, and on what is no run folder.

Every command runs in this process, as a user types it. Its files and what it prints are compared
with those for the undamaged folder.
"""

import io
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple
from unittest.mock import patch

import numpy as np

from selfpaced import RunFolder, SelfpacedError, neurips2020
from selfpaced.commands.main import main
from selfpaced.runs.processes import Listener, LocalProcesses
from tests.faults.corruptions import damage
from tests.faults.disk import Copies
from tests.faults.outcomes import Tally, tally
from tests.reports.invented_runs import ITERATIONS, invented_run

# RUN is the folder, DIR is the one around it, OTHER a run of another seed, OUT a new path
COMMANDS = (
    "plot RUN",
    "plot RUN --out OUT",
    "plot RUN OTHER --out OUT",
    "report RUN --no-episodes --out OUT",
    "report DIR --no-episodes --out OUT",
    "watch RUN --out OUT --episodes 1 --width 64",
    "verify RUN",
    "verify DIR",
    "export RUN --out OUT",
    "merge RUN OTHER --out OUT",
    "resume RUN",
    "resume RUN --iterations 21",
    "resume RUN --retry-failed",
    "train point-mass-3d --out RUN",
    "compare point-mass-3d --teachers spdl --seeds 1 --learner.hidden 4 --iterations 20 --out DIR",
)
KINDS = ("flip", "cut", "delete", "rubbish", "retype", "none", "missing", "file", "empty", "other")
DAMAGES = KINDS[:5]
IT_WOULD_TRAIN = "it would train"


class Outcome(NamedTuple):
    """What a command has left behind."""

    code: int
    printed: str
    errors: str
    files: dict[str, bytes]


@dataclass
class Stage:
    """Runs without damage, and what the commands print and write for them."""

    place: Path

    def __post_init__(self) -> None:
        self.place.mkdir()
        published = neurips2020("point-mass-3d")
        learner = replace(published.method.policy, hidden=(4,))
        make = partial(invented_run, method=published.with_parts(learner=learner).method)
        self.finished = make(self.place / "finished", seeds=(1,))
        self.unfinished = make(self.place / "unfinished", seeds=(1,), reached=[12])
        self.other = make(self.place / "other", seeds=(2,))
        self.known: dict[tuple[str, str], Outcome] = {}

    def expected(self, command: str, whole: RunFolder) -> Outcome:
        """Return the outcome for an undamaged folder."""
        key = (command, whole.path.name)
        if key not in self.known:
            self.known[key] = self.outcome(command, whole, "none", None, 0)
        return self.known[key]

    def outcome(
        self, command: str, whole: RunFolder, kind: str, file: Path | None, seed: int
    ) -> Outcome:
        """Run a command on a copy of a folder with this damage."""
        around = self.place / "copy"  # one path: some files name it
        names = {
            "RUN": around / "spdl-ppo",
            "DIR": around,
            "OTHER": self.other.path,
            "OUT": self.place / "out",
        }
        prepare(names["RUN"], whole, kind, file, seed)
        if command.startswith(("watch", "report")):
            names["OUT"] = names["OUT"].with_suffix(".gif" if "watch" in command else ".html")
        words = re.sub("|".join(names), lambda match: str(names[match[0]]), command).split()
        with trained_by_copying(self.finished):
            code, printed, errors = typed(words)
        files = written(names["OUT"]) | written(names["RUN"] / "figures")
        for path in (around, names["OUT"]):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return Outcome(code, printed, errors, files)


def command_lines(num: int, seed: int, place: Path) -> Tally:
    """Run commands on damaged folders."""
    stage = Stage(place / "command-lines")
    rng = np.random.default_rng(seed)
    attempts = []
    for number in range(num):
        command = COMMANDS[number % len(COMMANDS)]
        whole = (stage.finished, stage.unfinished)[int(rng.integers(2))]
        kind = KINDS[rng.integers(len(KINDS))]
        files = sorted(path for path in whole.path.rglob("*") if path.is_file())
        file = files[rng.integers(len(files))].relative_to(whole.path)
        name = f"{command} with {kind} {file if kind in DAMAGES else ''} {whole.path.name}"
        call = partial(attempt, stage, command, whole, kind, file, int(rng.integers(2**31)))
        attempts.append((name, call))
    return tally("command lines on damaged folders", attempts)


def attempt(stage: Stage, command: str, whole: RunFolder, kind: str, file: Path, seed: int) -> bool:
    """Return whether a command does the same as without damage, or says what is wrong.

    Raises:
        SelfpacedError: it refuses in one line.
    """
    found = stage.outcome(command, whole, kind, file, seed)
    if found.code:
        lines = found.errors.strip().splitlines()
        is_short = len(lines) == 1 and lines[0].startswith("error: ")
        if f"error: {IT_WOULD_TRAIN}" in found.errors:
            return True
        if found.code != 2 or not is_short:
            raise RuntimeError(f"exit code {found.code}: {found.errors[-300:]}")
        raise SelfpacedError(lines[0])
    if kind not in DAMAGES or kind == "retype":  # another valid value cannot be told from the right
        return True
    expected = stage.expected(command, whole)
    is_same = found.printed == expected.printed and found.files == expected.files
    said = found.printed + found.errors + str(found.files)
    return is_same or file.name in said or "damaged" in said or "missing" in said


def prepare(path: Path, whole: RunFolder, kind: str, file: Path | None, seed: int) -> None:
    """Make the folder that a command is about."""
    path.parent.mkdir()
    if kind == "file":
        path.write_text("{}")
    elif kind == "empty":
        path.mkdir()
    elif kind == "other":
        path.mkdir()
        (path / "notes.txt").write_text("mine")
    elif kind != "missing":
        shutil.copytree(whole.path, path)
        if kind != "none" and file is not None:
            damage(path / file, kind, np.random.default_rng(seed))


def typed(words: list[str]) -> tuple[int, str, str]:
    """Return the exit code of a command, and what it prints to both streams."""
    printed, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors):
        try:
            main(words)
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
    return code, printed.getvalue(), errors.getvalue()


def written(path: Path) -> dict[str, bytes]:
    """Return the content of a file or folder without dates."""
    files = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
    return {
        one.name: re.sub(rb"\d{4}-\d\d-\d\d[ T][\d:.+]+", b"", one.read_bytes())
        for one in files
        if one.is_file() and one.name != "checksums.json"  # of files with dates
    }


@contextmanager
def trained_by_copying(finished: RunFolder) -> Iterator[None]:
    """Let `train`, `resume` and `compare` train without worker processes."""
    copies = Copies((finished,))

    def train(
        self: LocalProcesses, folder: RunFolder, lock: IO[str], listener: Listener
    ) -> list[str]:
        if folder.experiment().iterations != ITERATIONS or len(folder.blocks()) > 1:
            return [IT_WOULD_TRAIN]
        return copies.train(folder, lock, listener)

    with patch.object(LocalProcesses, "train", train):
        yield
