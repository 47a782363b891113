"""One iteration of training for a block of seeds: the heart of the library (paper, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.environments.base import Spec
from selfpaced.environments.host import HostEnvironment
from selfpaced.errors import require
from selfpaced.learners.base import Learner
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.base import Remembers, Teacher, update_block
from selfpaced.training.block_policy import act_block
from selfpaced.training.evaluation import Evaluation, evaluate
from selfpaced.training.rollout_jax import Actor, Collector, EpisodeEnds, collect, idle_actors
from selfpaced.training.streams import Purpose, host_stream, keys_of_seeds
from selfpaced.training.values import values_of
from selfpaced.validation import require_positive


class TrainingState(NamedTuple):
    """Everything that changes during training; arrays have a leading axis of seeds."""

    learner: Any
    actors: Actor
    teachers: tuple[Any, ...]  # one state per seed


class Lesson(NamedTuple):
    """What each seed of a block went through in one iteration."""

    episodes: tuple[Episodes, ...]  # with the values of the improved learner
    metrics: tuple[Metrics, ...]


@dataclass(frozen=True)
class Training:
    """A teacher and a learner at work on a problem, for several seeds that advance together."""

    problem: Problem
    teacher: Teacher
    learner: Learner
    seeds: tuple[int, ...]
    steps_per_iteration: int
    num_environments: int = 1  # per seed

    def __post_init__(self) -> None:
        require_positive(self, "steps_per_iteration", "num_environments")
        require(
            self.steps_per_iteration % self.num_environments == 0,
            "steps_per_iteration must be a multiple of num_environments "
            f"({self.num_environments}), got {self.steps_per_iteration}",
        )
        num_steps = self.steps_per_iteration // self.num_environments
        per_update = getattr(self.learner, "steps_per_update", None)  # SPRL's has none
        require(
            per_update is None or num_steps % per_update == 0,
            f"the learner wants to learn after every {per_update} steps, but an iteration has "
            f"{num_steps} in each environment, which is no multiple of it",
        )
        self._check_environment()

    def _check_environment(self) -> None:
        require(
            not isinstance(self.problem.environment, HostEnvironment),
            f"{self.problem.name} is simulated outside JAX: train on it with HostTraining",
        )

    def init(self) -> TrainingState:
        """The state before the first iteration."""
        actors = _init_actors(self.problem, self.num_environments, len(self.seeds))
        return TrainingState(self.init_learners(), actors, self.init_teachers())

    def init_learners(self) -> Any:
        """The learners as they are drawn, arrays with a leading axis of seeds."""
        keys = keys_of_seeds(self.seeds, 0, Purpose.INIT)
        return _init_learners(self.learner, self.problem.spec, keys)

    def init_teachers(self) -> tuple[Any, ...]:
        """The teachers' states before the first iteration."""
        return tuple(
            self.teacher.init(host_stream(seed, 0, Purpose.INIT), self.problem.contexts)
            for seed in self.seeds
        )

    def iterate(self, state: TrainingState, iteration: int) -> tuple[TrainingState, list[Metrics]]:
        """One round of Algorithm 1; returns the metrics of every seed."""
        contexts = self.sample_contexts(state, iteration)
        state, lesson = self.learn(state, contexts, iteration)
        return self.teach(state, lesson, iteration)

    @property
    def num_contexts(self) -> int:
        """How many episodes of a seed can begin in one iteration at the very most."""
        num_steps = self.steps_per_iteration // self.num_environments
        return self.num_environments * (
            1 + -(-num_steps // self.problem.environment.min_episode_steps)
        )

    def sample_contexts(self, state: TrainingState, iteration: int) -> Array:
        """Contexts [S, K, C] for every episode that could begin in this iteration."""
        return np.stack(
            [
                self.teacher.sample(
                    host_stream(seed, iteration, Purpose.SAMPLE), teacher, self.num_contexts
                )
                for seed, teacher in zip(self.seeds, state.teachers, strict=True)
            ]
        )

    def learn(
        self, state: TrainingState, contexts: Array, iteration: int
    ) -> tuple[TrainingState, Lesson]:
        """Roll out and improve the policy; the arrays of the given state are used up."""
        learner, actors, *outcome = _learn_block(
            self.problem,
            self.learner,
            self.steps_per_iteration // self.num_environments,
            keys_of_seeds(self.seeds, iteration, Purpose.TRAIN),
            state.learner,
            state.actors,
            jnp.asarray(contexts, jnp.float32),
        )
        ends, value, metrics, num_issued = jax.device_get(outcome)
        require(
            num_issued.max() <= self.num_contexts,
            f"more than {self.num_contexts} episodes began in one iteration: min_episode_steps of "
            f"{self.problem.name} is not true",
        )
        lesson = Lesson(
            tuple(_episodes(index, ends, value) for index in range(len(self.seeds))),
            tuple(
                {name: float(column[index]) for name, column in metrics.items()}
                for index in range(len(self.seeds))
            ),
        )
        self.require_finite(lesson, learner, actors.observation, iteration)
        return TrainingState(learner, actors, state.teachers), lesson

    def require_finite(self, lesson: Lesson, learner: Any, seen: Any, iteration: int) -> None:
        """Stop before anything is saved that is not a number: it would never become one again."""
        seen, size = np.asarray(seen), self.problem.spec.action_size
        noise = np.zeros((*seen.shape[:2], size), np.float32)
        actions = np.asarray(act_block(self.learner, False, learner, noise, seen))
        for index, (seed, episodes) in enumerate(zip(self.seeds, lesson.episodes, strict=True)):
            where = f"seed {seed}, iteration {iteration + 1}"
            episodes.require_finite(where)
            require(
                bool(np.isfinite(seen[index]).all()),
                f"{where}: the environment gave an observation that is not finite",
            )
            require(
                bool(np.isfinite(actions[index]).all()),
                f"{where}: the policy has diverged, its actions are not finite; check the "
                "environment's rewards, or lower the learning rate",
            )

    def teach(
        self, state: TrainingState, lesson: Lesson, iteration: int
    ) -> tuple[TrainingState, list[Metrics]]:
        """Show every teacher the episodes that ended."""
        rngs = [host_stream(seed, iteration, Purpose.UPDATE) for seed in self.seeds]
        updated = update_block(self.teacher, rngs, self._revalue(state), lesson.episodes)
        rows = [
            summarise(episodes) | of_learner | of_teacher
            for episodes, of_learner, (_, of_teacher) in zip(*lesson, updated, strict=True)
        ]
        return state._replace(teachers=tuple(teacher for teacher, _ in updated)), rows

    def _revalue(self, state: TrainingState) -> tuple[Any, ...]:
        """Teachers who use earlier episodes again, with what the learner thinks of them now."""
        if not isinstance(self.teacher, Remembers):
            return state.teachers
        seen = [self.teacher.remembered(teacher) for teacher in state.teachers]
        if not any(map(len, seen)):
            return state.teachers
        values = values_of(self.learner, state.learner, seen)
        return tuple(map(self.teacher.revalued, state.teachers, values))

    def evaluate(self, state: TrainingState, iteration: int, num_episodes: int) -> Evaluation:
        """Try the policies on fresh target contexts."""
        contexts = np.stack(
            [
                self.problem.contexts.sample_target(
                    host_stream(seed, iteration, Purpose.EVALUATE), num_episodes
                )
                for seed in self.seeds
            ]
        )
        keys = keys_of_seeds(self.seeds, iteration, Purpose.EVALUATE)
        return jax.device_get(
            evaluate(
                self.problem,
                self.learner,
                keys,
                state.learner,
                jnp.asarray(contexts, jnp.float32),
            )
        )


@partial(jax.jit, static_argnums=(0, 1))
def _init_learners(learner: Learner, spec: Spec, keys: jax.Array) -> Any:
    return jax.vmap(lambda key: learner.init(key, spec))(keys)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _init_actors(problem: Problem, num_environments: int, num_seeds: int) -> Actor:
    return jax.vmap(lambda _: idle_actors(problem, num_environments))(jnp.arange(num_seeds))


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=(4, 5))
def _learn_block(
    problem: Problem,
    learner: Learner,
    num_steps: int,
    keys: jax.Array,
    learner_state: Any,
    actors: Actor,
    contexts: jax.Array,
) -> tuple[Any, Actor, EpisodeEnds, jax.Array, dict[str, jax.Array], jax.Array]:
    """Roll out and learn, for all seeds; compiled once for a whole experiment."""
    return jax.vmap(partial(_learn_seed, problem, learner, num_steps))(
        keys, learner_state, actors, contexts
    )


