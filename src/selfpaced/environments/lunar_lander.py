"""Land between two flags against wind: Gymnasium's LunarLander, with the contexts of SPGL.

The context is gravity, wind power and turbulence power, as `gymnasium.make` takes them. Ranges and
distributions are those of the experiments of SPGL (arXiv 2603.23755), and so is the time limit.
What these do not state is ours: continuous actions, so that every learner can be used, and a policy
that observes the context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.box2d.library import require_box2d
from selfpaced.validation import require_positive

if TYPE_CHECKING:
    from selfpaced.environments.gymnasium_bridge import GymnasiumVector

ATTRIBUTES = ("gravity", "wind_power", "turbulence_power")  # of Gymnasium's environment
NUM_DIRECTIONS = 4  # discrete actions: none, left engine, main engine, right engine
PICTURE_SIZE = (600, 400)  # pixels

LUNAR_LANDER_CONTEXTS = ContextSpace(
    names=("gravity", "wind", "turbulence"),
    lower=(-12.0, 0.0, 0.0),
    upper=(-2.0, 20.0, 2.0),
    initial=Gaussian.diagonal((-10.0, 5.0, 0.1), (2.0, 2.0, 0.3)),
    target=Gaussian.diagonal((-10.0, 15.0, 1.5), (1.0, 1.0, 0.3)),
)


@final
@dataclass(frozen=True)
class LunarLander:
    """A lander with three engines, simulated by Box2D on the host.

    An episode ends with a crash, outside the picture, or at rest.

    Raises:
        SelfpacedError: a setting is out of range; from `make`, Box2D is not installed.

    Examples:
        >>> from selfpaced.environments.lunar_lander import LunarLander
        >>> LunarLander().observation_size, LunarLander(continuous=False).action_high
        (11, (3.0,))
    """

    continuous: bool = True
    """throttles of main and side engines; otherwise one of four actions, which SAC cannot learn"""
    observe_context: bool = True
    """append the context to the observation, with its bounds scaled to -1 and 1"""
    max_episode_steps: int = 400
    """time limit in steps of 0.02 s"""

    def __post_init__(self) -> None:
        require_positive(self, "max_episode_steps")

    @property
    def contexts(self) -> ContextSpace:
        """The box that Gymnasium recommends, with the distributions of SPGL."""
        return LUNAR_LANDER_CONTEXTS

    @property
    def observation_size(self) -> int:
        """Position, velocity, angle, angular velocity, contacts of two legs; the context."""
        return 8 + (len(ATTRIBUTES) if self.observe_context else 0)

    @property
    def action_low(self) -> tuple[float, ...]:
        """Engines off and full to the left, or the first action."""
        return (-1.0, -1.0) if self.continuous else (0.0,)

    @property
    def action_high(self) -> tuple[float, ...]:
        """Full main engine and full to the right, or the last action."""
        return (1.0, 1.0) if self.continuous else (float(NUM_DIRECTIONS - 1),)

    @property
    def has_discrete_actions(self) -> bool:
        """Whether the action is one of four."""
        return not self.continuous

    @property
    def min_episode_steps(self) -> int:
        """At most 20: with the wildest actions that were tried a fall takes over 40."""
        return min(20, self.max_episode_steps)

    @property
    def max_side_by_side(self) -> int:
        """64: copies are stepped one after the other, and more of them are not faster."""
        return 64

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height of Gymnasium's pictures in pixels."""
        return PICTURE_SIZE

    def make(self, num_envs: int, num_threads: int = 1) -> GymnasiumVector:
        """Return a vector of landers, each on its own moon; `num_threads` has no effect."""
        require_box2d()
        from selfpaced.environments.box2d.lunar_lander import ID
        from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment

        contexts = self.contexts
        bridge = GymnasiumEnvironment(
            ID,
            settings=(("continuous", self.continuous), ("enable_wind", True)),
            time_limit=self.max_episode_steps,
            hand_over=ATTRIBUTES,
            append_context="scaled" if self.observe_context else False,
            context_bounds=tuple(zip(contexts.lower, contexts.upper, strict=True)),
        )
        return bridge.make(num_envs, num_threads)
