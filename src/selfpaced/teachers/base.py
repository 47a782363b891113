"""The protocol of teachers: sample contexts, update from the episodes that ended in them.

A teacher is a frozen, final dataclass whose fields are its hyper-parameters. What changes is in its
state, a NamedTuple of NumPy arrays. What does not change (the box, the initial and the
target distribution) is the argument `contexts`.

`Teacher` is required. The protocols below it are optional abilities; each is tested for in one
place, with `isinstance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian, Role
from selfpaced.records import Array, Episodes, Metrics

S = TypeVar("S")
S_in = TypeVar("S_in", contravariant=True)


@runtime_checkable
class Teacher(Protocol[S]):
    """Chooses the contexts of the next episodes."""

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> S:
        """Return the state before anything has been learned."""

    def sample(self, rng: np.random.Generator, contexts: ContextSpace, state: S, num: int) -> Array:
        """Draw the contexts [num, C] of the next episodes, in order. Pure."""

    def update(
        self, rng: np.random.Generator, contexts: ContextSpace, state: S, episodes: Episodes
    ) -> tuple[S, Metrics]:
        """Learn from the episodes that ended since the last call; called once per iteration."""


@runtime_checkable
class UpdatesBlocks(Protocol[S]):
    """Updates several seeds at once, faster than one after the other."""

    def update_block(
        self,
        rngs: Sequence[np.random.Generator],
        contexts: ContextSpace,
        states: Sequence[S],
        episodes: Sequence[Episodes],
    ) -> list[tuple[S, Metrics]]:
        """Return what `update` would return for each seed."""


@runtime_checkable
class ReusesEpisodes(Protocol[S]):
    """Uses episodes again after later updates of the learner, whose values have then changed."""

    def remembered(self, state: S) -> Array:
        """Return the first observations [M, O] of the remembered episodes."""

    def revalued(self, state: S, values: Array) -> S:
        """Return the state with new value estimates [M] of these episodes."""


@runtime_checkable
class HasGaussian(Protocol[S_in]):
    """Draws its contexts from a Gaussian."""

    def gaussian(self, contexts: ContextSpace, state: S_in) -> Gaussian | None:
        """Return the current distribution, None if it is not a Gaussian on this problem."""


@runtime_checkable
class HasParticles(Protocol[S_in]):
    """Represents the distribution of its contexts by equally likely particles."""

    def particles(self, contexts: ContextSpace, state: S_in) -> Array:
        """Return the particles [N, C], inside the box."""


@runtime_checkable
class RequiresGaussians(Protocol):
    """Works only with a Gaussian as initial distribution, target, or both."""

    @property
    def required_gaussians(self) -> tuple[Role, ...]:
        """Which of "initial" and "target" must be Gaussians."""


@runtime_checkable
class GivesAdvice(Protocol[S_in]):
    """Warns about settings that keep a curriculum from working."""

    def advice(self, contexts: ContextSpace, state: S_in, num_remaining: int) -> tuple[str, ...]:
        """Return warnings, given the number of iterations that are left."""


@runtime_checkable
class UsesValues(Protocol):
    """Declares whether it uses the values of episodes; returns are a noisy substitute."""

    @property
    def uses_values(self) -> bool:
        """Whether `Episodes.value` has an effect with these settings."""


@runtime_checkable
class MayLeaveBox(Protocol):
    """Can be set to sample contexts outside the box, which only environments in JAX accept."""

    @property
    def stays_in_box(self) -> bool:
        """Whether all sampled contexts lie in the box."""


AnyTeacher = Teacher[Any]  # where the type of its state does not matter
TEACHER_ABILITIES = (
    UpdatesBlocks,
    ReusesEpisodes,
    HasGaussian,
    HasParticles,
    RequiresGaussians,
    GivesAdvice,
    UsesValues,
    MayLeaveBox,
)
