"""Evaluating a policy: independent episodes side by side, nothing is learned from them."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from selfpaced.learners.base import Learner, policy_of
from selfpaced.problems import Problem


class Evaluation(NamedTuple):
    """Outcome of every episode, [S, 2, M]: stochastic policy first, then the deterministic one."""

    discounted_return: jax.Array
    success: jax.Array
    length: jax.Array
    unstable: jax.Array | None = None  # of simulators that can break down


@partial(jax.jit, static_argnums=(0, 1))
def evaluate(
    problem: Problem, learner: Learner, keys: jax.Array, learner_state: Any, contexts: jax.Array
) -> Evaluation:
    """Run one episode per context [S, M, C] with each policy; both meet the same disturbances."""

    def one_seed(key: jax.Array, state: Any, contexts: jax.Array) -> Evaluation:
        key_noise, key_reset = jax.random.split(key)
        size = problem.spec.action_size + problem.environment.noise_size
        shape = (problem.environment.max_episode_steps, len(contexts), size)
        noise = jax.random.normal(key_noise, shape)
        keys = jax.random.split(key_reset, len(contexts))

        def episodes(boldness: jax.Array) -> Evaluation:
            run = partial(run_episode, problem, learner, state, boldness)
            return jax.vmap(run, (0, 0, 1))(keys, contexts, noise)[0]

        return jax.vmap(episodes)(jnp.array([1.0, 0.0]))

    return jax.vmap(one_seed)(keys, learner_state, contexts)


@partial(jax.jit, static_argnums=(0, 1))
def record_observations(
    problem: Problem, learner: Learner, key: jax.Array, learner_state: Any, context: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """One stochastic episode of one seed: observations [T + 1, O], and which were reached."""
    key_noise, key_reset = jax.random.split(key)
    size = problem.spec.action_size + problem.environment.noise_size
    noise = jax.random.normal(key_noise, (problem.environment.max_episode_steps, size))
    return run_episode(
        problem, learner, learner_state, jnp.float32(1.0), key_reset, context, noise
    )[1]


def run_episode(
    problem: Problem,
    learner: Learner,
    learner_state: Any,
    boldness: jax.Array,
    key: jax.Array,
    context: jax.Array,
    noise: jax.Array,
) -> tuple[Evaluation, tuple[jax.Array, jax.Array]]:
    """One episode: its outcome, its observations, and which of them were reached.

    `boldness` scales the noise of the actions: one is the stochastic policy, zero the other.
    """
    environment, spec, policy = problem.environment, problem.spec, policy_of(learner)

    def step(carry: Any, inputs: tuple[jax.Array, jax.Array]) -> tuple[Any, Any]:
        state, observation, alive, outcome = carry
        weight, noise = inputs
        action = policy(boldness * noise[: spec.action_size], learner_state, observation)
        legal = jnp.clip(action, jnp.array(spec.action_low), jnp.array(spec.action_high))
        after = environment.step(noise[spec.action_size :], state, legal)
        outcome = Evaluation(
            outcome.discounted_return + jnp.where(alive, weight * after.reward, 0.0),
            jnp.where(alive, after.success, outcome.success),  # the flag of the last step counts
            outcome.length + alive,
        )
        goes_on = alive & ~after.terminated & ~after.truncated
        return (after.state, after.observation, goes_on, outcome), (after.observation, alive)

    first, state = environment.reset(key, context)
    weights = spec.discount ** jnp.arange(len(noise))
    nothing = Evaluation(jnp.float32(0.0), jnp.bool_(False), jnp.int32(0))
    start = (state, first, jnp.bool_(True), nothing)
    (*_, outcome), (observations, reached) = jax.lax.scan(step, start, (weights, noise))
    path = jnp.concatenate([first[None], observations])
    return outcome, (path, jnp.concatenate([jnp.ones(1, bool), reached]))
