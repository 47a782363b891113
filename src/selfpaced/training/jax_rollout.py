"""Collect steps from an environment in JAX, with a new context for every episode."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from selfpaced.learners.base import Learner, Rollout
from selfpaced.problems import AnyStateEnvironment, Problem
from selfpaced.records import Spec

S = TypeVar("S")


class Actor(NamedTuple):
    """One environment and the episode that is in flight in it."""

    environment: Any
    observation: jax.Array  # [O]
    context: jax.Array  # [C]
    first_observation: jax.Array  # [O]
    discounted_return: jax.Array  # so far
    length: jax.Array  # so far
    ended: jax.Array  # the next step starts a new episode


class EpisodeEnds(NamedTuple):
    """The episode of each actor up to each step; complete where `ended`."""

    ended: jax.Array
    context: jax.Array
    first_observation: jax.Array
    discounted_return: jax.Array
    success: jax.Array
    length: jax.Array


def idle_actors(problem: Problem, num: int) -> Actor:
    """Return actors that start their first episode with the next step."""
    context = jnp.zeros((num, problem.contexts.size))
    return _fresh_actors(jax.random.key(0), problem.jax_environment, context)._replace(
        ended=jnp.ones(num, bool)
    )


class Collector(NamedTuple):
    """The actors of one seed, and the number of contexts issued to them in this iteration."""

    actors: Actor  # [N, ...]
    num_issued: jax.Array


def collect(
    keys: jax.Array,
    noise: jax.Array,
    problem: Problem,
    learner: Learner[S],
    learner_state: S,
    collector: Collector,
    contexts: jax.Array,
) -> tuple[Collector, Rollout, EpisodeEnds]:
    """Step every actor T times; an episode that starts takes the next context, in order.

    `keys` [T] are for resets; `noise` [T, N, ...] has the normals of an action, then those of the
    environment; `contexts` must hold a row for every episode that can start.
    """

    def step(
        collector: Collector, inputs: tuple[jax.Array, jax.Array]
    ) -> tuple[Collector, tuple[Rollout, EpisodeEnds]]:
        key, noise = inputs
        for_action, for_environment = jnp.split(noise, [problem.spec.noise_size], axis=1)
        actors, num_issued = collector
        starts = actors.ended
        context = contexts[num_issued + jnp.cumsum(starts) - starts]
        actors = _where(starts, _fresh_actors(key, problem.jax_environment, context), actors)
        act = jax.vmap(learner.act, (0, None, 0))
        action = act(for_action, learner_state, actors.observation)
        actors, rollout, ends = _advance(for_environment, problem, actors, action)
        return Collector(actors, num_issued + starts.sum()), (rollout, ends)

    collector, (rollout, ends) = jax.lax.scan(step, collector, (keys, noise))
    return collector, rollout, ends


def legal_action(spec: Spec, action: jax.Array) -> jax.Array:
    """Return the action as the environment gets it: inside its bounds, discrete ones as int32."""
    legal = jnp.clip(action, jnp.array(spec.action_low), jnp.array(spec.action_high))
    return legal.astype(jnp.int32) if spec.has_discrete_actions else legal


def _fresh_actors(key: jax.Array, environment: AnyStateEnvironment, context: jax.Array) -> Actor:
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


def _where(starts: jax.Array, fresh: Actor, actors: Actor) -> Actor:
    def choose(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(starts.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    chosen: Actor = jax.tree.map(choose, fresh, actors)
    return chosen


def _advance(
    noise: jax.Array, problem: Problem, actors: Actor, action: jax.Array
) -> tuple[Actor, Rollout, EpisodeEnds]:
    """One step of every actor; the rollout has the chosen action, the environment a legal one."""
    spec = problem.spec
    legal = legal_action(spec, action)
    after = jax.vmap(problem.jax_environment.step)(noise, actors.environment, legal)
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
