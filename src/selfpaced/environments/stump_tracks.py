"""Walk over stumps: the Stump Tracks of TeachMyAgent, rebuilt on Gymnasium's BipedalWalker.

The context is the height of the stumps and the ground between them. The constants are those of
TeachMyAgent (Romac et al., ICML 2021); body, sensors and reward are Gymnasium's, and the same. The
policy observes the stumps by its lidar, not the context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.distributions.uniform import Uniform
from selfpaced.environments.box2d.library import require_box2d
from selfpaced.validation import require_positive

if TYPE_CHECKING:
    from selfpaced.environments.gymnasium_bridge import GymnasiumVector

ATTRIBUTES = ("stump_height", "stump_spacing")  # of the environment on the host
PICTURE_SIZE = (600, 400)  # pixels

STUMP_TRACKS_CONTEXTS = ContextSpace(
    names=("height", "spacing"),
    lower=(0.0, 0.0),
    upper=(3.0, 6.0),
    initial=Gaussian.diagonal((0.0, 6.0), (0.3, 0.6)),
    target=Uniform((0.0, 0.0), (3.0, 6.0)),
)


@final
@dataclass(frozen=True)
class StumpTracks:
    """A walker with two legs and a lidar, simulated by Box2D on the host.

    Heights are in steps of the terrain (0.47), spacings in units of its length. An episode ends
    when the hull touches anything, behind the start, or at the end of the track.

    Raises:
        SelfpacedError: a setting is out of range; from `make`, Box2D is not installed.

    Examples:
        >>> from selfpaced.environments.stump_tracks import StumpTracks
        >>> StumpTracks().observation_size, StumpTracks().action_high
        (24, (1.0, 1.0, 1.0, 1.0))
    """

    max_episode_steps: int = 2000
    """time limit in steps of 0.02 s"""

    def __post_init__(self) -> None:
        require_positive(self, "max_episode_steps")

    @property
    def context_size(self) -> int:
        """Height and spacing; every height can be built, also one that cannot be crossed."""
        return len(ATTRIBUTES)

    @property
    def observation_size(self) -> int:
        """Four numbers of the hull, ten of the legs, ten of the lidar."""
        return 24

    @property
    def action_low(self) -> tuple[float, ...]:
        """Torques of hips and knees."""
        return (-1.0,) * 4

    @property
    def action_high(self) -> tuple[float, ...]:
        """Torques of hips and knees."""
        return (1.0,) * 4

    @property
    def min_episode_steps(self) -> int:
        """At most 15: the hull falls two metres before it touches the ground."""
        return min(15, self.max_episode_steps)

    @property
    def max_side_by_side(self) -> int:
        """64: copies are stepped one after the other, and more of them are not faster."""
        return 64

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height of Gymnasium's pictures in pixels."""
        return PICTURE_SIZE

    def make(self, num_envs: int, num_threads: int = 1) -> GymnasiumVector:
        """Return a vector of walkers, each on its own track; `num_threads` has no effect."""
        require_box2d()
        from selfpaced.environments.box2d.stump_tracks import ID
        from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment

        bridge = GymnasiumEnvironment(
            ID,
            settings=(("time_limit", self.max_episode_steps),),
            time_limit=self.max_episode_steps,
            hand_over=ATTRIBUTES,
        )
        return bridge.make(num_envs, num_threads)
