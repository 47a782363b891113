"""Collecting steps from an environment on the device, a new context for every episode."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from selfpaced.environments.base import Environment
from selfpaced.learners.base import Learner, Rollout
from selfpaced.problems import Problem


class Actor(NamedTuple):
    """One environment and the episode that is in flight in it."""

    environment: Any
    observation: jax.Array  # [O]
    context: jax.Array  # [C]
    first_observation: jax.Array  # [O]
    discounted_return: jax.Array  # so far
    length: jax.Array  # so far
    ended: jax.Array  # the next step begins a new episode


class EpisodeEnds(NamedTuple):
    """What is known of the episode at each step; complete where `ended`."""

    ended: jax.Array
    context: jax.Array
    first_observation: jax.Array
    discounted_return: jax.Array
    success: jax.Array
    length: jax.Array


def idle_actors(problem: Problem, num: int) -> Actor:
    """Actors that begin their first episode with the next step."""
    context = jnp.zeros((num, problem.contexts.size))
    return _fresh_actors(jax.random.key(0), problem.environment, context)._replace(
        ended=jnp.ones(num, bool)
    )


class Collector(NamedTuple):
    """The actors of one seed, and how many contexts of this iteration they have taken."""

    actors: Actor  # [N, ...]
    num_issued: jax.Array


def collect(
    keys: jax.Array,
    noise: jax.Array,
    problem: Problem,
    learner: Learner,
    learner_state: Any,
    collector: Collector,
    contexts: jax.Array,
) -> tuple[Collector, Rollout, EpisodeEnds]:
    """Run every actor for T steps; an episode that begins takes the next context, in order.

    `keys` [T] are for resets; `noise` [T, N, ...] has the normals of an action, then those of the
    environment; `contexts` must hold a row for every episode that could possibly begin.
    """

    def step(
        collector: Collector, inputs: tuple[jax.Array, jax.Array]
    ) -> tuple[Collector, tuple[Rollout, EpisodeEnds]]:
        key, noise = inputs
        for_action, for_environment = jnp.split(noise, [problem.spec.action_size], axis=1)
        actors, num_issued = collector
        begins = actors.ended
        context = contexts[num_issued + jnp.cumsum(begins) - begins]
        actors = _where(begins, _fresh_actors(key, problem.environment, context), actors)
        act = jax.vmap(learner.act, (0, None, 0))
        action = act(for_action, learner_state, actors.observation)
        actors, rollout, ends = _advance(for_environment, problem, actors, action)
        return Collector(actors, num_issued + begins.sum()), (rollout, ends)

    collector, (rollout, ends) = jax.lax.scan(step, collector, (keys, noise))
    return collector, rollout, ends


def _fresh_actors(key: jax.Array, environment: Environment, context: jax.Array) -> Actor:
    num = len(context)
    observation, state = jax.vmap(environment.reset)(jax.random.split(key, num), context)
    return Actor(
        environment=state,
        observation=observation,
        context=context,
        first_observation=observation,
        discounted_return=jnp.zeros(num),
        length=jnp.zeros(num, jnp.int32),
        ended=jnp.zeros(num, bool),
    )


def _where(begins: jax.Array, fresh: Actor, actors: Actor) -> Actor:
    def choose(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(begins.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, fresh, actors)


def _advance(
    noise: jax.Array, problem: Problem, actors: Actor, action: jax.Array
) -> tuple[Actor, Rollout, EpisodeEnds]:
    """One step of every actor; the learner remembers its own action, the world gets a legal one."""
    spec = problem.spec
    legal = jnp.clip(action, jnp.array(spec.action_low), jnp.array(spec.action_high))
    after = jax.vmap(problem.environment.step)(noise, actors.environment, legal)
    rollout = Rollout(
        actors.observation,
        action,
        after.reward,
        after.terminated,
        after.truncated,
        after.observation,
    )
    actors = actors._replace(
        environment=after.state,
        observation=after.observation,
        discounted_return=actors.discounted_return + spec.discount**actors.length * after.reward,
        length=actors.length + 1,
        ended=after.terminated | after.truncated,
    )
    ends = EpisodeEnds(
        actors.ended,
        actors.context,
        actors.first_observation,
        actors.discounted_return,
        after.success,
        actors.length,
    )
    return actors, rollout, ends
