"""A robot arm that must catch a ball with a small net (paper, Section 5.3 and Appendix C.3).

The context is the point that the ball will pass, in polar coordinates about a point below the
shoulder, and the distance that it is thrown from. The policy does not observe the context.
Deviations from the paper's text, D1 to D4 of them also in the experiments that its numbers come
from:

D1  an action is a desired joint *velocity*: the desired positions move by 0.01 times it per step,
D2  the velocity of the ball in the catching reward has unit length,
D3  this velocity is compared with the third row of the net's rotation matrix instead of the normal
    of the net (`normal="released"`, the default, so that returns can be compared with the published
    ones); `normal="axis"` is the normal, the third column,
D4  only a contact of the ball with the net itself is a catch; with the palm or the arm it is not,
D5  joints have no friction; the published model has 0.001 N·m. In none of 4000 episodes did it
    decide whether the ball was caught, and the simulation is half as fast again without it,
D6  the training loop limits actions to the box, in evaluations too; the published experiments
    applied and charged raw actions. Three standard deviations of a new policy fit in,
D7  links collide as boxes and cylinders fitted to the hulls of the published meshes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.mujoco.library import require_mujoco
from selfpaced.records import Array
from selfpaced.validation import require_choice, require_positive

if TYPE_CHECKING:
    from selfpaced.environments.mujoco.ball_catching import BallCatchingVector

MAX_SPEED = (3.97, 4.04, 5.8, 3.14, 5.4)  # rad/s
NORMALS = ("released", "axis")
CONTEXT_HEIGHT = 0.75  # metres; angle and radius are measured from this height
PICTURE_SIZE = (480, 360)  # pixels

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
    units=("rad", "m", "m"),
)


@final
@dataclass(frozen=True)
class BallCatching:
    """A robot arm that catches a ball, simulated by MuJoCo on the host.

    Five of seven joints are controlled. An episode ends when the ball touches anything. The context
    is (angle, radius, distance) in rad and metres.

    Raises:
        SelfpacedError: a setting is out of range; from `make`, MuJoCo is not installed.

    Examples:
        >>> from selfpaced.environments.ball_catching import BallCatching
        >>> environment = BallCatching(normal="axis")
        >>> environment.observation_size, len(environment.action_low)
        (21, 5)
    """

    normal: Literal["released", "axis"] = "released"
    """direction that the velocity of the ball is compared with: "released" as published, "axis" the
    normal of the net"""
    max_episode_steps: int = 200
    """time limit in steps of 0.01 s; an uncaught ball is on the ground after about 90 steps"""

    def __post_init__(self) -> None:
        require_choice("normal", self.normal, NORMALS)
        require_positive(self, "max_episode_steps")

    @property
    def contexts(self) -> ContextSpace:
        """The box that the model is built for, with the distributions of the paper."""
        return BALL_CATCHING_CONTEXTS

    @property
    def observation_size(self) -> int:
        """Desired and actual positions and velocities of 5 joints, the ball's along 3 axes."""
        return 21

    @property
    def action_low(self) -> tuple[float, ...]:
        """Smallest desired joint velocities, D1."""
        return tuple(-speed for speed in MAX_SPEED)

    @property
    def action_high(self) -> tuple[float, ...]:
        """Largest desired joint velocities, D1."""
        return MAX_SPEED

    @property
    def min_episode_steps(self) -> int:
        """At most 25: the wildest actions that were tried met the ball after 43 steps."""
        return min(25, self.max_episode_steps)

    @property
    def max_side_by_side(self) -> int:
        """10 000: a simulation is a few numbers, so that memory sets no limit."""
        return 10_000

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height in pixels that suit its pictures."""
        return PICTURE_SIZE

    def make(self, num_envs: int, num_threads: int = 1) -> BallCatchingVector:
        """Return a vector of arms, each with its own ball."""
        require_mujoco()
        from selfpaced.environments.mujoco.ball_catching import BallCatchingVector

        return BallCatchingVector(self, num_envs, num_threads)


def passing_points(contexts: Array) -> Array:
    """Return where balls pass the catching plane x = 0: (y, z) [..., 2] for contexts [..., 3]."""
    angle, radius = contexts[..., 0], contexts[..., 1]
    return np.stack([-radius * np.cos(angle), CONTEXT_HEIGHT + radius * np.sin(angle)], axis=-1)
