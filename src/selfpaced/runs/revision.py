"""The code that trains a run: its revision, and the edition of its results.

The edition tells revisions with equal results from those with others. Every part has a number,
which the commit that changes the results of the part on purpose raises here. Other roundings of the
same numbers are no change (decision 0031, editions of results).
"""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from selfpaced.experiment import Experiment
from selfpaced.runs.storage import Notes

TRAINING = "training"  # the loop, its random numbers and simulators: concerns every run

EDITIONS: Mapping[str, int] = {TRAINING: 1}
"""Numbers of the loop, and of problems, teachers and learners by name; the others have 1."""

_CHANGED = "+changes"  # marks a revision with changes that are not committed
_TOP = Path(__file__).resolve().parents[3]  # of a clone
_SECONDS = 10  # for an answer of Git


def code_of(experiment: Experiment, iteration: int = 0) -> Notes:
    """Return the code of now as `experiment.json` has it, with the iteration where it takes over.

    Examples:
        >>> from selfpaced import neurips2020
        >>> from selfpaced.runs.revision import code_of
        >>> code_of(neurips2020("point-mass-3d"))["edition"]
        {'training': 1, 'point-mass-3d': 1, 'spdl': 1, 'ppo': 1}
    """
    return {"revision": revision(), "edition": edition_of(experiment), "iteration": iteration}


def edition_of(experiment: Experiment) -> dict[str, int]:
    """Return the numbers that the results of an experiment depend on."""
    method = experiment.method
    names = (TRAINING, experiment.problem_name, method.teacher_name, method.learner_name)
    return {name: EDITIONS.get(name, 1) for name in names}


def known_edition(codes: Iterable[Notes]) -> dict[str, int] | None:
    """Return the edition of a run by its codes; None if it is unknown, or not one throughout."""
    codes = list(codes)
    if not codes or codes[0]["iteration"] > 0:  # an earlier version began it
        return None
    edition: dict[str, int] = codes[0]["edition"]
    return edition if all(code["edition"] == edition for code in codes) else None


def is_committed(revision: str) -> bool:
    """Return whether a revision is all of the code that was run."""
    return not revision.endswith(_CHANGED)


@cache
def revision() -> str:
    """Return the Git commit of the code, marked if it was changed; the version outside a clone."""
    if (_TOP / ".git").exists() and (_TOP / "src" / "selfpaced").is_dir():
        with suppress(OSError, subprocess.SubprocessError):
            changes = _ask_git("status", "--porcelain", "--", "src")
            return _ask_git("rev-parse", "HEAD") + (_CHANGED if changes else "")
    return importlib.metadata.version("selfpaced")


def _ask_git(*words: str) -> str:
    command = ["git", "-C", str(_TOP), *words]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    return answer.stdout.strip()
