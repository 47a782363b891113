"""The experiments of *Self-Paced Deep Reinforcement Learning* (NeurIPS 2020), and of later papers.

A problem names its presets. That of the NeurIPS paper is used unless another one is chosen; a
problem that is not in that paper uses the first one that it names.
"""

from __future__ import annotations

import dataclasses

from selfpaced.contexts import Gaussian
from selfpaced.errors import require
from selfpaced.experiment import (
    DEFAULT_LEARNER,
    Budget,
    Experiment,
    default_part,
    make_method,
    own_learner,
    require_known,
)
from selfpaced.presets.preset import Grid, Preset
from selfpaced.problems import Problem
from selfpaced.registry import find_problem, load_object
from selfpaced.teachers.spdl import SPDL
from selfpaced.validation import require_choice

NAME = "neurips2020"
NUM_SEEDS = 20  # of every experiment in the paper

GRIDS: dict[str, Grid] = {  # Appendix B
    "alp-gmm": {
        "p_random": (0.1, 0.2, 0.3),
        "num_rollouts": (50, 100, 200),
        "buffer_size": (500, 1000, 2000),
    },
    "goal-gan": {
        "noise_level": (0.025, 0.05, 0.1),
        "num_rollouts": (50, 100, 200),
        "p_success": (0.1, 0.2, 0.3),
    },
    # the paper does not give the grid of zeta; these surround its choices
    "spdl": {"zeta": (1.0, 1.2, 1.4, 1.6, 1.8)},
}
"""What the paper tuned for each teacher; a problem may have its own."""

_NO_PRESET = Preset(
    learners={},
    teachers={"spdl": {None: SPDL()}},  # zeta would have to be tuned
    budgets={None: Budget()},
)


def neurips2020(
    problem: str,
    teacher: str | None = None,
    learner: str | None = None,
    seeds: tuple[int, ...] = tuple(range(1, NUM_SEEDS + 1)),
) -> Experiment:
    """Return the paper's experiment; class defaults fill what the paper did not try.

    See `published` for the arguments.

    Raises:
        SelfpacedError: a name is unknown, or the parts do not fit each other.

    Examples:
        >>> from selfpaced import neurips2020
        >>> neurips2020("point-mass-3d").method.teacher.zeta
        1.4
    """
    return published(problem, teacher, learner, seeds)


def published(
    problem: str,
    teacher: str | None = None,
    learner: str | None = None,
    seeds: tuple[int, ...] = tuple(range(1, NUM_SEEDS + 1)),
    name: str | None = None,
) -> Experiment:
    """Return an experiment with published settings; class defaults fill what was not tried.

    Args:
        problem: a short name, or a user's problem as `package.module:PROBLEM`
            or `FILE.toml`.
        teacher: a short name, with an asterisk or `-star` for the paper's starred variant, or a
            user's class as `package.module:Class`; None is `default_teacher(problem)`.
        learner: a short name or a user's class; None takes PPO, or SPRL's own policy.
        seeds: different whole numbers.
        name: name of a preset of the problem, as "jmlr2021", or "robust", which is ours; None is
            "neurips2020", or the first that a problem of later papers has.

    Raises:
        SelfpacedError: a name is unknown, or the parts do not fit each other.

    Examples:
        >>> from selfpaced.presets.neurips2020 import published
        >>> published("point-mass-3d", "threshold-spdl", name="jmlr2021").method.teacher.threshold
        3.5
    """
    preset = find_preset(problem, name)
    own, variant = _split_variant(problem, preset, teacher or default_teacher(problem))
    learner = learner or own_learner(own) or DEFAULT_LEARNER
    for role, part in (("teacher", own), ("learner", learner)):
        require_known(role, part)
    settings: dict[str, object | None] = {
        "teacher": preset.teacher(own + variant, learner),
        "learner": preset.learners.get(learner),
    }
    if own_learner(own) == learner and preset.sprl is not None:
        settings |= preset.sprl.parts
    return Experiment(
        problem=problem,
        method=make_method(
            {
                "teacher": settings["teacher"] or default_part("teacher", own),
                "learner": settings["learner"] or default_part("learner", learner),
            }
        ),
        seeds=seeds,
        variant=variant,
        **dataclasses.asdict(preset.budget(own + variant, learner)),
    )


def default_teacher(problem: str) -> str:
    """Return SPDL, or CURROT for a problem whose distributions are not both Gaussians."""
    contexts = find_problem(problem).contexts
    are_gaussians = all(isinstance(each, Gaussian) for each in (contexts.initial, contexts.target))
    return "spdl" if are_gaussians else "currot"


def find_preset(problem: str | Problem, name: str | None = None) -> Preset:
    """Return the table of a paper for a problem.

    Without a name, return that of the NeurIPS paper. For a problem that it does not have, return
    that of the first paper which has it, or an empty one.

    Raises:
        SelfpacedError: the problem has no preset of this name.
    """
    found = find_problem(problem) if isinstance(problem, str) else problem
    places = dict(found.presets)
    if name is not None:
        require_choice(f"preset of {found.name}", name, places)
    elif not places:
        return _NO_PRESET
    place = places[name] if name else places.get(NAME, next(iter(places.values())))
    preset = load_object("preset", place)
    require(isinstance(preset, Preset), f"{place} must be a Preset, got {type(preset).__name__}")
    assert isinstance(preset, Preset)
    return preset


def grid_of(problem: str | Problem, teacher: str, name: str | None = None) -> Grid:
    """Return the values to try for each setting of a teacher."""
    return find_preset(problem, name).grids.get(teacher, GRIDS[teacher])


def _split_variant(problem: str, preset: Preset, teacher: str) -> tuple[str, str]:
    """The teacher's own name, and the asterisk if there is one."""
    plain = teacher.removesuffix("*").removesuffix("-star")
    if plain == teacher:
        return teacher, ""
    known = ", ".join(f"{name}*" for name in preset.starred)
    require(bool(known), f"{problem} has no starred teachers, got {teacher}; omit the asterisk")
    require(
        plain in preset.starred,
        f"starred teacher of {problem} must be one of {known}, got {teacher}",
    )
    return plain, "*"
