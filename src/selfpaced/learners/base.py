"""The protocol of learners: pure functions that act, estimate values, and improve from a rollout.

A learner is a frozen, final dataclass whose fields are its hyper-parameters. What changes is in its
state, a NamedTuple of JAX arrays; training vectorises all functions over seeds.

`Learner` is required. The protocols below it are optional abilities; each is tested for in one
place, with `isinstance`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax
import optax

from selfpaced.records import Spec

S = TypeVar("S")
S_in = TypeVar("S_in", contravariant=True)


class Rollout(NamedTuple):
    """Consecutive steps of one seed: T steps in each of N environments."""

    observation: jax.Array  # [T, N, O]
    action: jax.Array  # [T, N, A]  as the learner chose it, before clipping to the box
    reward: jax.Array  # [T, N]
    terminated: jax.Array  # [T, N]
    truncated: jax.Array  # [T, N]
    next_observation: jax.Array  # [T, N, O]  before any reset


class Policy(Protocol[S_in]):
    """Chooses actions from a state that is not changed by acting."""

    def policy(self, noise: jax.Array, state: S_in, observation: jax.Array) -> jax.Array:
        """Return an action [A]; `noise` is standard normal, zeros give the deterministic one."""


@runtime_checkable
class Learner(Protocol[S]):
    """Improves a policy and estimates its values."""

    @property
    def steps_per_update(self) -> int | None:
        """Steps of each environment between updates; None means one update per iteration.

        The last update of an iteration follows the steps that remain, which can be fewer.
        """

    def init(self, key: jax.Array, spec: Spec) -> S:
        """Return the state before training."""

    def act(self, noise: jax.Array, state: S, observation: jax.Array) -> jax.Array:
        """Choose an action in training; `noise` is standard normal [spec.noise_size]."""

    def policy(self, noise: jax.Array, state: S, observation: jax.Array) -> jax.Array:
        """Choose an action outside training; zero noise gives the deterministic action."""

    def value(self, state: S, observation: jax.Array) -> jax.Array:
        """Estimate the discounted return from here; SPDL's objective is built on it."""

    def update(
        self, key: jax.Array, spec: Spec, state: S, rollout: Rollout
    ) -> tuple[S, dict[str, jax.Array]]:
        """Improve from the latest steps; return the new state and metrics."""


@runtime_checkable
class ActsInNumPy(Protocol[S]):
    """Acts without JAX, which takes five times as long as NumPy to choose a few actions."""

    def host_state(self, state: S) -> S:
        """Return what acting needs of the states of S seeds, as NumPy arrays [S, ...].

        With them, `act` and `policy` compute in NumPy, for all seeds at once: the noise is
        [S, N, A], the observations are [S, N, O].
        """


@runtime_checkable
class ClonesBehaviour(Protocol[S]):
    """Can be fitted to given actions by gradient descent on its policy."""

    def parameters(self, state: S) -> optax.Params:
        """Return the parameters that `policy` depends on."""

    def with_parameters(self, state: S, parameters: optax.Params) -> S:
        """Return the state with these parameters."""


@runtime_checkable
class KeepsReplay(Protocol[S]):
    """Has past steps in its state, which are large and needed for training only."""

    def without_replay(self, state: S) -> S:
        """Return the state with None in place of the past steps."""


@runtime_checkable
class ChecksWorkload(Protocol):
    """Cannot be used with every problem and budget, and refuses them before training starts."""

    def require_workload(self, spec: Spec, steps_per_iteration: int, num_environments: int) -> None:
        """Raise `SelfpacedError` if it cannot be trained in this way."""


AnyLearner = Learner[Any]  # where the type of its state does not matter
LEARNER_ABILITIES = (ActsInNumPy, ClonesBehaviour, KeepsReplay, ChecksWorkload)