def _learn_seed(
    problem: Problem,
    learner: Learner,
    num_steps: int,
    key: jax.Array,
    learner_state: Any,
    actors: Actor,
    contexts: jax.Array,
) -> tuple[Any, Actor, EpisodeEnds, jax.Array, dict[str, jax.Array], jax.Array]:
    """Collect and update in turns: on-policy learners once, others after every few steps."""
    num_environments = len(actors.ended)
    per_update = num_steps if learner.steps_per_update is None else learner.steps_per_update
    num_updates = num_steps // per_update
    key_noise, key_reset, key_update = jax.random.split(key, 3)
    # all noise at once: drawing it step by step would cost more than the physics
    size = problem.spec.action_size + problem.environment.noise_size
    noise = jax.random.normal(key_noise, (num_updates, per_update, num_environments, size))
    reset_keys = jax.random.split(key_reset, (num_updates, per_update))

    def turn(carry: tuple[Any, Collector], inputs: tuple[jax.Array, ...]) -> tuple[Any, Any]:
        state, collector = carry
        keys, noise, key = inputs
        collector, rollout, ends = collect(
            keys, noise, problem, learner, state, collector, contexts
        )
        state, metrics = learner.update(key, problem.spec, state, rollout)
        return (state, collector), (ends, metrics)

    start = (learner_state, Collector(actors, jnp.int32(0)))
    turns = (reset_keys, noise, jax.random.split(key_update, num_updates))
    (state, collector), (ends, metrics) = jax.lax.scan(turn, start, turns)
    ends = jax.tree.map(lambda array: array.reshape(num_steps, *array.shape[2:]), ends)
    value = learner.value(state, ends.first_observation)
    metrics = jax.tree.map(jnp.mean, metrics)
    return state, collector.actors, ends, value, metrics, collector.num_issued


def _episodes(index: int, ends: Any, value: Array) -> Episodes:
    """The episodes of one seed, in the order of their end; `ends` are NumPy arrays by now."""
    ended = ends.ended[index]
    return Episodes(
        context=ends.context[index][ended].astype(np.float64),
        first_observation=ends.first_observation[index][ended],
        discounted_return=ends.discounted_return[index][ended].astype(np.float64),
        value=value[index][ended].astype(np.float64),
        success=ends.success[index][ended],
        length=ends.length[index][ended],
    )


def summarise(episodes: Episodes) -> Metrics:
    """What the training episodes looked like; nothing ended means nothing to average."""

    def mean(column: Array) -> float:
        return float(np.mean(column)) if episodes.num else float("nan")

    return {
        "train/episodes": episodes.num,
        "train/return": mean(episodes.discounted_return),
        "train/value": mean(episodes.value),  # what the critic thought; far below: it lags
        "train/success": mean(episodes.success),
        "train/length": mean(episodes.length),
    }
