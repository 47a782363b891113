"""Collect steps from environments outside JAX, with a new context for every episode.

The environments of all seeds are stepped together: one call acts for all of them, one simulates.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
from gymnasium.vector import AutoresetMode

from selfpaced.environments.base import HostEnvironment, RowError
from selfpaced.errors import SelfpacedError, require
from selfpaced.learners.base import Learner, Rollout
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes
from selfpaced.training.block_policy import BlockPolicy
from selfpaced.training.failures import Cause, SeedError, cause_of
from selfpaced.training.simulator import ContextSource

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    Vector = VectorEnv[Array, Array, Array]

S = TypeVar("S")
Info = Mapping[str, Array]


DIVERGED = Cause(
    "learner",
    "the policy has diverged, its actions are not finite; check the environment's rewards and "
    "observations, or lower the learning rate",
)


class HostActors(NamedTuple):
    """The episodes in flight; arrays [S, N, ...], and those of the simulations [S * N, ...]."""

    environment: dict[str, Array]
    observation: Array
    context: Array
    first_observation: Array
    discounted_return: Array  # so far
    length: Array  # so far
    ended: Array  # the next step starts a new episode


def make_vector(environment: HostEnvironment, num: int) -> Vector:
    """Return a vector environment on all cores that never starts an episode by itself."""
    vector = environment.make(num, num_cores())
    mode = vector.metadata.get("autoreset_mode", AutoresetMode.DISABLED)
    require(
        mode == AutoresetMode.DISABLED,
        f"autoreset_mode of the vector environment of {type(environment).__name__} must be "
        f"AutoresetMode.DISABLED, got {mode}; otherwise episodes start in contexts that no teacher "
        "chose (GymnasiumEnvironment makes correct vectors of a single environment)",
    )
    return vector


def num_cores() -> int:
    """Return the number of cores of this process; one where the system does not report it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


class ContextQueue:
    """Issues the contexts of an iteration seed by seed, each of them once."""

    def __init__(self, source: ContextSource, generators: list[np.random.Generator]) -> None:
        """Take contexts, and a generator per seed for the seeds of its episodes."""
        self._source, self._generators = source, generators
        self._contexts: list[Array] = list(source.first)
        self._reset_seeds = [self._draw_seeds(index) for index in range(len(generators))]
        self._num_issued = np.zeros(len(generators), int)

    def take(self, index: int) -> tuple[Array, int]:
        """Return the context of the next episode of a seed, and the seed of that episode."""
        if self._num_issued[index] == len(self._contexts[index]):
            self._contexts[index] = self._source.draw_more(index)
            self._reset_seeds[index] = self._draw_seeds(index)
            self._num_issued[index] = 0
        place = self._num_issued[index]
        self._num_issued[index] += 1
        return self._contexts[index][place], int(self._reset_seeds[index][place])

    def _draw_seeds(self, index: int) -> Array:
        return self._generators[index].integers(2**31, size=len(self._contexts[index]))


class _Ended(NamedTuple):
    """One finished episode."""

    context: Array
    first_observation: Array
    discounted_return: float
    success: bool
    length: int


@dataclass
class HostCollector(Generic[S]):
    """The actors of all seeds during one iteration, and their finished episodes."""

    problem: Problem
    learner: Learner[S]
    vector: Vector
    actors: HostActors
    queue: ContextQueue
    num_unstable: Array = field(init=False)  # [S]

    def __post_init__(self) -> None:
        num_seeds, _ = self.actors.ended.shape
        self.num_unstable = np.zeros(num_seeds, int)
        self._finished: list[list[_Ended]] = [[] for _ in range(num_seeds)]

    def collect(self, learner_state: S, noise: Array) -> Rollout:
        """Step every actor once per row of noise [T, S, N, A]; return steps [T, S, N]."""
        spec, (num_steps, *shape, _) = self.problem.spec, noise.shape
        observation = np.empty((num_steps, *shape, spec.observation_size), np.float32)
        action = np.empty((num_steps, *shape, spec.action_size), np.float32)
        reward = np.empty((num_steps, *shape), np.float32)
        terminated = np.empty((num_steps, *shape), bool)
        truncated = np.empty((num_steps, *shape), bool)
        next_observation = np.empty_like(observation)
        policy = BlockPolicy(self.learner, learner_state, trains=True)
        for step in range(num_steps):
            self._start_episodes()
            observation[step] = self.actors.observation
            action[step] = policy(noise[step], observation[step])
            outcome = step_rows(self.problem, self.vector, action[step])
            next_observation[step], reward[step], terminated[step], truncated[step], info = outcome
            self._count(reward[step], terminated[step] | truncated[step], info)
            self.actors = self.actors._replace(observation=next_observation[step].copy())
        columns = (observation, action, reward, terminated, truncated, next_observation)
        return Rollout(*columns)  # type: ignore[arg-type]  # NumPy arrays until they are learned from

    def episodes(self) -> tuple[Episodes, ...]:
        """Return the episodes that ended, per seed; their values are still zero."""
        size, observation_size = self.problem.contexts.size, self.problem.spec.observation_size

        def column(ended: list[_Ended], name: str, kind: type, *shape: int) -> Array:
            rows = [getattr(episode, name) for episode in ended]
            return np.array(rows).reshape(len(rows), *shape).astype(kind)

        return tuple(
            Episodes(
                context=column(ended, "context", float, size),
                first_observation=column(ended, "first_observation", np.float32, observation_size),
                discounted_return=column(ended, "discounted_return", float),
                value=np.zeros(len(ended)),
                success=column(ended, "success", bool),
                length=column(ended, "length", int),
            )
            for ended in self._finished
        )

    def _start_episodes(self) -> None:
        """Issue contexts in order, one to every actor whose episode is over."""
        actors = self.actors
        starts = actors.ended
        if not np.count_nonzero(starts):  # half the time of any()
            return
        seeds: list[int | None] = [None] * starts.size
        num_environments = starts.shape[1]
        for seed, actor in np.argwhere(starts):
            actors.context[seed, actor], reset_seed = self.queue.take(seed)
            seeds[seed * num_environments + actor] = reset_seed
        first = reset_rows(self.vector, seeds, actors.context, starts)
        for array, start in (
            (actors.observation, first),
            (actors.first_observation, first),
            (actors.discounted_return, np.zeros(starts.shape)),
            (actors.length, np.zeros(starts.shape, int)),
        ):
            array[starts] = start[starts]
        actors.ended[:] = False

    def _count(self, reward: Array, ended: Array, info: Info) -> None:
        """Add a step to every episode, and keep those that are over."""
        actors = self.actors
        actors.discounted_return[:] += self.problem.discount**actors.length * reward
        actors.length[:] += 1
        actors.ended[:] = ended
        unstable = read_flag(info, "unstable", ended.shape)
        if np.count_nonzero(unstable):
            self.num_unstable += unstable.sum(axis=1)
        if not np.count_nonzero(ended):
            return
        success = read_flag(info, "success", ended.shape)
        for seed, actor in np.argwhere(ended):
            place = seed, actor
            episode = _Ended(
                actors.context[place].copy(),
                actors.first_observation[place].copy(),
                actors.discounted_return[place],
                success[place],
                actors.length[place],
            )
            self._finished[seed].append(episode)


