"""What a learner is: pure functions that act, estimate values, and improve from a rollout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax

from selfpaced.environments.base import Spec

State = Any


class Rollout(NamedTuple):
    """Consecutive steps of one seed: T steps in each of N environments."""

    observation: jax.Array  # [T, N, O]
    action: jax.Array  # [T, N, A]  as the learner chose it, before clipping to the box
    reward: jax.Array  # [T, N]
    terminated: jax.Array  # [T, N]
    truncated: jax.Array  # [T, N]
    next_observation: jax.Array  # [T, N, O]  before any reset


class Learner(Protocol):
    """A frozen dataclass of hyper-parameters; everything that changes is in its state.

    A field `replay` of the state is for training only: the final policies are kept without it.
    """

    @property
    def steps_per_update(self) -> int | None:
        """Environment steps between updates; None means once per iteration."""

    def init(self, key: jax.Array, spec: Spec) -> State:
        """Draw initial parameters."""

    def act(self, noise: jax.Array, state: State, observation: jax.Array) -> jax.Array:
        """Choose an action; `noise` is standard normal [A], zeros give the deterministic action."""

    def value(self, state: State, observation: jax.Array) -> jax.Array:
        """Estimate the discounted return from here: what SPDL listens to."""

    def update(
        self, key: jax.Array, spec: Spec, state: State, rollout: Rollout
    ) -> tuple[State, dict[str, jax.Array]]:
        """Improve from the latest steps."""


def policy_of(learner: Learner) -> Callable[[jax.Array, State, jax.Array], jax.Array]:
    """How the learner acts when it is not training: some begin with random actions."""
    return getattr(learner, "policy", learner.act)


@runtime_checkable
class ActsInNumPy(Protocol):
    """What a learner may offer beyond `Learner`, for speed in the loop around a simulator.

    There JAX takes five times as long as NumPy to choose a few actions.
    """

    def host_state(self, state: State) -> State:
        """What acting needs, as NumPy arrays: `act` takes it, with rows [N, A] and [N, O]."""
