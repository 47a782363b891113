"""Collecting steps from environments outside JAX, a new context for every episode.

The worlds of all seeds are stepped together: one call acts for all of them, one call simulates.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from selfpaced.environments.host import HostEnvironment
from selfpaced.errors import SelfpacedError, require
from selfpaced.learners.base import Learner, Rollout
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes
from selfpaced.training.block_policy import BlockPolicy
from selfpaced.training.context_supply import ContextSupply
from selfpaced.training.values import values_of


class HostActors(NamedTuple):
    """The episodes in flight; arrays [S, N, ...], and the simulator's own arrays [S * N, ...]."""

    environment: dict[str, Array]
    observation: Array
    context: Array
    first_observation: Array
    discounted_return: Array  # so far
    length: Array  # so far
    ended: Array  # the next step begins a new episode


class Worlds:
    """A vector environment, and whether the episodes in flight are in it."""

    def __init__(self, vector: VectorEnv) -> None:
        self.vector = vector
        self._are_there = False

    def save(self) -> dict[str, Array]:
        """The state of the simulator, if it can be had."""
        return self.vector.get_state() if hasattr(self.vector, "get_state") else {}

    def restore(self, actors: HostActors) -> None:
        """Put the simulator where the actors left it, or let them begin new episodes."""
        if actors.environment:
            self.vector.set_state(actors.environment)  # type: ignore[attr-defined]
        elif not self._are_there:  # but in a process that is gone
            actors.ended[:] = True
        self._are_there = True


def idle_actors(problem: Problem, num_seeds: int, num: int, worlds: Worlds) -> HostActors:
    """Actors that begin their first episode with the next step."""
    shape = (num_seeds, num)
    return HostActors(
        environment=worlds.save(),
        observation=np.zeros((*shape, problem.spec.observation_size), np.float32),
        context=np.zeros((*shape, problem.contexts.size)),
        first_observation=np.zeros((*shape, problem.spec.observation_size), np.float32),
        discounted_return=np.zeros(shape),
        length=np.zeros(shape, np.int64),
        ended=np.ones(shape, bool),
    )


def make_worlds(environment: HostEnvironment, num: int) -> VectorEnv:
    """So many worlds on all cores; they may not begin episodes that nobody has asked for."""
    worlds = environment.make(num, num_cores())
    mode = worlds.metadata.get("autoreset_mode", AutoresetMode.DISABLED)
    require(
        mode == AutoresetMode.DISABLED,
        f"the vector environment of {type(environment).__name__} resets by itself ({mode}), in "
        "contexts of its own: make it with autoreset_mode=AutoresetMode.DISABLED, or let "
        "GymnasiumEnvironment make copies of the single environment",
    )
    return worlds


