"""The iterations of SPRL: whole episodes with fixed network weights, and joint updates.

An iteration stands for as many environment steps as with any other teacher, so that curves can be
compared: updates of a fixed number of episodes are made until that many steps have been taken, and
an iteration may see none, one or several of them. The episodes that fill the memory before the
first update count as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.errors import require
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.sprl.dual import quadratic_features, regress
from selfpaced.sprl.policy import (
    EpisodicPolicy,
    EpisodicState,
    FixedNetwork,
    policy_features,
)
from selfpaced.sprl.update import SPRL, SPRLState
from selfpaced.sprl.weighted_fit import LinearGaussian
from selfpaced.training.evaluation import Evaluation, run_episode
from selfpaced.training.loop import Lesson, TrainingState, summarise
from selfpaced.training.streams import Purpose, host_stream, keys_of_seeds

NUM_SHOWN = 64  # contexts drawn for the record, even if fewer are needed


@dataclass(frozen=True)
class EpisodicTraining:
    """SPRL at work on a problem, for several seeds that advance together; see `Training`."""

    problem: Problem
    teacher: SPRL
    learner: EpisodicPolicy
    seeds: tuple[int, ...]
    steps_per_iteration: int
    num_environments: int = 1  # as in `Training`; here all episodes of an update run side by side

    def __post_init__(self) -> None:
        require(
            self.num_environments == 1,
            f"num_environments must be 1 with SPRL, got {self.num_environments}: the "
            f"{self.teacher.num_rollouts} episodes of an update run side by side anyway",
        )
        contexts = self.problem.contexts
        context = jnp.asarray(contexts.upper, jnp.float32)
        first, _ = self.problem.environment.reset(jax.random.key(0), context)
        require(
            len(first) > contexts.size and bool((first[-contexts.size :] == context).all()),
            f"SPRL wants observations that end with the context, those of {self.problem.name} "
            "do not",
        )

    @property
    def network(self) -> FixedNetwork:
        """What acts during an episode."""
        return self.learner.network(self.problem.spec, self.problem.contexts.size)

    def init_learners(self) -> Any:
        """The policies as they begin, arrays with a leading axis of seeds."""
        policy = self.learner.begin(self.problem.spec, self.problem.contexts.size)
        return _stack([policy] * len(self.seeds))

    def init(self) -> TrainingState:
        """The state before the first iteration; no episode is ever left unfinished."""
        spec, contexts = self.problem.spec, self.problem.contexts
        num_parameters = self.learner.num_parameters(spec, contexts.size)
        teachers = tuple(
            self.teacher.init(host_stream(seed, 0, Purpose.INIT), contexts, num_parameters)
            for seed in self.seeds
        )
        no_actors: Any = ()
        return TrainingState(self.init_learners(), no_actors, teachers)

    def iterate(self, state: TrainingState, iteration: int) -> tuple[TrainingState, list[Metrics]]:
        """As many updates as fit into the steps of one iteration; metrics of every seed."""
        contexts = self.sample_contexts(state, iteration)
        state, lesson = self.learn(state, contexts, iteration)
        return self.teach(state, lesson, iteration)

    def sample_contexts(self, state: TrainingState, iteration: int) -> Array:
        """Contexts [S, K, C] of the first episodes of this iteration, and some for the record."""
        rngs = [host_stream(seed, iteration, Purpose.SAMPLE) for seed in self.seeds]
        num = max(self.teacher.num_rollouts, NUM_SHOWN)
        return self._draw_contexts(rngs, state.teachers, num)

    def learn(
        self, state: TrainingState, contexts: Array, iteration: int
    ) -> tuple[TrainingState, Lesson]:
        """Roll out, update policy and contexts together, until the steps are used up."""
        students = [
            Student(_pick(state.learner, index), memory, (), self.teacher.metrics(memory))
            for index, memory in enumerate(state.teachers)
        ]
        rngs = [host_stream(seed, iteration, Purpose.UPDATE) for seed in self.seeds]
        keys = keys_of_seeds(self.seeds, iteration, Purpose.TRAIN)
        contexts = contexts[:, : self.teacher.num_rollouts]
        num_allowed, number = (iteration + 1) * self.steps_per_iteration, 0
        while any(student.memory.num_steps < num_allowed for student in students):
            if number:  # the distributions may have moved
                memories = [student.memory for student in students]
                contexts = self._draw_contexts(rngs, memories, self.teacher.num_rollouts)
            parameters = _draw_parameters(rngs, students, contexts)
            outcome, first = self._roll_out(
                keys, number, parameters[:, None], contexts, self.teacher.discount
            )
            for index, student in enumerate(students):
                if student.memory.num_steps < num_allowed:  # the others wait
                    episodes = _episodes(_pick(outcome, index), first[index], contexts[index])
                    episodes.require_finite(f"seed {self.seeds[index]}, iteration {iteration + 1}")
                    students[index] = self._update(student, episodes, parameters[index])
            number += 1
        learner = _stack([student.policy for student in students])
        teachers = tuple(student.memory for student in students)
        return TrainingState(learner, state.actors, teachers), self._lesson(students)

    def teach(
        self, state: TrainingState, lesson: Lesson, iteration: int
    ) -> tuple[TrainingState, list[Metrics]]:
        """Only report: the contexts have been updated together with the policy."""
        pairs = zip(*lesson, strict=True)
        return state, [summarise(episodes) | metrics for episodes, metrics in pairs]

    def evaluate(self, state: TrainingState, iteration: int, num_episodes: int) -> Evaluation:
        """Try drawn weights, and mean weights, on fresh target contexts."""
        contexts, parameters = [], []
        for index, seed in enumerate(self.seeds):
            rng = host_stream(seed, iteration, Purpose.EVALUATE)
            contexts.append(self.problem.contexts.sample_target(rng, num_episodes))
            policy, features = _gaussian(_pick(state.learner, index)), policy_features(contexts[-1])
            parameters.append(np.stack([policy.sample(rng, features), policy.mean(features)]))
        keys = keys_of_seeds(self.seeds, iteration, Purpose.EVALUATE)
        return self._roll_out(keys, 0, np.stack(parameters), np.stack(contexts))[0]

    def _draw_contexts(self, rngs: list[Any], memories: Any, num: int) -> Array:
        pairs = zip(rngs, memories, strict=True)
        return np.stack([self.teacher.sample(rng, memory, num) for rng, memory in pairs])

    def _roll_out(
        self,
        keys: jax.Array,
        number: int,
        parameters: Array,
        contexts: Array,
        discount: float | None = None,
    ) -> tuple[Evaluation, Array]:
        problem = self.problem if discount is None else replace(self.problem, discount=discount)
        on_device = (jnp.asarray(array, jnp.float32) for array in (parameters, contexts))
        return jax.device_get(roll_out(problem, self.network, keys, number, *on_device))

    def _update(self, student: Student, episodes: Episodes, parameters: Array) -> Student:
        """Take in the episodes of one seed, and improve its policy and contexts."""
        policy, memory, earlier, metrics = student
        num_steps = int(episodes.length.sum())
        memory = self.teacher.remember(
            memory, episodes.context, parameters, episodes.discounted_return, num_steps
        )
        if self.teacher.is_ready(memory):
            features = policy_features(memory.contexts)
            memory, new, metrics = self.teacher.update(memory, _gaussian(policy), features)
            value = regress(quadratic_features(memory.contexts), memory.returns)
            policy = EpisodicState(new.coefficients, new.cholesky, value)
        return Student(policy, memory, (*earlier, episodes), metrics)

    def _lesson(self, students: list[Student]) -> Lesson:
        nothing = _nothing(self.problem)
        episodes = []
        for policy, _, batches, _ in students:
            columns = zip(nothing, *batches, strict=True)
            joined = Episodes(*(np.concatenate(column) for column in columns))
            value = self.learner.value(policy, joined.first_observation)
            episodes.append(joined._replace(value=np.asarray(value)))
        return Lesson(tuple(episodes), tuple(student.metrics for student in students))


class Student(NamedTuple):
    """One seed in the course of an iteration."""

    policy: EpisodicState
    memory: SPRLState
    batches: tuple[Episodes, ...]  # of this iteration
    metrics: Metrics


@partial(jax.jit, static_argnums=(0, 1))
def roll_out(
    problem: Problem,
    network: FixedNetwork,
    keys: jax.Array,
    number: int,
    parameters: jax.Array,
    contexts: jax.Array,
) -> tuple[Evaluation, jax.Array]:
    """One episode with each of the weights [S, V, M, D] in contexts [S, M, C], all side by side.

    The V variants meet the same disturbances. Returns outcomes [S, V, M], and the first
    observations [S, M, O] of the first variant.
    """

    def one_seed(
        key: jax.Array, parameters: jax.Array, contexts: jax.Array
    ) -> tuple[Evaluation, jax.Array]:
        key_noise, key_reset = jax.random.split(jax.random.fold_in(key, number))
        size = problem.spec.action_size + problem.environment.noise_size
        shape = (problem.environment.max_episode_steps, len(contexts), size)
        noise = jax.random.normal(key_noise, shape)
        keys = jax.random.split(key_reset, len(contexts))
        episode = partial(_whole_episode, problem, network)
        episodes = jax.vmap(episode, (0, 0, 0, 1))
        outcome, first = jax.vmap(episodes, (0, None, None, None))(
            parameters, keys, contexts, noise
        )
        return outcome, first[0]

    return jax.vmap(one_seed)(keys, parameters, contexts)


def _whole_episode(
    problem: Problem,
    network: Any,  # whatever acts
    parameters: jax.Array,
    key: jax.Array,
    context: jax.Array,
    noise: jax.Array,
) -> tuple[Evaluation, jax.Array]:
    """Outcome and first observation; the network is deterministic."""
    outcome, (path, _) = run_episode(
        problem, network, parameters, jnp.float32(0.0), key, context, noise
    )
    return outcome, path[0]


def _draw_parameters(rngs: list[Any], students: list[Student], contexts: Array) -> Array:
    """Network weights [S, M, D] for contexts [S, M, C]."""
    return np.stack(
        [
            _gaussian(student.policy).sample(rng, policy_features(own))
            for rng, student, own in zip(rngs, students, contexts, strict=True)
        ]
    )


def _episodes(outcome: Evaluation, first_observation: Array, contexts: Array) -> Episodes:
    """The training episodes of one seed; their values come at the end of the iteration."""
    returns = np.asarray(outcome.discounted_return[0], np.float64)
    return Episodes(
        context=contexts,
        first_observation=first_observation,
        discounted_return=returns,
        value=np.zeros(len(returns)),
        success=np.asarray(outcome.success[0]),
        length=np.asarray(outcome.length[0]),
    )


def _nothing(problem: Problem) -> Episodes:
    """No episodes."""
    return Episodes(
        context=np.zeros((0, problem.contexts.size)),
        first_observation=np.zeros((0, problem.spec.observation_size), np.float32),
        discounted_return=np.zeros(0),
        value=np.zeros(0),
        success=np.zeros(0, bool),
        length=np.zeros(0, np.int32),
    )


def _gaussian(policy: EpisodicState) -> LinearGaussian:
    return LinearGaussian(np.asarray(policy.coefficients), np.asarray(policy.cholesky))


def _stack(policies: list[EpisodicState]) -> EpisodicState:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *policies)


def _pick(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda array: np.asarray(array[index]), tree)
