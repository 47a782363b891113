"""An ant that has to pass a gate in a wall (paper, Section 5.2 and Appendix C.2).

The paper simulated its ant with another simulator and published no code. What differs from its
text, or had to be decided:
D1  the joints have an armature of 0.1 instead of 0. With 0 and this torque MuJoCo's light legs
    throw the body about: under random torques episodes last 19 steps instead of about 500.
D2  an action is the eight torques in units of 20 N·m, the paper's limit. It is clipped to ±1, and
    the action cost is that of the clipped, normalised action.
D3  c_x is the x-position of the torso, not of the centre of mass of torso and legs.
D4  the orientation, which the paper's list of state variables leaves out, makes them 29.
D5  time step, start and fall are those of Gymnasium's ant: 20 actions a second, a start that is
    disturbed by noise of 0.1, and an end as soon as the torso is below 0.2 m or above 1 m.
D6  the integrator is MuJoCo's implicitfast, not the Runge-Kutta of Gymnasium's ant: two and a half
    times as fast, and stable here.
D7  a torso faster than 30 m/s (the ant itself reaches 4 m/s) is an unstable simulation. Up to
    there the wall is solid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.mujoco.library import require_mujoco
from selfpaced.validation import require_positive

if TYPE_CHECKING:
    from selfpaced.environments.mujoco.ant_gate import AntGateVector

NUM_JOINTS = 8
STATE_SIZE = 29  # 15 positions, 14 velocities
WALL = 3.0  # the x at which it stands
BEHIND_WALL = 3.5  # what counts as success
GOAL = 4.5  # from here on the reward is full

# Table 5 of the paper; the bounds are those of Appendix C.2.
ANT_GATE_CONTEXTS = ContextSpace(
    names=("gate_position", "gate_width"),
    lower=(-10.0, 3.0),
    upper=(10.0, 13.0),
    initial=Gaussian.diagonal((0.0, 8.0), (3.2, 1.6)),
    target=Gaussian.diagonal((-8.0, 3.0), (0.01, 0.005)),
)


@dataclass(frozen=True)
class AntGate:
    """The context is (gate position, gate width) along y, in metres."""

    max_episode_steps: int = 750
    """the time limit; a step takes 0.05 s"""

    def __post_init__(self) -> None:
        require_positive(self, "max_episode_steps")

    @property
    def contexts(self) -> ContextSpace:
        """What it is built for: a problem with other contexts has to stay inside this box."""
        return ANT_GATE_CONTEXTS

    @property
    def observation_size(self) -> int:
        """The state, then the context.

        Torso position (x, y, z), its orientation (a unit quaternion), hip and ankle angle of each
        leg; linear velocity of the torso in the world, angular velocity in its own frame,
        velocities of the joints; gate position, gate width.
        """
        return STATE_SIZE + ANT_GATE_CONTEXTS.size

    @property
    def action_low(self) -> tuple[float, ...]:
        """Full torque backwards, hip and ankle of each leg."""
        return (-1.0,) * NUM_JOINTS

    @property
    def action_high(self) -> tuple[float, ...]:
        """Full torque forwards, hip and ankle of each leg."""
        return (1.0,) * NUM_JOINTS

    @property
    def min_episode_steps(self) -> int:
        """A start can be so unlucky that the first step is the last."""
        return 1

    @property
    def max_side_by_side(self) -> int:
        """A simulation is a few numbers: memory sets no limit."""
        return 10_000

    def make(self, num_envs: int, num_threads: int = 1) -> AntGateVector:
        """So many ants, each with a gate of its own."""
        require_mujoco()
        from selfpaced.environments.mujoco.ant_gate import AntGateVector

        return AntGateVector(self, num_envs, num_threads)