def step_rows(
    problem: Problem, vector: Vector, action: Array
) -> tuple[Array, Array, Array, Array, Info]:
    """Step all rows with actions [S, N, A], clipped to the box of legal actions."""
    *shape, size = action.shape
    spec = problem.spec
    low, high = np.array((spec.action_low, spec.action_high), np.float32)
    flat = action.reshape(-1, size).astype(np.float32, copy=False)
    legal = np.minimum(np.maximum(flat, low), high)  # faster than np.clip
    if not np.isfinite(legal.sum()):
        finite = np.isfinite(action).reshape(len(action), -1).all(axis=1)
        raise SeedError({int(index): DIVERGED for index in np.flatnonzero(~finite)})
    if spec.has_discrete_actions:
        legal = legal.astype(np.int64)
    with _rows_of_seeds(len(action), legal.shape[0]):
        observation, reward, terminated, truncated, info = vector.step(legal)
    for what, given in (("observations", observation), ("rewards", reward)):
        require(
            not np.iscomplexobj(given),  # NumPy would drop a part with a warning
            f"{type(vector).__name__}.step must return real numbers as {what}, got complex ones",
        )
    return (
        observation.reshape(*shape, -1),
        np.asarray(reward).reshape(shape),
        np.asarray(terminated).reshape(shape),
        np.asarray(truncated).reshape(shape),
        info,
    )


def read_flag(info: Info, name: str, shape: tuple[int, ...]) -> Array:
    """Return one of the flags that accompany a step; a missing flag is false."""
    return np.reshape(info[name], shape) if name in info else np.zeros(shape, bool)


def reset_rows(
    vector: Vector, seeds: Sequence[int | None], contexts: Array, starts: Array
) -> Array:
    """Start episodes in some rows; return first observations [S, N, O], of which those are new."""
    given, rows = contexts.reshape(starts.size, -1), starts.reshape(-1)
    with _rows_of_seeds(len(starts), starts.size):
        observation, info = vector.reset(
            seed=list(seeds),  # type: ignore[arg-type]  # Gymnasium accepts None per row
            options={"context": given, "reset_mask": rows},
        )
    seen = np.asarray(info.get("context"))
    if seen.shape == given.shape and seen.dtype.kind == "f":
        _require_same(given[rows], seen[rows])
    return np.asarray(observation).reshape(*starts.shape, -1)


@contextmanager
def _rows_of_seeds(num_seeds: int, num_rows: int) -> Iterator[None]:
    """Attribute the failure of one row to its seed; the rows of a seed lie side by side."""
    try:
        yield
    except RowError as error:
        index = error.row * num_seeds // num_rows
        details = cause_of("environment", error.__cause__ or error).details
        raise SeedError({index: Cause("environment", str(error), details)}) from error


def _require_same(given: Array, seen: Array) -> None:
    """A context that does not arrive would otherwise go unnoticed."""
    differs = (np.abs(seen - given) > 1e-4 * (1.0 + np.abs(given))).any(axis=1)  # beyond rounding
    if differs.any():
        raise SelfpacedError(
            f"info['context'] must be the given context {given[differs][0].tolist()}, got "
            f"{seen[differs][0].tolist()}; pass options['context'] on in the environment's reset"
        )
