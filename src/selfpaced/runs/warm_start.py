"""Start a run from a trained policy, which is saved in the run folder for a resumed run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.runs.checkpoint import without_replay
from selfpaced.runs.policies import TrainedPolicy
from selfpaced.runs.storage import name_leaves, read_arrays, restore_leaves, write_arrays
from selfpaced.training.curriculum_learning import CurriculumLearning

S = TypeVar("S")

_PREFIX = "learner"


def require_start_fits(experiment: Experiment, start: TrainedPolicy) -> None:
    """Require that all learners of an experiment can start from a trained policy.

    Raises:
        SelfpacedError: the learner, its settings or the sizes of the problem differ.
    """
    learner: Any = experiment.method.policy
    require(
        isinstance(experiment.method, CurriculumLearning),
        f"start must be used with a teacher and a learner, got {experiment.teacher_name}; SPRL "
        "starts from its own policy",
    )
    require(
        type(learner) is type(start.learner),
        f"start must be a policy of {type(learner).__name__}, got one of "
        f"{type(start.learner).__name__}; train with the same learner",
    )
    require(
        experiment.initial_policy == "random",
        'initial_policy must be "random" with a start, got '
        f"{experiment.initial_policy!r}; the start replaces it",
    )
    ours, given = experiment.resolved.spec, start.spec
    for what, size, other in (
        ("observations", ours.observation_size, given.observation_size),
        ("actions", ours.action_size, given.action_size),
    ):
        require(
            size == other,
            f"start must be trained on {what} of {size} numbers as {experiment.problem_name} has, "
            f"got {other}",
        )
    with experiment.training(experiment.seeds[:1]) as training:
        _replace(experiment, training.init_learners(), name_leaves(_PREFIX, start.state))


def save_start(path: Path, start: TrainedPolicy) -> None:
    """Write the learner that a run starts from."""
    write_arrays(path, name_leaves(_PREFIX, start.state), {})


def starts_from(path: Path, start: TrainedPolicy | None) -> bool:
    """Return whether a run that keeps its start at this path began from this policy, or none."""
    if start is None or not path.exists():
        return start is None and not path.exists()
    saved, _ = read_arrays(path)
    given = name_leaves(_PREFIX, start.state)
    return saved.keys() == given.keys() and all(
        np.array_equal(saved[name], given[name]) for name in given
    )


def start_learners(path: Path, experiment: Experiment, learners: S) -> S:
    """Return the learners of all seeds [S, ...] as they start: as saved, or else as drawn."""
    if not path.exists():
        return learners
    arrays, _ = read_arrays(path)
    return _replace(experiment, learners, arrays)


def _replace(experiment: Experiment, learners: S, arrays: dict[str, Array]) -> S:
    """Give every seed the same learner; past steps stay as they are."""
    kept: Any = without_replay(experiment, learners)
    num = len(jax.tree.leaves(kept)[0])
    repeated = {name: np.repeat(array[None], num, axis=0) for name, array in arrays.items()}
    try:
        started = restore_leaves(_PREFIX, kept, repeated)
    except SelfpacedError as error:
        raise SelfpacedError(
            f"start must be a policy with the learner's settings of this run: {error}"
        ) from None
    whole: S = jax.tree.map(
        lambda new, drawn: drawn if new is None else new,  # None in place of past steps
        started,
        learners,
        is_leaf=lambda part: part is None,
    )
    return whole
