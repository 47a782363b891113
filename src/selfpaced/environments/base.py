"""The protocol of environments: pure functions in JAX, or settings that make vectors on the host.

`Environment` runs in JAX, compiled together with the learner. `HostEnvironment` is simulated
outside JAX (MuJoCo, any Gymnasium environment): it makes Gymnasium vector environments that fulfil
more than Gymnasium's interface:

- no row resets by itself,
- `reset(seed=[...], options={"context": [N, C], "reset_mask": [N]})` gives every row that starts
  an episode a context and a seed of its own; its randomness depends on that seed alone,
- `info["success"]` [N] accompanies every step, and so does `info["unstable"]` where a simulation
  can break down,
- a row whose episode is over may be stepped: nothing changes in it, its reward is zero,
- if the settings have `contexts`, no problem may leave that box.

Optional abilities are protocols of their own, tested for with `isinstance`: drawing and saving in
one place of training and in one of the Gymnasium adapters, all others in a single place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedError
from selfpaced.records import Array

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

S = TypeVar("S")
S_in = TypeVar("S_in", contravariant=True)


class RowError(SelfpacedError):
    """Raised by a vector environment if one of its rows fails, which concerns one seed only."""

    def __init__(self, message: object, row: int = 0) -> None:
        super().__init__(str(message))
        self.row: int = getattr(message, "row", row)  # a process sends the error in another one


class Step(NamedTuple):
    """Outcome of one action. The observation is the one *before* any reset."""

    state: Any
    observation: jax.Array  # [O]
    reward: jax.Array
    terminated: jax.Array  # the environment ended the episode
    truncated: jax.Array  # the time limit did
    success: jax.Array  # whether this step fulfils the purpose of the context


class AnyEnvironment(Protocol):
    """What is known of an environment before it runs, wherever it is simulated."""

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
        """Length of the shortest episode; 1 is always safe."""

    @property
    def max_episode_steps(self) -> int:
        """The time limit."""


class Environment(AnyEnvironment, Protocol[S]):
    """One environment as pure, vmappable functions; it does not reset by itself.

    Randomness is passed in as standard normal `noise`, drawn by the caller for many steps at once:
    on a CPU that is several times faster than a random key per step, and tests can replay the same
    noise through an adapter of the same environment.
    """

    @property
    def noise_size(self) -> int:
        """Number of standard normals that one step consumes."""

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, S]:
        """Start an episode in this context; return its first observation and state."""

    def step(self, noise: jax.Array, state: S, action: jax.Array) -> Step:
        """Apply one action."""


@runtime_checkable
class HostEnvironment(AnyEnvironment, Protocol):
    """An environment simulated outside JAX, as a frozen dataclass of its settings."""

    @property
    def max_side_by_side(self) -> int:
        """Number of copies that one process can hold."""

    def make(self, num_envs: int, num_threads: int = 1) -> VectorEnv:
        """Return a vector of environments that are stepped together."""


@runtime_checkable
class HasContexts(Protocol):
    """An environment built for a certain box of contexts, which no problem may leave."""

    @property
    def contexts(self) -> ContextSpace:
        """The box, with the distributions that are used if none are given."""


@runtime_checkable
class HasContextSize(Protocol):
    """An environment that takes contexts with a certain number of components."""

    @property
    def context_size(self) -> int:
        """The number of components."""


@runtime_checkable
class MayLackSuccess(Protocol):
    """An environment that may have no notion of success."""

    @property
    def reports_success(self) -> bool:
        """Whether the success of its steps has a meaning; otherwise it is always false."""


@runtime_checkable
class HasDiscreteActions(Protocol):
    """An environment whose actions can be discrete."""

    @property
    def has_discrete_actions(self) -> bool:
        """Whether every component is a whole number from `action_low` to `action_high`.

        Such actions come as integers, int32 [A] in JAX and int64 [N, A] on the host.
        """


@runtime_checkable
class HasPicture(Protocol):
    """An environment whose episodes can be drawn."""

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height in pixels that suit its pictures."""


@runtime_checkable
class DrawsStates(HasPicture, Protocol[S_in]):
    """An environment in JAX that draws an episode from its states."""

    @property
    def steps_per_second(self) -> float:
        """Steps in a second of simulated time."""

    def draw(self, states: Sequence[S_in], terminated: bool) -> Array:
        """Return a picture, uint8 [height, width, 3], of the episode so far."""


@runtime_checkable
class RendersRows(Protocol):
    """A vector environment that draws one of its rows."""

    def render_row(self, index: int, width: int, height: int) -> Array:
        """Return a picture, uint8 [height, width, 3]."""


@runtime_checkable
class SavesState(Protocol):
    """A vector environment whose state can be saved in mid-episode.

    Without this ability a resumed run starts new episodes.
    """

    def get_state(self) -> dict[str, Array]:
        """Return everything needed to continue bit-identically."""

    def set_state(self, state: dict[str, Array]) -> None:
        """Continue from what `get_state` returned."""
