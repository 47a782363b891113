"""What an environment is to us when it is simulated outside JAX: settings that make vectors of it.

The vector environments keep to Gymnasium's interface with nothing that resets by itself, and to a
few promises of ours on top:

- `reset(seed=[...], options={"context": [N, C], "reset_mask": [N]})` gives every row that begins
  an episode a context and a seed of its own; what is random in it depends on that seed alone,
- `info["success"]` [N] accompanies every step, and so does `info["unstable"]` where a simulation
  can break down,
- a row whose episode is over may be stepped: nothing happens in it, its reward is zero,
- if the settings have `contexts`, that is the box it is built for, which no problem may leave,
- `get_state()` and `set_state()` hold everything that a run needs to go on to the same bits; an
  environment that cannot be saved has neither, and begins new episodes when a run is resumed.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gymnasium.vector import VectorEnv

from selfpaced.environments.base import AnyEnvironment


@runtime_checkable
class HostEnvironment(AnyEnvironment, Protocol):
    """One simulated world as a frozen dataclass of its settings."""

    @property
    def max_side_by_side(self) -> int:
        """How many copies one process can reasonably hold."""

    def make(self, num_envs: int, num_threads: int = 1) -> VectorEnv:
        """So many worlds, stepped together."""
