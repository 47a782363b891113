"""The simulator on the host: vector environments outside JAX in the loop of learning."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.environments.base import RendersRows, SavesState
from selfpaced.errors import require
from selfpaced.learners.base import Learner, Policy, Rollout
from selfpaced.problems import Problem
from selfpaced.records import Array, Metrics, Spec
from selfpaced.training.block_policy import BlockPolicy
from selfpaced.training.host_rollout import (
    ContextQueue,
    HostActors,
    HostCollector,
    make_vector,
    read_flag,
    reset_rows,
    step_rows,
)
from selfpaced.training.simulator import ContextSource, EpisodeBatch, Frame, Interaction, Show
from selfpaced.training.streams import Streams

if TYPE_CHECKING:
    from selfpaced.training.host_rollout import Vector

S = TypeVar("S")
P = TypeVar("P")


@dataclass
class _Vectors:
    """The vector environments of a simulator; making one can take seconds, so they are kept."""

    training: Vector | None = None
    holds_episodes: bool = False  # whether the episodes in flight are in it
    spare: dict[int, Vector] = field(default_factory=dict)  # for whole episodes, by size


@final
@dataclass(frozen=True)
class HostSimulator(Generic[S]):
    """Runs a problem whose environment is simulated outside JAX."""

    problem: Problem
    learner: Learner[S]
    num_seeds: int
    num_environments: int  # per seed
    num_steps: int  # per iteration and environment
    _vectors: _Vectors = field(default_factory=_Vectors, init=False, repr=False, compare=False)

    @property
    def steps_per_second(self) -> float:
        """Environment steps in a second of simulated time, for video."""
        return float(self._spare_vector(1).metadata.get("render_fps", 30))

    def idle(self) -> HostActors:
        """Return actors that start their first episode with the next step."""
        shape, spec = (self.num_seeds, self.num_environments), self.problem.spec
        return HostActors(
            environment=self._save(),
            observation=np.zeros((*shape, spec.observation_size), np.float32),
            context=np.zeros((*shape, self.problem.contexts.size)),
            first_observation=np.zeros((*shape, spec.observation_size), np.float32),
            discounted_return=np.zeros(shape),
            length=np.zeros(shape, np.int64),
            ended=np.ones(shape, bool),
        )

    def interact(
        self, streams: Streams, contexts: ContextSource, learner_state: S, actors: HostActors
    ) -> Interaction[S, HostActors]:
        """Run one iteration of training; the given states are donated."""
        collector = HostCollector(
            self.problem,
            self.learner,
            self._training_vector(),
            self._restore(actors),
            ContextQueue(contexts, streams.generators),
        )
        per_update = self.learner.steps_per_update or self.num_steps
        starts = range(0, self.num_steps, per_update)  # the last turn can be shorter
        spec = self.problem.spec
        shape = (self.num_steps, self.num_environments, spec.noise_size)
        noise, update_keys = _draw(shape, len(starts), streams.keys)
        noise = np.moveaxis(np.asarray(noise), 0, 1)  # [T, S, N, A]
        metrics = []
        for turn, start in enumerate(starts):
            rollout = collector.collect(learner_state, noise[start : start + per_update])
            learner_state, outcome = _update_block(
                self.learner, spec, update_keys, turn, learner_state, rollout
            )
            metrics.append(outcome)
        means = {name: np.mean([each[name] for each in metrics], axis=0) for name in metrics[0]}
        rows: list[Metrics] = [
            {name: float(column[index]) for name, column in means.items()}
            | {"train/unstable": float(collector.num_unstable[index])}
            for index in range(self.num_seeds)
        ]
        actors = collector.actors._replace(environment=self._save())
        return Interaction(learner_state, actors, collector.episodes(), tuple(rows))

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
        num_seeds, num, _ = contexts.shape
        environment = self.problem.host_environment
        reset_seeds = np.stack([rng.integers(2**31, size=num) for rng in streams.generators])
        steps, size = environment.max_episode_steps, self.problem.spec.noise_size
        noise = np.array(_draw_noise(steps, num, size, streams.keys))
        at_once = max(environment.max_side_by_side // (len(noise_scales) * num_seeds), 1)
        portion = -(-num // -(-num // at_once))
        vector = self._spare_vector(num_seeds * len(noise_scales) * portion)
        act = BlockPolicy(policy, state, trains=False)
        parts = []
        for first in range(0, num, portion):
            rows = np.arange(first, first + portion) % num  # the last portion is filled up
            inputs = noise[:, :, rows], contexts[:, rows], reset_seeds[:, rows]
            parts.append(
                _run_side_by_side(self.problem, vector, act, *inputs, noise_scales, keep_path, show)
            )
        return _join(parts, num)

    def close(self) -> None:
        """Close all vector environments."""
        vectors = self._vectors
        for vector in (vectors.training, *vectors.spare.values()):
            if vector is not None:
                vector.close()
        vectors.training, vectors.holds_episodes = None, False
        vectors.spare.clear()

    def _training_vector(self) -> Vector:
        if self._vectors.training is None:
            num = self.num_seeds * self.num_environments
            self._vectors.training = make_vector(self.problem.host_environment, num)
        return self._vectors.training

    def _spare_vector(self, num: int) -> Vector:
        spare = self._vectors.spare
        if num not in spare:
            spare[num] = make_vector(self.problem.host_environment, num)
        return spare[num]

    def _save(self) -> dict[str, Array]:
        """The state of the simulations, empty if they cannot be saved."""
        vector = self._training_vector()
        return vector.get_state() if isinstance(vector, SavesState) else {}

    def _restore(self, actors: HostActors) -> HostActors:
        """Put the simulations where the actors left them, or let them start new episodes."""
        actors = HostActors(*jax.tree.map(np.array, actors))
        vector, vectors = self._training_vector(), self._vectors
        if isinstance(vector, SavesState):
            vector.set_state(actors.environment)
        elif not vectors.holds_episodes:  # they were in a process that has ended
            actors.ended[:] = True
        vectors.holds_episodes = True
        return actors


@partial(jax.jit, static_argnums=(0, 1))
def _draw(shape: tuple[int, ...], num_updates: int, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The noise of all actions of an iteration, and a key for every update."""

    def one_seed(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        key_noise, key_update = jax.random.split(key)
        return jax.random.normal(key_noise, shape), jax.random.split(key_update, num_updates)

    return jax.vmap(one_seed)(keys)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=4)
