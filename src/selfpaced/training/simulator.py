"""The protocol of simulators, which run episodes in JAX or on the host.

All episodes are run by one of two methods: `interact` updates the learner on the way, `episodes`
runs whole episodes from which nothing is learned (evaluation, figures, video, behaviour cloning).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numpy.typing import ArrayLike

from selfpaced.learners.base import Policy
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.training.streams import Streams


class Actors(Protocol):
    """Episodes in flight, with arrays [S, N, ...] for N environments of S seeds."""

    @property
    def observation(self) -> ArrayLike:
        """The current observations [S, N, O]."""


S = TypeVar("S")  # state of the learner
A = TypeVar("A", bound=Actors)
P = TypeVar("P")  # state of a policy


class ContextSource(NamedTuple):
    """Contexts for the episodes of one iteration, in order.

    How many episodes will start is only known afterwards. `first` is enough unless a simulation
    breaks down and ends episodes early.
    """

    first: Array  # [S, K, C]
    draw_more: Callable[[int], Array]  # index of a seed -> [K, C]


class Interaction(NamedTuple, Generic[S, A]):
    """Outcome of one iteration of training for every seed."""

    learner: S
    actors: A
    episodes: tuple[Episodes, ...]  # their values are still zero
    metrics: tuple[Metrics, ...]


class EpisodeBatch(NamedTuple):
    """Outcome of whole episodes: S seeds, V variants of the policy's noise, M contexts."""

    first_observation: Array  # [S, M, O]
    discounted_return: Array  # [S, V, M]
    success: Array  # [S, V, M]  of the last step
    terminated: Array  # [S, V, M]
    length: Array  # [S, V, M]
    unstable: Array | None  # [S, V, M]  of simulations that can break down
    path: Array | None  # [S, V, M, T + 1, O]  observations; the last one repeats after the end
    reports_success: bool = True  # whether any step did; otherwise success is false everywhere


class Frame(NamedTuple):
    """One moment of an episode that is shown while it runs."""

    step: int
    is_last: bool
    success: bool
    picture: Callable[[int, int], Array]  # width, height -> uint8 [height, width, 3]


Show = Callable[[Frame], None]


class Simulator(Protocol[S, A]):
    """Runs the episodes of a block of seeds on one problem."""

    @property
    def steps_per_second(self) -> float:
        """Environment steps in a second of simulated time, for video."""

    def idle(self) -> A:
        """Return actors that start their first episode with the next step."""

    def interact(
        self, streams: Streams, contexts: ContextSource, learner_state: S, actors: A
    ) -> Interaction[S, A]:
        """Run one iteration of training.

        The arrays of the given states are donated: do not use them afterwards.
        """

    def episodes(
        self,
        streams: Streams,
        contexts: Array,
        policy: Policy[P],
        state: P,
        *,
        noise_scales: tuple[float, ...] = (1.0, 0.0),
        keep_path: bool = False,
        show: Show | None = None,
    ) -> EpisodeBatch:
        """Run one episode per context [S, M, C] and noise scale.

        Args:
            streams: randomness; all noise scales of a context meet the same disturbances.
            contexts: one context per episode.
            policy: chooses the actions.
            state: of the policy, with a leading axis of seeds.
            noise_scales: 1 is the stochastic policy, 0 the deterministic one.
            keep_path: whether to return the observations.
            show: called at the start of a single episode and after each of its steps.
        """

    def close(self) -> None:
        """End threads and processes."""


AnySimulator = Simulator[Any, Any]
