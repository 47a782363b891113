"""The simulator in JAX: rollout and learning compiled for a whole block of seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar, final

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.errors import require
from selfpaced.learners.base import Learner, Policy
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes
from selfpaced.training.jax_episodes import drawing_of, run_episodes
from selfpaced.training.jax_rollout import Actor, Collector, EpisodeEnds, collect, idle_actors
from selfpaced.training.simulator import ContextSource, EpisodeBatch, Interaction, Show
from selfpaced.training.streams import Streams

S = TypeVar("S")
P = TypeVar("P")
LearnerMetrics = dict[str, jax.Array]


@final
@dataclass(frozen=True)
class JaxSimulator(Generic[S]):
    """Runs a problem whose environment is written in JAX."""

    problem: Problem
    learner: Learner[S]
    num_seeds: int
    num_environments: int  # per seed
    num_steps: int  # per iteration and environment

    @property
    def steps_per_second(self) -> float:
        """Environment steps in a second of simulated time, for video."""
        return drawing_of(self.problem).steps_per_second

    def idle(self) -> Actor:
        """Return actors that start their first episode with the next step."""
        actors: Actor = _init_actors(self.problem, self.num_environments, self.num_seeds)
        return actors

    def interact(
        self, streams: Streams, contexts: ContextSource, learner_state: S, actors: Actor
    ) -> Interaction[S, Actor]:
        """Run one iteration of training; the given states are donated."""
        learner, actors, *outcome = _learn_block(
            self.problem,
            self.learner,
            self.num_steps,
            streams.keys,
            learner_state,
            actors,
            jnp.asarray(contexts.first, jnp.float32),
        )
        ends, metrics, num_issued = jax.device_get(outcome)
        num_contexts = contexts.first.shape[1]
        require(
            num_issued.max() <= num_contexts,
            f"min_episode_steps of {self.problem.name} is too large: over {num_contexts} episodes "
            "started in one iteration; lower it (1 is always safe)",
        )
        seeds = range(self.num_seeds)
        return Interaction(
            learner,
            actors,
            tuple(_episodes(index, ends) for index in seeds),
            tuple(
                {name: float(column[index]) for name, column in metrics.items()} for index in seeds
            ),
        )

    def episodes(
        self,
        streams: Streams,
        contexts: Array,
        policy: Policy[P],
        state: P,
        *,
        noise_scales: tuple[float, ...] = (1.0, 0.0),
        keep_path: bool = False,
        show: Show | None = None,
    ) -> EpisodeBatch:
        """Run one episode per context [S, M, C] and noise scale; see `Simulator`."""
        return run_episodes(
            self.problem,
            streams,
            contexts,
            policy,
            state,
            noise_scales=noise_scales,
            keep_path=keep_path,
            show=show,
        )

    def close(self) -> None:
        """Do nothing: there are no threads or processes."""


@partial(jax.jit, static_argnums=(0, 1, 2))
def _init_actors(problem: Problem, num_environments: int, num_seeds: int) -> Actor:
    return jax.vmap(lambda _: idle_actors(problem, num_environments))(jnp.arange(num_seeds))


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=(4, 5))
def _learn_block(
    problem: Problem,
    learner: Learner[S],
    num_steps: int,
    keys: jax.Array,
    learner_state: S,
    actors: Actor,
    contexts: jax.Array,
) -> tuple[S, Actor, EpisodeEnds, LearnerMetrics, jax.Array]:
    """Roll out and learn, for all seeds; compiled once for a whole experiment."""
    learn_seed = partial(_learn_seed, problem, learner, num_steps)
    return jax.vmap(learn_seed)(keys, learner_state, actors, contexts)


def _learn_seed(
    problem: Problem,
    learner: Learner[S],
    num_steps: int,
    key: jax.Array,
    learner_state: S,
    actors: Actor,
    contexts: jax.Array,
) -> tuple[S, Actor, EpisodeEnds, LearnerMetrics, jax.Array]:
    """Collect and update in turns: on-policy learners once, others after every few steps.

    Where these do not divide an iteration, its last turn has the steps that remain.
    """
    num_environments = len(actors.ended)
    per_update = num_steps if learner.steps_per_update is None else learner.steps_per_update
    num_whole, num_remaining = divmod(num_steps, per_update)
    key_noise, key_reset, key_update = jax.random.split(key, 3)
    # all noise at once: drawing it step by step would cost more than the physics
    size = problem.spec.noise_size + problem.jax_environment.noise_size
    noise = jax.random.normal(key_noise, (num_steps, num_environments, size))
    reset_keys = jax.random.split(key_reset, num_steps)
    update_keys = jax.random.split(key_update, num_whole + (num_remaining > 0))

    def turn(
        carry: tuple[S, Collector], inputs: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[tuple[S, Collector], tuple[EpisodeEnds, LearnerMetrics]]:
        state, collector = carry
        keys, noise, key = inputs
        collector, rollout, ends = collect(
            keys, noise, problem, learner, state, collector, contexts
        )
        state, metrics = learner.update(key, problem.spec, state, rollout)
        return (state, collector), (ends, metrics)

    start = (learner_state, Collector(actors, jnp.int32(0)))
    num_in_turns = num_whole * per_update
    turns = (
        reset_keys[:num_in_turns].reshape(num_whole, per_update),
        noise[:num_in_turns].reshape(num_whole, per_update, *noise.shape[1:]),
        update_keys[:num_whole],
    )
    end, (ends, metrics) = jax.lax.scan(turn, start, turns)
    ends = jax.tree.map(lambda array: array.reshape(num_in_turns, *array.shape[2:]), ends)
    if num_remaining:
        last = (reset_keys[num_in_turns:], noise[num_in_turns:], update_keys[-1])
        end, (last_ends, last_metrics) = turn(end, last)
        ends = jax.tree.map(lambda *parts: jnp.concatenate(parts), ends, last_ends)
        metrics = jax.tree.map(jnp.append, metrics, last_metrics)
    state, collector = end
    return state, collector.actors, ends, jax.tree.map(jnp.mean, metrics), collector.num_issued


def _episodes(index: int, ends: EpisodeEnds) -> Episodes:
    """The episodes of one seed in the order of their end; `ends` holds NumPy arrays."""
    ended = np.asarray(ends.ended[index])
    context, first_observation, discounted_return, success, length = (
        np.asarray(column[index])[ended]
        for column in (
            ends.context,
            ends.first_observation,
            ends.discounted_return,
            ends.success,
            ends.length,
        )
    )
    return Episodes(
        context=context.astype(np.float64),
        first_observation=first_observation,
        discounted_return=discounted_return.astype(np.float64),
        value=np.zeros(len(context)),
        success=success,
        length=length,
    )
