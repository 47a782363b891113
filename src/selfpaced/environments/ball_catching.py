"""A robot arm that has to catch a ball with a small net (paper, Section 5.3 and Appendix C.3).

The context is where the ball is going to pass, in polar coordinates about a point below the
shoulder, and how far away it is thrown; the policy does not see it. Deviations from the paper's
text, D1 to D4 of them also in the experiments that its numbers come from:

D1  an action is a desired joint *velocity*: the desired positions move by 0.01 times it per step,
D2  the velocity of the ball in the catching reward has unit length,
D3  the direction that it is compared with is not the normal of the net but the third row of the
    net's rotation matrix (`normal="released"`, the default, so that returns can be compared with
    the published ones); `normal="axis"` is the normal, which is the third column,
D4  only a contact of the ball with the net itself is a catch; with the palm or the arm it is not,
D5  joints have no friction, where the published model had 0.001 N·m: in none of 4000 episodes did
    that decide whether the ball was caught, and the simulation is half as fast again without it,
D6  the training loop limits actions to the box, in evaluations too, where the published
    experiments applied and charged raw ones; three standard deviations of a new policy fit in,
D7  links collide as boxes and cylinders that were fitted to the hulls of the published meshes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.mujoco.library import require_mujoco
from selfpaced.records import Array
from selfpaced.validation import require_choice, require_positive

if TYPE_CHECKING:
    from selfpaced.environments.mujoco.ball_catching import BallCatchingVector

MAX_SPEED = (3.97, 4.04, 5.8, 3.14, 5.4)  # rad/s
NORMALS = ("released", "axis")
CONTEXT_HEIGHT = 0.75  # what angle and radius are measured from

# Appendix C.3; the paper rounds the standard deviations.
BALL_CATCHING_CONTEXTS = ContextSpace(
    names=("angle", "radius", "distance"),
    lower=(0.125 * math.pi, 0.6, 0.75),
    upper=(0.5 * math.pi, 1.1, 4.0),
    initial=Gaussian.diagonal(
        (0.68, 0.9, 0.85), (math.sqrt(1e-3), math.sqrt(1e-3), math.sqrt(0.1))
    ),
    target=Gaussian.diagonal(
        (0.3375 * math.pi, 0.85, 2.375), (math.sqrt(0.2 * math.pi), math.sqrt(0.15), 1.0)
    ),
)


def passing_points(contexts: Array) -> Array:
    """Where balls pass the catching plane x = 0: (y, z) [..., 2] for contexts [..., 3]."""
    angle, radius = contexts[..., 0], contexts[..., 1]
    return np.stack([-radius * np.cos(angle), CONTEXT_HEIGHT + radius * np.sin(angle)], axis=-1)


@dataclass(frozen=True)
class BallCatching:
    """Five of seven joints are controlled; an episode ends when the ball touches anything."""

    normal: Literal["released", "axis"] = "released"
    """what the flight of the ball is compared with: as published, or the axis of the net"""
    max_episode_steps: int = 200
    """the time limit; an uncaught ball is on the ground after about 90 steps"""

    def __post_init__(self) -> None:
        require_choice("normal", self.normal, NORMALS)
        require_positive(self, "max_episode_steps")

    @property
    def contexts(self) -> ContextSpace:
        """What it is built for: a problem with other contexts has to stay inside this box."""
        return BALL_CATCHING_CONTEXTS

    @property
    def observation_size(self) -> int:
        """Desired and actual positions and velocities of five joints, the ball's of three axes."""
        return 21

    @property
    def action_low(self) -> tuple[float, ...]:
        """Desired joint velocities, D1."""
        return tuple(-speed for speed in MAX_SPEED)

    @property
    def action_high(self) -> tuple[float, ...]:
        """Desired joint velocities, D1."""
        return MAX_SPEED

    @property
    def min_episode_steps(self) -> int:
        """The ball is out of reach for longer: 43 steps with the wildest actions that we tried."""
        return min(25, self.max_episode_steps)

    @property
    def max_side_by_side(self) -> int:
        """A simulation is a few numbers: memory sets no limit."""
        return 10_000

    def make(self, num_envs: int, num_threads: int = 1) -> BallCatchingVector:
        """So many arms, each with a ball of its own."""
        require_mujoco()
        from selfpaced.environments.mujoco.ball_catching import BallCatchingVector

        return BallCatchingVector(self, num_envs, num_threads)
