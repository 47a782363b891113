"""Whole episodes outside JAX, side by side, nothing is learned from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from gymnasium.vector import VectorEnv

from selfpaced.environments.host import HostEnvironment
from selfpaced.learners.base import Learner
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.training.block_policy import BlockPolicy
from selfpaced.training.evaluation import Evaluation
from selfpaced.training.rollout_host import flag, reset_worlds, step_worlds


class HostEpisodes(NamedTuple):
    """Outcome of every episode, [S, B, M]: a row for every boldness that was asked for."""

    discounted_return: Array
    success: Array
    length: Array
    unstable: Array
    path: Array  # [T + 1, S, B, M, O] observations, the last one repeats; empty if not wanted

    def evaluation(self) -> Evaluation:
        """What counts; boldness one comes first, then zero."""
        outcome: Any = (self.discounted_return, self.success, self.length, self.unstable)
        return Evaluation(*outcome)


def run_episodes(
    problem: Problem,
    learner: Learner,
    learner_state: Any,
    make_worlds: Callable[[int], VectorEnv],
    keys: jax.Array,
    contexts: Array,
    reset_seeds: Array,
    boldness: tuple[float, ...] = (1.0, 0.0),
    keep_path: bool = False,
) -> HostEpisodes:
    """One episode per context [S, M, C] and boldness; all of these meet the same disturbances.

    Boldness scales the noise of the actions: one is the stochastic policy, zero the other.
    """
    environment = problem.environment
    assert isinstance(environment, HostEnvironment)
    num_seeds, num = reset_seeds.shape
    noise = np.array(_noise(environment.max_episode_steps, num, problem.spec.action_size, keys))
    policy = BlockPolicy(learner, learner_state, trains=False)
    at_once = max(environment.max_side_by_side // (len(boldness) * num_seeds), 1)
    num_portions = -(-num // at_once)
    size = -(-num // num_portions)
    worlds = make_worlds(num_seeds * len(boldness) * size)
    parts = []
    for first in range(0, num, size):
        rows = np.arange(first, first + size) % num  # the last portion is filled up
        part = noise[:, :, rows], contexts[:, rows], reset_seeds[:, rows]
        parts.append(_run_side_by_side(problem, worlds, policy, *part, boldness, keep_path))
    *outcomes, paths = zip(*parts, strict=True)
    joined: list[Array] = [np.concatenate(portions, axis=2)[..., :num] for portions in outcomes]
    joined.append(np.concatenate(paths, axis=3)[..., :num, :])
    return HostEpisodes(*joined)


def _run_side_by_side(
    problem: Problem,
    worlds: VectorEnv,
    policy: BlockPolicy,
    noise: Array,
    contexts: Array,
    reset_seeds: Array,
    boldness: tuple[float, ...],
    keep_path: bool,
) -> HostEpisodes:
    num_seeds, num = reset_seeds.shape
    shape, flat = (num_seeds, len(boldness), num), (num_seeds, len(boldness) * num)

    def for_each(array: Array) -> Array:
        """The same with every boldness; they lie side by side as one row of actors."""
        return np.repeat(array[:, None], len(boldness), axis=1)

    seeds = for_each(reset_seeds).reshape(-1).tolist()
    observation = reset_worlds(worlds, seeds, for_each(contexts), np.ones(flat, bool))
    discounted_return, length = np.zeros(flat), np.zeros(flat, np.int64)
    alive, success, unstable = np.ones(flat, bool), *np.zeros((2, *flat), bool)
    path = [observation]
    scales = np.array(boldness, np.float32)[None, :, None, None]
    for step in range(noise.shape[1]):
        scaled = (for_each(noise[:, step]) * scales).reshape(*flat, -1)
        outcome = step_worlds(problem, worlds, policy(scaled, observation))
        observation, reward, terminated, truncated, info = outcome
        discounted_return += np.where(alive, problem.discount**step * reward, 0.0)
        success = np.where(alive, flag(info, "success", flat), success)  # the last step's
        unstable |= alive & flag(info, "unstable", flat)
        length += alive
        alive &= ~(terminated | truncated)
        if keep_path:
            path.append(observation)
        if not (alive.any() or keep_path):
            break
    kept = np.stack(path).reshape(len(path), *shape, -1) if keep_path else np.zeros((0, *shape, 0))
    return HostEpisodes(
        discounted_return.reshape(shape),
        success.reshape(shape),
        length.reshape(shape),
        unstable.reshape(shape),
        kept,
    )


@partial(jax.jit, static_argnums=(0, 1, 2))
def _noise(num_steps: int, num: int, size: int, keys: jax.Array) -> jax.Array:
    return jax.vmap(lambda key: jax.random.normal(key, (num_steps, num, size)))(keys)
