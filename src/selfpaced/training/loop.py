"""One iteration of training for a block of seeds: Algorithm 1 of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, final

import jax
import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.errors import SelfpacedError
from selfpaced.learners.base import Learner
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes, Metrics, Spec
from selfpaced.training.behaviour_cloning import hold_still
from selfpaced.training.block_policy import act_block
from selfpaced.training.failures import Cause, SeedError
from selfpaced.training.simulator import Actors, EpisodeBatch, Show, Simulator
from selfpaced.training.streams import Purpose, Streams, keys_of_seeds
from selfpaced.training.teaching import Teachers
from selfpaced.training.values import values_of, with_values

S = TypeVar("S")  # state of the learner
A = TypeVar("A", bound=Actors)
T = TypeVar("T")  # state of the teacher
X = TypeVar("X")  # state of the actors, if there are any


class TrainingState(NamedTuple, Generic[S, X, T]):
    """Everything that changes during training; arrays have a leading axis of seeds."""

    learner: S
    actors: X
    teachers: tuple[T, ...]  # one state per seed


class TrainingLoop(Protocol[S, X, T]):
    """A method of training, as the code that carries an experiment out uses it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    @property
    def problem(self) -> Problem:
        """What is learned."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that advance together."""

    @property
    def steps_per_second(self) -> float:
        """Environment steps in a second of simulated time, for video."""

    def init_learners(self) -> S:
        """Return the learners as drawn, arrays with a leading axis of seeds."""

    def init(self) -> TrainingState[S, X, T]:
        """Return the state before the first iteration."""

    def iterate(
        self, state: TrainingState[S, X, T], iteration: int
    ) -> tuple[TrainingState[S, X, T], list[Metrics]]:
        """Advance every seed by one iteration; return a row of metrics for each."""

    def sample_contexts(self, state: TrainingState[S, X, T], iteration: int) -> Array:
        """Return contexts [S, K, C] as the given iteration would train on."""

    def target_episodes(
        self,
        learners: S,
        iteration: int,
        num_episodes: int,
        purpose: Purpose = Purpose.EVALUATE,
        *,
        contexts: Array | None = None,
        noise_scales: tuple[float, ...] = (1.0, 0.0),
        keep_path: bool = False,
        show: Show | None = None,
    ) -> EpisodeBatch:
        """Run whole episodes in fresh target contexts, or in given ones [S, M, C]."""

    def gaussians(self, state: TrainingState[S, X, T]) -> list[Gaussian | None]:
        """Return what each seed's contexts are drawn from, where that is a Gaussian."""

    def particles(self, state: TrainingState[S, X, T]) -> list[Array | None]:
        """Return the particles of every seed, where contexts are represented by them."""

    def advice(self, state: TrainingState[S, X, T], num_remaining: int) -> Counter[str]:
        """Return warnings and the number of seeds that each applies to."""

    def close(self) -> None:
        """End threads and processes."""


AnyLoop = TrainingLoop[Any, Any, Any]
AnyState = TrainingState[Any, Any, Any]


