"""Policies that start by standing still: behaviour cloning of zero actions (paper, Appendix C.3).

Episodes with zero actions in initial contexts give the observations; the policy is fitted to act
with zeros there. Only the path to the deterministic action is trained; other networks stay as
drawn.

D1  SAC's slow copy of the state value starts as a copy here too, where the library that the paper
    used drew it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from selfpaced.errors import require
from selfpaced.learners.base import ClonesBehaviour, Learner
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.training.simulator import AnySimulator
from selfpaced.training.streams import Purpose, Streams

NUM_EPISODES = 50
SHARE = 0.7  # of the observations; the rest was held out for validation
BATCH_SIZE = 64
NUM_STEPS = 775  # 25 epochs with the arm, as in the paper's experiments
LEARNING_RATE = 1e-4

S = TypeVar("S")


@dataclass(frozen=True)
class StandStill:
    """A policy without a state that acts with zeros."""

    def policy(self, noise: jax.Array, state: tuple[()], observation: jax.Array) -> jax.Array:
        """Return zeros in the shape of an action."""
        return jnp.zeros_like(noise)


def hold_still(
    problem: Problem,
    simulator: AnySimulator,
    learner: Learner[S],
    state: S,
    seeds: tuple[int, ...],
) -> S:
    """Return the learner states of several seeds after cloning zero actions."""
    require(
        isinstance(learner, ClonesBehaviour),
        'initial_policy="hold" requires a learner with parameters(state) and '
        f'with_parameters(state, parameters), got {type(learner).__name__}; use "random"',
    )
    require(
        not problem.spec.has_discrete_actions,
        f'initial_policy="hold" requires continuous actions; those of {problem.name} are discrete; '
        'use "random"',
    )
    num_rows, rows = NUM_STEPS * BATCH_SIZE, []
    for seed in seeds:
        streams = Streams((seed,), 0, Purpose.IMITATE)
        (rng,) = streams.generators
        observations = rng.permutation(_idle_observations(problem, simulator, streams))
        used = observations[: max(1, int(SHARE * len(observations)))]
        epochs = [rng.permutation(len(used)) for _ in range(-(-num_rows // len(used)))]
        rows.append(used[np.concatenate(epochs)[:num_rows]])
    batches = np.stack(rows).reshape(len(seeds), NUM_STEPS, BATCH_SIZE, -1)
    cloned: S = _clone(learner, problem.spec.action_size, state, batches)
    return cloned


def _idle_observations(problem: Problem, simulator: AnySimulator, streams: Streams) -> Array:
    """Observations [M, O] of at least NUM_EPISODES episodes with zero actions."""
    space, (rng,) = problem.contexts, streams.generators
    at_once = min(NUM_EPISODES, problem.host_environment.max_side_by_side)
    seen: list[Array] = []
    for _ in range(-(-NUM_EPISODES // at_once)):
        contexts = space.sample_initial(rng, at_once)
        batch = simulator.episodes(
            streams, contexts[None], StandStill(), (), noise_scales=(0.0,), keep_path=True
        )
        assert batch.path is not None
        path, length = batch.path[0, 0], batch.length[0, 0]
        seen += [path[length > step, step] for step in range(length.max())]
    return np.concatenate(seen)


@partial(jax.jit, static_argnums=(0, 1))
def _clone(learner: ClonesBehaviour[S], action_size: int, state: S, batches: jax.Array) -> S:
    optimiser = optax.adam(LEARNING_RATE)

    def one_seed(state: S, batches: jax.Array) -> S:
        def loss(parameters: optax.Params, batch: jax.Array) -> jax.Array:
            zeros = jnp.zeros((BATCH_SIZE, action_size))
            act = jax.vmap(learner.policy, (0, None, 0))  # type: ignore[attr-defined]
            action: jax.Array = act(zeros, learner.with_parameters(state, parameters), batch)
            return (action**2).mean()

        def step(
            carry: tuple[optax.Params, optax.OptState], batch: jax.Array
        ) -> tuple[tuple[optax.Params, optax.OptState], None]:
            parameters, memory = carry
            steps, memory = optimiser.update(jax.grad(loss)(parameters, batch), memory)
            return (optax.apply_updates(parameters, steps), memory), None

        parameters = learner.parameters(state)
        (parameters, _), _ = jax.lax.scan(step, (parameters, optimiser.init(parameters)), batches)
        return learner.with_parameters(state, parameters)

    cloned: S = jax.vmap(one_seed)(state, batches)
    return cloned