def _update_block(
    learner: Learner[S], spec: Spec, keys: jax.Array, turn: int, state: S, rollout: Rollout
) -> tuple[S, dict[str, jax.Array]]:
    """Improve all seeds from steps [T, S, N], with the keys [S, U] of this turn.

    The keys are picked in here: outside, that alone takes an eighth of SAC's time.
    """
    rollout = jax.tree.map(lambda array: jnp.moveaxis(array, 1, 0), rollout)

    def one_seed(key: jax.Array, state: S, rollout: Rollout) -> tuple[S, dict[str, jax.Array]]:
        return learner.update(key, spec, state, rollout)

    return jax.vmap(one_seed)(keys[:, turn], state, rollout)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _draw_noise(num_steps: int, num: int, size: int, keys: jax.Array) -> jax.Array:
    return jax.vmap(lambda key: jax.random.normal(key, (num_steps, num, size)))(keys)


def _run_side_by_side(
    problem: Problem,
    vector: Vector,
    act: BlockPolicy[P],
    noise: Array,
    contexts: Array,
    reset_seeds: Array,
    noise_scales: tuple[float, ...],
    keep_path: bool,
    show: Show | None,
) -> EpisodeBatch:
    num_variants, (num_seeds, num) = len(noise_scales), reset_seeds.shape
    shape, flat = (num_seeds, num_variants, num), (num_seeds, num_variants * num)

    def for_each(array: Array) -> Array:
        """Repeat for every noise scale; they lie side by side as one row of actors."""
        return np.repeat(array[:, None], num_variants, axis=1)

    seeds = for_each(reset_seeds).reshape(-1).tolist()
    observation = reset_rows(vector, seeds, for_each(contexts), np.ones(flat, bool))
    discounted_return, length = np.zeros(flat), np.zeros(flat, np.int64)
    alive, success, over, unstable = np.ones(flat, bool), *np.zeros((3, *flat), bool)
    reports_success = False
    path = [observation]
    scales = np.array(noise_scales, np.float32)[None, :, None, None]
    if show is not None:
        show(_frame(problem, vector, 0, False, False))
    for step in range(noise.shape[1]):
        scaled = (for_each(noise[:, step]) * scales).reshape(*flat, -1)
        outcome = step_rows(problem, vector, act(scaled, observation))
        observation, reward, terminated, truncated, info = outcome
        discounted_return += np.where(alive, problem.discount**step * reward, 0.0)
        success = np.where(
            alive, read_flag(info, "success", flat), success
        )  # the last step decides
        reports_success |= "success" in info
        over = np.where(alive, terminated, over)
        unstable |= alive & read_flag(info, "unstable", flat)
        length += alive
        alive &= ~(terminated | truncated)
        path += [observation] if keep_path else []
        if show is not None:
            show(_frame(problem, vector, step + 1, not alive.any(), bool(success[0, 0])))
        if not alive.any() and not keep_path:
            break
    kept = None
    if keep_path:
        kept = np.moveaxis(np.stack(path).reshape(len(path), *shape, -1), 0, 3)
    return EpisodeBatch(
        first_observation=path[0].reshape(*shape, -1)[:, 0],
        discounted_return=discounted_return.reshape(shape),
        success=success.reshape(shape),
        terminated=over.reshape(shape),
        length=length.reshape(shape),
        unstable=unstable.reshape(shape),
        path=kept,
        reports_success=reports_success,
    )


def _frame(problem: Problem, vector: Vector, step: int, is_last: bool, success: bool) -> Frame:
    require(
        isinstance(vector, RendersRows),
        f"rendering is not implemented for {problem.name!r}; give its vector environment "
        "render_row(index, width, height)",
    )
    assert isinstance(vector, RendersRows)
    return Frame(step, is_last, success, partial(vector.render_row, 0))


def _join(parts: list[EpisodeBatch], num: int) -> EpisodeBatch:
    """Put portions of the contexts back together; the last one may hold too many."""
    joined: dict[str, Any] = {"reports_success": any(part.reports_success for part in parts)}
    for name, column in zip(EpisodeBatch._fields, zip(*parts, strict=True), strict=True):
        if name in joined:
            continue
        axis = 1 if name == "first_observation" else 2
        is_kept = column[0] is not None
        joined[name] = np.concatenate(column, axis).take(range(num), axis) if is_kept else None
    return EpisodeBatch(**joined)