def num_cores() -> int:
    """Cores that this process may use; one where it cannot be told which (macOS)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@dataclass
class HostCollector:
    """The actors of all seeds during one iteration, and what has come of their episodes."""

    problem: Problem
    learner: Learner
    worlds: VectorEnv
    actors: HostActors
    supply: ContextSupply

    def __post_init__(self) -> None:
        num_seeds, _ = self.actors.ended.shape
        self.num_unstable = np.zeros(num_seeds, int)
        self.finished: list[list[dict[str, Any]]] = [[] for _ in range(num_seeds)]

    def collect(self, learner_state: Any, noise: Array) -> Rollout:
        """Run every actor for as many steps as there is noise [T, S, N, A]; returns [T, S, N]."""
        spec, (num_steps, *shape, _) = self.problem.spec, noise.shape
        observation = np.empty((num_steps, *shape, spec.observation_size), np.float32)
        action = np.empty((num_steps, *shape, spec.action_size), np.float32)
        reward = np.empty((num_steps, *shape), np.float32)
        terminated = np.empty((num_steps, *shape), bool)
        truncated = np.empty((num_steps, *shape), bool)
        next_observation = np.empty_like(observation)
        policy = BlockPolicy(self.learner, learner_state, trains=True)
        for step in range(num_steps):
            self._begin_episodes()
            observation[step] = self.actors.observation
            action[step] = policy(noise[step], observation[step])
            outcome = step_worlds(self.problem, self.worlds, action[step])
            next_observation[step], reward[step], terminated[step], truncated[step], info = outcome
            self._count(reward[step], terminated[step] | truncated[step], info)
            self.actors = self.actors._replace(observation=next_observation[step].copy())
        columns: Any = (observation, action, reward, terminated, truncated, next_observation)
        return Rollout(*columns)

    def _begin_episodes(self) -> None:
        """Hand out contexts in order, one to every actor whose episode is over."""
        actors = self.actors
        begins = actors.ended
        if not begins.any():
            return
        seeds: list[int | None] = [None] * begins.size
        num_environments = begins.shape[1]
        for seed, actor in np.argwhere(begins):
            actors.context[seed, actor], reset_seed = self.supply.take(seed)
            seeds[seed * num_environments + actor] = reset_seed
        first = reset_worlds(self.worlds, seeds, actors.context, begins)
        for array, start in (
            (actors.observation, first),
            (actors.first_observation, first),
            (actors.discounted_return, np.zeros(begins.shape)),
            (actors.length, np.zeros(begins.shape, int)),
        ):
            array[begins] = start[begins]
        actors.ended[:] = False

    def _count(self, reward: Array, ended: Array, info: dict[str, Any]) -> None:
        """Keep account of every episode, and note those that are over."""
        actors = self.actors
        actors.discounted_return[:] += self.problem.discount**actors.length * reward
        actors.length[:] += 1
        actors.ended[:] = ended
        success = flag(info, "success", ended.shape)
        unstable = flag(info, "unstable", ended.shape)
        self.num_unstable += unstable.sum(axis=1)
        for seed, actor in np.argwhere(ended):
            place = seed, actor
            self.finished[seed].append(
                {
                    "context": actors.context[place].copy(),
                    "first_observation": actors.first_observation[place].copy(),
                    "discounted_return": actors.discounted_return[place],
                    "success": success[place],
                    "length": actors.length[place],
                }
            )

    def episodes(self, learner_state: Any) -> tuple[Episodes, ...]:
        """What ended, with the values of the improved learner."""
        size, observation_size = self.problem.contexts.size, self.problem.spec.observation_size

        def column(seed: int, name: str, *shape: int) -> Array:
            rows = [episode[name] for episode in self.finished[seed]]
            return np.array(rows).reshape(len(rows), *shape)

        seeds = range(len(self.finished))
        first = [
            column(seed, "first_observation", observation_size).astype(np.float32) for seed in seeds
        ]
        values = values_of(self.learner, learner_state, first)
        return tuple(
            Episodes(
                context=column(seed, "context", size).astype(float),
                first_observation=first[seed],
                discounted_return=column(seed, "discounted_return").astype(float),
                value=values[seed],
                success=column(seed, "success").astype(bool),
                length=column(seed, "length").astype(int),
            )
            for seed in seeds
        )


def step_worlds(
    problem: Problem, worlds: VectorEnv, action: Array
) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
    """One step of all worlds with actions [S, N, A]; the world gets legal ones."""
    *shape, size = action.shape
    low, high = np.array((problem.spec.action_low, problem.spec.action_high), np.float32)
    legal = np.minimum(np.maximum(action.reshape(-1, size), low), high)  # faster than np.clip
    require(
        bool(np.isfinite(legal.sum())),
        "the policy has diverged, its actions are not finite; check the environment's rewards and "
        "observations, or lower the learning rate",
    )
    observation, reward, terminated, truncated, info = worlds.step(legal)
    return (
        observation.reshape(*shape, -1),
        np.asarray(reward).reshape(shape),
        np.asarray(terminated).reshape(shape),
        np.asarray(truncated).reshape(shape),
        info,
    )


def flag(info: dict[str, Any], name: str, shape: tuple[int, ...]) -> Array:
    """One of the flags that accompany a step; what is not told is false."""
    return np.reshape(info[name], shape) if name in info else np.zeros(shape, bool)


def reset_worlds(
    worlds: VectorEnv, seeds: Sequence[int | None], contexts: Array, begins: Array
) -> Array:
    """First observations [S, N, O]; only the rows that begin are new."""
    given, rows = contexts.reshape(begins.size, -1), begins.reshape(-1)
    each: Any = list(seeds)  # Gymnasium's annotation forgets that rows may have their own
    observation, info = worlds.reset(seed=each, options={"context": given, "reset_mask": rows})
    seen = np.asarray(info.get("context"))
    if seen.shape == given.shape and seen.dtype.kind == "f":
        _require_same(given[rows], seen[rows])
    return np.asarray(observation).reshape(*begins.shape, -1)


def _require_same(given: Array, seen: Array) -> None:
    """A context that does not arrive would go unnoticed, and nothing would be learned of it."""
    differs = (np.abs(seen - given) > 1e-4 * (1.0 + np.abs(given))).any(axis=1)  # not by rounding
    if differs.any():
        wanted, got = given[differs][0].tolist(), seen[differs][0].tolist()
        raise SelfpacedError(
            "an episode began in another context than it was given, says the environment's "
            f"info['context']: wanted {wanted}, got {got}"
        )
