"""Policies that begin by holding still: behaviour cloning of doing nothing (paper, Appendix C.3).

Episodes with zero actions in initial contexts give the observations; the policy is fitted to act
with zeros there. Only the path to the deterministic action is trained. Other networks stay as they
were drawn; SAC's slow copy of the state value begins as a copy here too, where the library that the
paper used drew it anew.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium.vector import VectorEnv

from selfpaced.environments.host import HostEnvironment
from selfpaced.errors import require
from selfpaced.learners.base import Learner, policy_of
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.training.rollout_host import make_worlds
from selfpaced.training.streams import Purpose, host_stream

NUM_EPISODES = 50
SHARE = 0.7  # of the observations; the rest was held out for validation
BATCH_SIZE = 64
NUM_STEPS = 775  # 25 epochs with the arm, as in the paper's experiments
LEARNING_RATE = 1e-4


def hold_still(problem: Problem, learner: Learner, state: Any, seeds: tuple[int, ...]) -> Any:
    """The learner states of several seeds after imitating zero actions."""
    require(
        hasattr(state, "parameters") and hasattr(state, "_replace"),
        "holding still wants a learner whose state is a NamedTuple with a field `parameters`, got "
        f"{type(state).__name__}; with initial_policy random it works without",
    )
    num_rows, rows = NUM_STEPS * BATCH_SIZE, []
    for seed in seeds:
        rng = host_stream(seed, 0, Purpose.IMITATE)
        observations = rng.permutation(_idle_observations(problem, rng))
        used = observations[: max(1, int(SHARE * len(observations)))]
        epochs = [rng.permutation(len(used)) for _ in range(-(-num_rows // len(used)))]
        rows.append(used[np.concatenate(epochs)[:num_rows]])
    batches = np.stack(rows).reshape(len(seeds), NUM_STEPS, BATCH_SIZE, -1)
    return _imitate(learner, problem.spec.action_size, state, batches)


def _idle_observations(problem: Problem, rng: np.random.Generator) -> Array:
    """Observations [M, O] of at least NUM_EPISODES episodes in which nothing is done."""
    environment, space = problem.environment, problem.contexts
    assert isinstance(environment, HostEnvironment)
    at_once = min(NUM_EPISODES, environment.max_side_by_side)
    worlds = make_worlds(environment, at_once)
    try:
        seen = []
        for _ in range(-(-NUM_EPISODES // at_once)):
            contexts = space.clip(space.initial.sample(rng, at_once))
            seeds = rng.integers(2**31, size=at_once).tolist()
            observation, _ = worlds.reset(seed=seeds, options={"context": contexts})
            seen += _stand_still(problem, worlds, observation)
    finally:
        worlds.close()
    return np.concatenate(seen)


def _stand_still(problem: Problem, worlds: VectorEnv, observation: Array) -> list[Array]:
    """Observations of those still in their episode, step by step, until there are none."""
    alive, seen = np.ones(len(observation), bool), []
    nothing = np.zeros((len(observation), problem.spec.action_size), np.float32)
    for _ in range(problem.environment.max_episode_steps):
        seen.append(observation[alive])
        observation, _, terminated, truncated, _ = worlds.step(nothing)
        alive &= ~(terminated | truncated)
        if not alive.any():
            break
    return seen


@partial(jax.jit, static_argnums=(0, 1))
def _imitate(learner: Learner, action_size: int, state: Any, rows: jax.Array) -> Any:
    optimiser = optax.adam(LEARNING_RATE)
    policy = policy_of(learner)

    def one_seed(state: Any, batches: jax.Array) -> Any:
        def loss(parameters: Any, batch: jax.Array) -> jax.Array:
            still = jnp.zeros((BATCH_SIZE, action_size))
            act = jax.vmap(policy, (0, None, 0))
            return (act(still, state._replace(parameters=parameters), batch) ** 2).mean()

        def step(carry: Any, batch: jax.Array) -> tuple[Any, None]:
            parameters, memory = carry
            steps, memory = optimiser.update(jax.grad(loss)(parameters, batch), memory)
            return (optax.apply_updates(parameters, steps), memory), None

        start = (state.parameters, optimiser.init(state.parameters))
        (parameters, _), _ = jax.lax.scan(step, start, batches)
        return state._replace(parameters=parameters)

    return jax.vmap(one_seed)(state, rows)