@final
@dataclass(frozen=True)
class Training(Generic[S, A, T]):
    """A teacher and a learner on a problem, for several seeds that advance together."""

    problem: Problem
    learner: Learner[S]
    teachers: Teachers[T]
    simulator: Simulator[S, A]
    seeds: tuple[int, ...]
    num_contexts: int  # per seed and iteration: enough for every episode that can start
    holds_still: bool = False  # whether policies first clone standing still

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End threads and processes of the simulator."""
        self.simulator.close()

    @property
    def steps_per_second(self) -> float:
        """Environment steps in a second of simulated time, for video."""
        return self.simulator.steps_per_second

    def init_learners(self) -> S:
        """Return the learners as drawn, arrays with a leading axis of seeds."""
        keys = keys_of_seeds(self.seeds, 0, Purpose.INIT)
        learners: S = _init_learners(self.learner, self.problem.spec, keys)
        return learners

    def init(self) -> TrainingState[S, A, T]:
        """Return the state before the first iteration."""
        learner = self.init_learners()
        if self.holds_still:
            learner = hold_still(self.problem, self.simulator, self.learner, learner, self.seeds)
        return TrainingState(learner, self.simulator.idle(), self.teachers.init())

    def iterate(
        self, state: TrainingState[S, A, T], iteration: int
    ) -> tuple[TrainingState[S, A, T], list[Metrics]]:
        """Run one iteration of Algorithm 1; return a row of metrics for every seed."""
        contexts = self.teachers.sample(iteration, state.teachers, self.num_contexts)
        streams = Streams(self.seeds, iteration, Purpose.TRAIN)
        learner, actors, episodes, learned = self.simulator.interact(
            streams, contexts, state.learner, state.actors
        )
        episodes = with_values(self.learner, learner, episodes)
        self._require_finite(episodes, learner, actors, iteration)
        teachers, taught = self.teachers.update(
            iteration, state.teachers, episodes, partial(values_of, self.learner, learner)
        )
        described = describe_contexts(self.problem.contexts, contexts.first)
        parts = zip(described, map(summarise, episodes), learned, taught, strict=True)
        rows = [
            context | train | of_learner | of_teacher
            for context, train, of_learner, of_teacher in parts
        ]
        return TrainingState(learner, actors, teachers), rows

    def sample_contexts(self, state: TrainingState[S, A, T], iteration: int) -> Array:
        """Return contexts [S, K, C] as the given iteration would train on."""
        return self.teachers.sample(iteration, state.teachers, self.num_contexts).first

    def target_episodes(
        self,
        learners: S,
        iteration: int,
        num_episodes: int,
        purpose: Purpose = Purpose.EVALUATE,
        *,
        contexts: Array | None = None,
        noise_scales: tuple[float, ...] = (1.0, 0.0),
        keep_path: bool = False,
        show: Show | None = None,
    ) -> EpisodeBatch:
        """Run whole episodes in target contexts or given ones; see `Simulator.episodes`."""
        streams = Streams(self.seeds, iteration, purpose)
        if contexts is None:
            contexts = sample_evaluation(self.problem, streams, num_episodes)
        return self.simulator.episodes(
            streams, contexts, self.learner, learners,
            noise_scales=noise_scales, keep_path=keep_path, show=show,
        )  # fmt: skip

    def gaussians(self, state: TrainingState[S, A, T]) -> list[Gaussian | None]:
        """Return what each seed's contexts are drawn from, where that is a Gaussian."""
        return self.teachers.gaussians(state.teachers)

    def particles(self, state: TrainingState[S, A, T]) -> list[Array | None]:
        """Return the particles of every seed, where contexts are represented by them."""
        return self.teachers.particles(state.teachers)

    def advice(self, state: TrainingState[S, A, T], num_remaining: int) -> Counter[str]:
        """Return warnings and the number of seeds that each applies to."""
        return self.teachers.advice(state.teachers, num_remaining)

    def _require_finite(
        self, episodes: Sequence[Episodes], learner: S, actors: A, iteration: int
    ) -> None:
        """Stop before NaN is saved, from which training could not recover."""
        observed = np.asarray(actors.observation)
        noise = np.zeros((*observed.shape[:2], self.problem.spec.noise_size), np.float32)
        actions = np.asarray(act_block(self.learner, False, learner, noise, observed))
        causes: dict[int, Cause] = {}
        for index, (seed, ended) in enumerate(zip(self.seeds, episodes, strict=True)):
            where = f"seed {seed}, iteration {iteration + 1}"
            if cause := _first_not_finite(where, ended, observed[index], actions[index]):
                causes[index] = cause
        if causes:
            raise SeedError(causes)


AnyTraining = Training[Any, Any, Any]


def _first_not_finite(
    where: str, episodes: Episodes, observed: Array, actions: Array
) -> Cause | None:
    try:
        episodes.require_finite(where)
    except SelfpacedError as error:
        is_value = "value of episode" in str(error)
        return Cause("learner" if is_value else "environment", str(error))
    if not np.isfinite(observed).all():
        return Cause("environment", f"{where}: observations must be finite; check the environment")
    if not np.isfinite(actions).all():
        return Cause(
            "learner",
            f"{where}: the policy has diverged, its actions are not finite; check the "
            "environment's rewards, or lower the learning rate",
        )
    return None


def sample_evaluation(problem: Problem, streams: Streams, num: int) -> Array:
    """Draw contexts [S, M, C] to evaluate on."""
    return np.stack([problem.sample_evaluation(rng, num) for rng in streams.generators])


def describe_contexts(space: ContextSpace, contexts: Array) -> list[Metrics]:
    """Return mean and standard deviation of every component of contexts [S, K, C], per seed."""
    mean, std = contexts.mean(axis=1), contexts.std(axis=1)
    return [
        {
            f"context/{name}_{statistic}": float(column[index, component])
            for component, name in enumerate(space.names)
            for statistic, column in (("mean", mean), ("std", std))
        }
        for index in range(len(contexts))
    ]


def summarise(episodes: Episodes) -> Metrics:
    """Return averages over training episodes; NaN if no episode ended."""

    def mean(column: Array) -> float:
        return float(np.mean(column)) if episodes.num else float("nan")

    return {
        "train/episodes": episodes.num,
        "train/return": mean(episodes.discounted_return),
        "train/value": mean(episodes.value),  # far below the return: the critic lags
        "train/success": mean(episodes.success),
        "train/length": mean(episodes.length),
    }


@partial(jax.jit, static_argnums=(0, 1))
def _init_learners(learner: Learner[S], spec: Spec, keys: jax.Array) -> S:
    return jax.vmap(lambda key: learner.init(key, spec))(keys)
