"""Training on environments outside JAX: the same iterations, with a simulator in the loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv

from selfpaced.environments.base import Spec
from selfpaced.environments.host import HostEnvironment
from selfpaced.errors import require
from selfpaced.learners.base import Learner, Rollout
from selfpaced.records import Array
from selfpaced.training.behaviour_cloning import hold_still
from selfpaced.training.context_supply import Batch, ContextSupply
from selfpaced.training.episodes_host import HostEpisodes, run_episodes
from selfpaced.training.evaluation import Evaluation
from selfpaced.training.loop import Lesson, Training, TrainingState
from selfpaced.training.rollout_host import (
    HostActors,
    HostCollector,
    Worlds,
    idle_actors,
    make_worlds,
)
from selfpaced.training.streams import Purpose, host_stream, keys_of_seeds
from selfpaced.validation import require_choice

InitialPolicy = Literal["random", "hold"]


@dataclass(frozen=True)
class HostTraining(Training):
    """A teacher and a learner at work on a simulator, for seeds that advance together."""

    initial_policy: InitialPolicy = "random"

    def _check_environment(self) -> None:
        require(
            isinstance(self.problem.environment, HostEnvironment),
            f"{self.problem.name} is simulated in JAX: train on it with Training",
        )
        require_choice("initial_policy", self.initial_policy, get_args(InitialPolicy))

    @property
    def environment(self) -> HostEnvironment:
        """The simulator's settings."""
        environment = self.problem.environment
        assert isinstance(environment, HostEnvironment)
        return environment

    @cached_property
    def worlds(self) -> Worlds:
        """The simulator that training runs on; a row per seed and actor."""
        return Worlds(make_worlds(self.environment, len(self.seeds) * self.num_environments))

    @cached_property
    def _spare_worlds(self) -> dict[int, VectorEnv]:
        """Worlds for whole episodes, by how many: processes take seconds to start, so they stay."""
        return {}

    def _make_spare(self, num: int) -> VectorEnv:
        if num not in self._spare_worlds:
            self._spare_worlds[num] = make_worlds(self.environment, num)
        return self._spare_worlds[num]

    def init(self) -> TrainingState:
        """The state before the first iteration."""
        learner = self.init_learners()
        if self.initial_policy == "hold":
            learner = hold_still(self.problem, self.learner, learner, self.seeds)
        actors: Any = idle_actors(self.problem, len(self.seeds), self.num_environments, self.worlds)
        return TrainingState(learner, actors, self.init_teachers())

    def learn(
        self, state: TrainingState, contexts: Array, iteration: int
    ) -> tuple[TrainingState, Lesson]:
        """Roll out and improve the policy; the arrays of the given state are used up."""
        collector = self._collector(state, contexts, iteration)
        num_steps = self.steps_per_iteration // self.num_environments
        per_update = self.learner.steps_per_update or num_steps
        num_updates = num_steps // per_update
        shape = (num_updates, per_update, self.num_environments, self.problem.spec.action_size)
        keys = keys_of_seeds(self.seeds, iteration, Purpose.TRAIN)
        noise, update_keys = _draw(shape, keys)
        noise = np.moveaxis(np.asarray(noise), 0, 2)  # [U, T, S, N, A]
        learner, metrics = state.learner, []
        for turn in range(num_updates):
            rollout = collector.collect(learner, noise[turn])
            learner, outcome = _update_block(
                self.learner, self.problem.spec, update_keys, turn, learner, rollout
            )
            metrics.append(outcome)
        episodes = collector.episodes(learner)
        actors: Any = collector.actors._replace(environment=self.worlds.save())
        means = {name: np.mean([each[name] for each in metrics], axis=0) for name in metrics[0]}
        rows = (
            {name: float(column[index]) for name, column in means.items()}
            | {"train/unstable": float(collector.num_unstable[index])}
            for index in range(len(self.seeds))
        )
        lesson = Lesson(episodes, tuple(rows))
        self.require_finite(lesson, learner, actors.observation, iteration)
        return TrainingState(learner, actors, state.teachers), lesson

    def evaluate(self, state: TrainingState, iteration: int, num_episodes: int) -> Evaluation:
        """Try the policies on fresh target contexts."""
        return self.target_episodes(state.learner, iteration, num_episodes).evaluation()

    def target_episodes(
        self,
        learner_state: Any,
        iteration: int,
        num_episodes: int,
        purpose: Purpose = Purpose.EVALUATE,
        boldness: tuple[float, ...] = (1.0, 0.0),
        keep_path: bool = False,
    ) -> HostEpisodes:
        """Episodes in fresh target contexts, usually with and without noise in the actions."""
        streams = [host_stream(seed, iteration, purpose) for seed in self.seeds]
        contexts = [self.problem.contexts.sample_target(rng, num_episodes) for rng in streams]
        reset_seeds = [rng.integers(2**31, size=num_episodes) for rng in streams]
        keys = keys_of_seeds(self.seeds, iteration, purpose)
        return run_episodes(
            self.problem,
            self.learner,
            learner_state,
            self._make_spare,
            keys,
            np.stack(contexts),
            np.stack(reset_seeds),
            boldness,
            keep_path,
        )

    def _collector(self, state: TrainingState, contexts: Array, iteration: int) -> HostCollector:
        """Where the last iteration stopped, with new contexts."""
        actors = HostActors(*jax.tree.map(np.array, state.actors))
        self.worlds.restore(actors)
        resets = [host_stream(seed, iteration, Purpose.TRAIN) for seed in self.seeds]
        draws = [host_stream(seed, iteration, Purpose.SAMPLE_MORE) for seed in self.seeds]

        def with_seeds(index: int, contexts: Array) -> Batch:
            return Batch(contexts, resets[index].integers(2**31, size=len(contexts)))

        def draw_more(index: int) -> Batch:
            teacher = state.teachers[index]
            return with_seeds(index, self.teacher.sample(draws[index], teacher, self.num_contexts))

        supply = ContextSupply([with_seeds(*each) for each in enumerate(contexts)], draw_more)
        return HostCollector(self.problem, self.learner, self.worlds.vector, actors, supply)


@partial(jax.jit, static_argnums=0)
def _draw(shape: tuple[int, ...], keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The noise of all actions of an iteration, and a key for every update."""

    def one_seed(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        key_noise, key_update = jax.random.split(key)
        return jax.random.normal(key_noise, shape), jax.random.split(key_update, shape[0])

    return jax.vmap(one_seed)(keys)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=4)
def _update_block(
    learner: Learner, spec: Spec, keys: jax.Array, turn: int, state: Any, rollout: Rollout
) -> tuple[Any, dict[str, jax.Array]]:
    """Improve all seeds from steps [T, S, N], with the keys [S, U] of this turn.

    The keys are picked in here: outside, that alone takes an eighth of SAC's time.
    """
    rollout = jax.tree.map(lambda array: jnp.moveaxis(array, 1, 0), rollout)

    def one_seed(key: jax.Array, state: Any, rollout: Rollout) -> tuple[Any, dict[str, jax.Array]]:
        return learner.update(key, spec, state, rollout)

    return jax.vmap(one_seed)(keys[:, turn], state, rollout)
