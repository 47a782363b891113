"""What the paper reports, so that ours can be put next to it."""

from __future__ import annotations

from dataclasses import dataclass

BOTH = ("point-mass-3d", "point-mass-2d")
STEP_BASED = ("spdl", "alp-gmm", "goal-gan", "random", "default")
# the asterisk: contexts, or for Default the policy, begin otherwise; see the presets
CATCHING = ("spdl", "spdl*", "alp-gmm", "goal-gan", "goal-gan*", "default", "default*")

# Table 1: mean and standard error of the final return over 20 seeds
TABLE_1: dict[tuple[str, str], dict[str, tuple[float, float]]] = {
    ("point-mass-3d", "ppo"): {
        "spdl": (9.35, 0.1),
        "alp-gmm": (2.34, 0.2),
        "goal-gan": (0.50, 0.0),
        "random": (0.53, 0.0),
        "default": (2.46, 0.0),
    },
    ("point-mass-2d", "ppo"): {
        "spdl": (9.02, 0.4),
        "alp-gmm": (5.24, 0.4),
        "goal-gan": (1.39, 0.5),
        "random": (1.34, 0.3),
        "default": (2.47, 0.0),
    },
    ("point-mass-3d", "sac"): {
        "spdl": (4.43, 0.7),
        "alp-gmm": (0.96, 0.3),
        "goal-gan": (1.08, 0.4),
        "random": (0.60, 0.1),
        "default": (2.26, 0.0),
    },
    ("point-mass-2d", "sac"): {
        "spdl": (4.69, 0.7),
        "alp-gmm": (1.15, 0.4),
        "goal-gan": (0.72, 0.2),
        "random": (0.93, 0.3),
        "default": (2.23, 0.0),
    },
    ("ball-catching", "trpo"): {
        "spdl": (47.0, 2.0),
        "spdl*": (43.3, 2.0),
        "alp-gmm": (39.8, 1.1),
        "goal-gan": (42.5, 1.6),
        "goal-gan*": (45.8, 1.0),
        "default": (21.0, 0.3),
        "default*": (21.2, 0.3),
    },
    ("ball-catching", "ppo"): {
        "spdl": (53.9, 0.4),
        "spdl*": (49.3, 1.4),
        "alp-gmm": (46.5, 0.7),
        "goal-gan": (42.6, 2.7),
        "goal-gan*": (45.9, 1.0),
        "default": (22.1, 0.3),
        "default*": (23.0, 0.7),
    },
}


@dataclass(frozen=True)
class Result:
    """Something that the paper shows, and the experiments that it takes."""

    summary: str
    problems: tuple[str, ...]
    teachers: tuple[str, ...]
    learners: tuple[str, ...]


RESULTS = {
    "table-1-ppo": Result(
        "Table 1, the point-mass columns of PPO: final return of every teacher",
        BOTH, STEP_BASED, ("ppo",),
    ),
    "table-1-sac": Result(
        "Table 1, the point-mass columns of SAC: final return of every teacher",
        BOTH, STEP_BASED, ("sac",),
    ),
    "figure-2": Result(
        "Figure 2: learning curves with TRPO and SPRL's, and how SPDL's contexts travel",
        BOTH, (*STEP_BASED, "sprl"), ("trpo",),
    ),
    "trajectories": Result(
        "the appendix's trajectories through the gate, for every teacher and learner",
        ("point-mass-3d",), STEP_BASED, ("trpo", "ppo", "sac"),
    ),
    "ball-catching-ppo": Result(
        "Table 1, the ball-catching column of PPO, and where the balls of the curriculum pass",
        ("ball-catching",), CATCHING, ("ppo",),
    ),
    "ball-catching-trpo": Result(
        "Table 1, the ball-catching column of TRPO",
        ("ball-catching",), CATCHING, ("trpo",),
    ),
    "ball-catching-sac": Result(
        "Figure 3: learning curves of ball catching with SAC",
        ("ball-catching",), CATCHING, ("sac",),
    ),
    "ant": Result(
        "Figure 3 and the appendix: the ant's learning curves, and its way through the gate",
        ("ant-gate",), STEP_BASED, ("ppo",),
    ),
}  # fmt: skip

Grid = dict[str, tuple[float, ...]]

GRIDS: dict[str, Grid] = {
    # Appendix B
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
    # the paper does not give the grid of zeta; these surround what it found
    "spdl": {"zeta": (1.0, 1.2, 1.4, 1.6, 1.8)},
}
"""What the paper tuned for each teacher, per problem and learner."""
_ZETAS_OF_ROBOTS = {
    "ball-catching": (0.3, 0.4, 0.45, 0.5, 0.6),
    "ant-gate": (0.4, 0.7, 1.0, 1.3, 1.6),
}


def grid_of(problem: str, teacher: str) -> Grid:
    """The values to try."""
    if teacher == "spdl" and problem in _ZETAS_OF_ROBOTS:
        return {"zeta": _ZETAS_OF_ROBOTS[problem]}
    return GRIDS[teacher]
