"""A reproduction: results of the SPDL paper and of CURROT, and the experiments behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from selfpaced.presets.neurips2020 import find_preset
from selfpaced.studies.comparison import Cell, plan_cells
from selfpaced.validation import require_choice

_POINT_MASSES = ("point-mass-3d", "point-mass-2d")
_STEP_BASED = ("spdl", "alp-gmm", "goal-gan", "random", "default")
# the asterisk: other initial contexts, for Default another initial policy; see the preset
_CATCHING = ("spdl", "spdl*", "alp-gmm", "goal-gan", "goal-gan*", "default", "default*")


@dataclass(frozen=True)
class Result:
    """A table column or figure of the paper, and its experiments."""

    summary: str
    problems: tuple[str, ...]
    teachers: tuple[str, ...]
    learners: tuple[str, ...]  # a problem is learned by those that its preset has


RESULTS = {
    "table-1-ppo": Result(
        "Table 1, the point-mass columns of PPO: final return of every teacher",
        _POINT_MASSES,
        _STEP_BASED,
        ("ppo",),
    ),
    "table-1-sac": Result(
        "Table 1, the point-mass columns of SAC: final return of every teacher",
        _POINT_MASSES,
        _STEP_BASED,
        ("sac",),
    ),
    "figure-2": Result(
        "Figure 2: learning curves of TRPO and of SPRL, and the contexts that SPDL samples",
        _POINT_MASSES,
        (*_STEP_BASED, "sprl"),
        ("trpo",),
    ),
    "trajectories": Result(
        "Appendix: trajectories through the gate, for every teacher and learner",
        ("point-mass-3d",),
        _STEP_BASED,
        ("trpo", "ppo", "sac"),
    ),
    "ball-catching-ppo": Result(
        "Table 1, the ball-catching column of PPO, and where the balls of the curriculum pass",
        ("ball-catching",),
        _CATCHING,
        ("ppo",),
    ),
    "ball-catching-trpo": Result(
        "Table 1, the ball-catching column of TRPO",
        ("ball-catching",),
        _CATCHING,
        ("trpo",),
    ),
    "ball-catching-sac": Result(
        "Figure 3: learning curves of ball catching with SAC",
        ("ball-catching",),
        _CATCHING,
        ("sac",),
    ),
    "ant": Result(
        "Figure 3 and the appendix: learning curves of the ant, and its paths through the gate",
        ("ant-gate",),
        _STEP_BASED,
        ("ppo",),
    ),
    "currot": Result(
        "CURROT: learning curves of the bimodal point mass with PPO and of the goal maze with SAC",
        ("point-mass-2d-bimodal", "goal-maze"),
        ("currot", "gradient", "plr", "alp-gmm", "goal-gan", "random", "default"),
        ("ppo", "sac"),
    ),
}


def plan_result(
    result: Result, seeds: tuple[int, ...], out: Path, teachers: Sequence[str] | None = None
) -> list[Cell]:
    """Return the cells of a result, every problem in a folder of its own.

    Args:
        result: what to reproduce.
        seeds: seeds of every experiment.
        out: folder of the problems' folders; results with the same experiments share them.
        teachers: only these of the result's teachers, `-star` for an asterisk; None takes all.

    Raises:
        SelfpacedError: a teacher is not part of the result.
    """
    chosen = result.teachers
    if teachers is not None:
        chosen = tuple(name.replace("-star", "*") for name in teachers)
        for teacher in chosen:
            require_choice("teacher", teacher, result.teachers)
    return [
        cell
        for problem in result.problems
        for cell in plan_cells(problem, chosen, _learners(result, problem), seeds, out / problem)
    ]


def _learners(result: Result, problem: str) -> list[str]:
    known = find_preset(problem).learners
    return [learner for learner in result.learners if learner in known]
