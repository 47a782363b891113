"""An ant that must pass a gate in a wall (paper, Section 5.2 and Appendix C.2).

The paper used another simulator and published no code for its ant. Deviations from its text, and
decisions that the text leaves open:

D1  the joints have an armature of 0.1 instead of 0. With 0 and this torque, MuJoCo's light legs
    throw the body about: under random torques episodes last 19 steps instead of about 500.
D2  an action is the eight torques in units of 20 N·m, the paper's limit. It is clipped to ±1. The
    action cost is that of the clipped, normalised action.
D3  c_x is the x-position of the torso, not of the centre of mass of torso and legs.
D4  the state includes the orientation, which the paper's list of state variables omits. It has 29
    components.
D5  time step, start and fall are those of Gymnasium's ant: 20 actions per second, start noise of
    0.1, termination when the torso is below 0.2 m or above 1 m.
D6  the integrator is MuJoCo's implicitfast, not the Runge-Kutta of Gymnasium's ant: two and a half
    times as fast, and stable here.
D7  a torso faster than 30 m/s (the ant itself reaches 4 m/s) is an unstable simulation. Below this
    speed the wall is solid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.mujoco.library import require_mujoco
from selfpaced.validation import require_positive

if TYPE_CHECKING:
    from selfpaced.environments.mujoco.ant_gate import AntGateVector

NUM_JOINTS = 8
STATE_SIZE = 29  # 15 positions, 14 velocities
WALL = 3.0  # x of the wall
BEHIND_WALL = 3.5  # success is a larger x
GOAL = 4.5  # the reward is full from this x on
PICTURE_SIZE = (480, 360)  # pixels

# Table 5 of the paper; bounds from Appendix C.2.
ANT_GATE_CONTEXTS = ContextSpace(
    names=("gate_position", "gate_width"),
    lower=(-10.0, 3.0),
    upper=(10.0, 13.0),
    initial=Gaussian.diagonal((0.0, 8.0), (3.2, 1.6)),
    target=Gaussian.diagonal((-8.0, 3.0), (0.01, 0.005)),
    units=("m", "m"),
)


@final
@dataclass(frozen=True)
class AntGate:
    """A four-legged ant in front of a wall with a gate, simulated by MuJoCo on the host.

    The context is (gate position, gate width) along y, in metres.

    Raises:
        SelfpacedError: a setting is out of range; from `make`, MuJoCo is not installed.

    Examples:
        >>> from selfpaced.environments.ant_gate import AntGate
        >>> environment = AntGate(max_episode_steps=100)
        >>> environment.observation_size, len(environment.action_low)
        (31, 8)
    """

    max_episode_steps: int = 750
    """time limit in steps of 0.05 s"""

    def __post_init__(self) -> None:
        require_positive(self, "max_episode_steps")

    @property
    def contexts(self) -> ContextSpace:
        """The box that the model is built for, with the distributions of the paper."""
        return ANT_GATE_CONTEXTS

    @property
    def observation_size(self) -> int:
        """Length of the state and the context.

        Torso position (x, y, z), torso orientation (a unit quaternion), hip and ankle angle of each
        leg; linear velocity of the torso in the global frame, angular velocity in its own frame,
        velocities of the joints; gate position, gate width.
        """
        return STATE_SIZE + ANT_GATE_CONTEXTS.size

    @property
    def action_low(self) -> tuple[float, ...]:
        """Full negative torque at hip and ankle of each leg."""
        return (-1.0,) * NUM_JOINTS

    @property
    def action_high(self) -> tuple[float, ...]:
        """Full positive torque at hip and ankle of each leg."""
        return (1.0,) * NUM_JOINTS

    @property
    def min_episode_steps(self) -> int:
        """1: an unlucky start can end in the first step."""
        return 1

    @property
    def max_side_by_side(self) -> int:
        """10 000: a simulation is a few numbers, so that memory sets no limit."""
        return 10_000

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height in pixels that suit its pictures."""
        return PICTURE_SIZE

    def make(self, num_envs: int, num_threads: int = 1) -> AntGateVector:
        """Return a vector of ants, each with its own gate."""
        require_mujoco()
        from selfpaced.environments.mujoco.ant_gate import AntGateVector

        return AntGateVector(self, num_envs, num_threads)
