"""What an environment is to a learner that runs on the same device: pure functions of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax

State = Any


class Step(NamedTuple):
    """What one action led to. The observation is the one *before* any reset."""

    state: State
    observation: jax.Array  # [O]
    reward: jax.Array
    terminated: jax.Array  # the environment ended the episode
    truncated: jax.Array  # the time limit did
    success: jax.Array  # whether this step fulfils the purpose of the context


class Spec(NamedTuple):
    """All that a learner needs to know about a problem. Hashable: it selects compiled code."""

    observation_size: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    discount: float

    @property
    def action_size(self) -> int:
        """Number of action components."""
        return len(self.action_low)


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
        """No episode can be shorter, unless a simulation breaks down; 1 if nobody knows better."""

    @property
    def max_episode_steps(self) -> int:
        """The time limit."""


class Environment(AnyEnvironment, Protocol):
    """One simulated world, as pure and vmappable functions; nothing resets by itself.

    Randomness comes in as standard normal `noise`, drawn by the caller for many steps at once:
    on a CPU that is several times faster than a random key per step, and it lets a test replay
    the same noise through another face of the same environment.
    """

    @property
    def noise_size(self) -> int:
        """How many standard normals one step consumes."""

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, State]:
        """Begin an episode in this context; returns its first observation."""

    def step(self, noise: jax.Array, state: State, action: jax.Array) -> Step:
        """Apply one action."""
