"""What an environment is to us when it is simulated outside JAX: settings that make vectors of it.

The vector environments keep to Gymnasium's interface with nothing that resets by itself, and to a
few promises of ours on top:

- `reset(seed=[...], options={"context": [N, C], "reset_mask": [N]})` gives every row that begins
  an episode a context and a seed of its own; what is random in it depends on that seed alone,
- `info["success"]` and `info["unstable"]` [N] accompany every step,
- a row whose episode is over may be stepped: nothing happens in it, its reward is zero,
- `get_state()` and `set_state()` hold everything that a run needs to go on to the same bits; an
  environment that cannot be saved has neither, and begins new episodes when a run is resumed.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gymnasium.vector import VectorEnv


@runtime_checkable
class HostEnvironment(Protocol):
    """One simulated world as a frozen dataclass of its settings."""

    @property
    def observation_size(self) -> int:
        """Length of an observation, visible context included."""

    @property
    def action_low(self) -> tuple[float, ...]:
        """Lower bound of every action component."""

    @property
    def action_high(self) -> tuple[float, ...]:
        """Upper bound of every action component."""

    @property
    def min_episode_steps(self) -> int:
        """No episode can be shorter; one if nothing better is known."""

    @property
    def max_episode_steps(self) -> int:
        """The time limit."""

    @property
    def max_side_by_side(self) -> int:
        """How many copies one process can reasonably hold."""

    def make(self, num_envs: int, num_threads: int = 1) -> VectorEnv:
        """So many worlds, stepped together."""
