"""The trained policy of a run, for use outside this library or as the start of another run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, final

import jax
import numpy as np
from numpy.typing import ArrayLike

from selfpaced.errors import require
from selfpaced.learners.base import AnyLearner, Policy
from selfpaced.records import Array, Spec
from selfpaced.runs.folder import RunFolder
from selfpaced.sprl.policy import EpisodicPolicy

S = TypeVar("S")


@final
@dataclass(frozen=True)
class TrainedPolicy:
    """A trained learner of one seed: acts, and estimates values. Made by `load_policy`.

    Calling it with observations [..., O] returns legal actions [..., A]; a single discrete
    action is a whole number, without the axis of components.
    """

    learner: AnyLearner | EpisodicPolicy
    """learner that was trained"""
    state: Any
    """its state after the last iteration or at its best evaluation, without past steps"""
    spec: Spec
    """sizes and bounds of observations and actions"""
    rng: np.random.Generator | None = field(default=None, compare=False)
    """source of the noise of actions; None acts without noise"""

    def __call__(self, observation: ArrayLike) -> Array:
        """Return an action for one observation [O], or actions for a batch [..., O].

        Raises:
            SelfpacedError: the observations have another size.
        """
        observed = self._check(observation)
        shape = (*observed.shape[:-1], self.spec.noise_size)
        noise = np.zeros(shape, np.float32)
        if self.rng is not None:
            noise = self.rng.standard_normal(shape, np.float32)
        action = np.asarray(_act(self.learner, self.state, noise, observed))
        legal: Array = np.clip(action, self.spec.action_low, self.spec.action_high)
        return _as_members(self.spec, legal)

    def value(self, observation: ArrayLike) -> Array:
        """Return the critic's estimates [...] of the discounted return from observations [..., O].

        Raises:
            SelfpacedError: the observations have another size.
        """
        observed = self._check(observation)
        return np.asarray(_value(self.learner, self.state, observed))

    def _check(self, observation: ArrayLike) -> Array:
        observed, size = np.asarray(observation, np.float32), self.spec.observation_size
        require(
            observed.ndim > 0 and observed.shape[-1] == size,
            f"observation must have shape ({size},) or (..., {size}), got {observed.shape}",
        )
        return observed


def load_policy(
    folder: Path | str,
    seed: int | None = None,
    deterministic: bool = True,
    trust: bool = False,
) -> TrainedPolicy:
    """Return the policy that a run has kept of one seed: a function from observations to actions.

    Args:
        folder: the run folder.
        seed: which of its seeds; None takes the first.
        deterministic: act without noise. SPRL always acts with its mean weights.
        trust: import modules that the folder names, which runs their code.

    Returns:
        A function of one observation or a batch of them, as our Gymnasium environments give them.
        Its method `value` returns the critic's estimates, and `run(..., start=...)` trains on from
        it.

    Raises:
        SelfpacedError: the folder is not a run folder, or has no such seed.

    Examples:
        >>> import gymnasium
        >>> from selfpaced import load_policy
        >>> environment = gymnasium.make("selfpaced/PointMass3D-v0")
        >>> observation, info = environment.reset(seed=0, options={"context": (2.0, 1.0, 0.0)})
        >>> policy = load_policy("runs/point-mass-3d-spdl-ppo", seed=1)
        >>> environment.action_space.contains(policy(observation))
        True
        >>> policy([observation, observation]).shape, policy.value(observation).shape
        ((2, 2), ())
    """
    run = RunFolder(Path(folder), trust)
    experiment = run.experiment()
    seed = experiment.seeds[0] if seed is None else seed
    state = jax.tree.map(lambda array: array[0], final_learners(run, (seed,)))
    rng = None if deterministic else np.random.default_rng(seed)
    return TrainedPolicy(experiment.method.policy, state, experiment.resolved.spec, rng)


def final_learners(run: RunFolder, seeds: tuple[int, ...]) -> Any:
    """Return the learners of some seeds, as arrays on the host with a leading axis of seeds."""
    known = run.experiment().seeds
    for seed in seeds:
        names = ", ".join(map(str, known))
        require(seed in known, f"seed must be one of {names} in {run.path}, got {seed}")
    places = [known.index(seed) for seed in seeds]
    return jax.tree.map(lambda array: np.asarray(array)[places], run.learner_states())


def _as_members(spec: Spec, actions: Array) -> Array:
    """Return actions as Gymnasium's spaces have them: whole numbers of `Discrete` have no axis."""
    if not spec.has_discrete_actions:
        return actions.astype(np.float32)
    whole = actions.astype(np.int64)
    return whole[..., 0] if spec.action_size == 1 else whole


@partial(jax.jit, static_argnums=0)
def _act(policy: Policy[S], state: S, noise: jax.Array, observation: jax.Array) -> jax.Array:
    """Actions [..., A]; a policy itself is a function of one observation."""

    def act(noise: jax.Array, observed: jax.Array) -> jax.Array:
        return policy.policy(noise, state, observed)

    for _ in range(observation.ndim - 1):
        act = jax.vmap(act)
    return act(noise, observation)


@partial(jax.jit, static_argnums=0)
def _value(learner: AnyLearner, state: S, observation: jax.Array) -> jax.Array:
    return learner.value(state, observation)
