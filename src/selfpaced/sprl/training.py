"""The iterations of SPRL: whole episodes with fixed network weights, and joint updates.

An iteration stands for as many environment steps as with any other method, so that curves can be
compared: updates of a fixed number of episodes are made until that many steps have been taken. An
iteration may therefore see none, one or several updates. The episodes that fill the memory before
the first update count as well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from types import TracebackType
from typing import NamedTuple, Self, TypeVar, final

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.contexts import Gaussian
from selfpaced.errors import SelfpacedError, require
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.sprl.dual import quadratic_features, regress
from selfpaced.sprl.policy import EpisodicPolicy, EpisodicState, FixedNetwork, policy_features
from selfpaced.sprl.update import EpisodicUpdate, SPRLState
from selfpaced.sprl.weighted_fit import LinearGaussian
from selfpaced.training.failures import Cause, SeedError
from selfpaced.training.jax_episodes import drawing_of, run_episodes
from selfpaced.training.loop import TrainingState, describe_contexts, sample_evaluation, summarise
from selfpaced.training.simulator import EpisodeBatch, Show
from selfpaced.training.streams import Purpose, Streams, host_stream

NUM_SHOWN = 64  # contexts drawn for the record, even if fewer are needed

T = TypeVar("T")
State = TrainingState[EpisodicState, tuple[()], SPRLState]


@final
@dataclass(frozen=True)
class EpisodicTraining:
    """SPRL on a problem, for several seeds that advance together; a `TrainingLoop`."""

    problem: Problem
    update: EpisodicUpdate
    policy: EpisodicPolicy
    seeds: tuple[int, ...]
    steps_per_iteration: int

    def __post_init__(self) -> None:
        contexts = self.problem.contexts
        context = jnp.asarray(contexts.upper, jnp.float32)
        first, _ = self.problem.jax_environment.reset(jax.random.key(0), context)
        require(
            len(first) > contexts.size and bool((first[-contexts.size :] == context).all()),
            f"observations of {self.problem.name} must end with the context to be trained by SPRL",
        )

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
        """Do nothing: there are no threads or processes."""

    @property
    def network(self) -> FixedNetwork:
        """The network that acts during an episode."""
        return self.policy.network(self.problem.spec, self.problem.contexts.size)

    @property
    def steps_per_second(self) -> float:
        """Environment steps in a second of simulated time, for video."""
        return drawing_of(self.problem).steps_per_second

    def init_learners(self) -> EpisodicState:
        """Return the initial policies, arrays with a leading axis of seeds."""
        policy = self.policy.begin(self.problem.spec, self.problem.contexts.size)
        return _stack([policy] * len(self.seeds))

    def init(self) -> State:
        """Return the state before the first iteration; no episode is ever left unfinished."""
        contexts = self.problem.contexts
        num_parameters = self.policy.num_parameters(self.problem.spec, contexts.size)
        memories = tuple(self.update.init(contexts, num_parameters) for _ in self.seeds)
        return TrainingState(self.init_learners(), (), memories)

    def iterate(self, state: State, iteration: int) -> tuple[State, list[Metrics]]:
        """Make as many updates as fit into the steps of one iteration; return metrics per seed."""
        first = self.sample_contexts(state, iteration)
        progress = [
            _Progress(
                _pick(state.learner, index), memory, (), self.update.metrics(self._target, memory)
            )
            for index, memory in enumerate(state.teachers)
        ]
        rngs = [host_stream(seed, iteration, Purpose.UPDATE) for seed in self.seeds]
        contexts = first[:, : self.update.num_rollouts]
        num_allowed, number = (iteration + 1) * self.steps_per_iteration, 0
        while any(one.memory.num_steps < num_allowed for one in progress):
            if number:  # the distributions may have moved
                contexts = self._draw_contexts(rngs, [one.memory for one in progress])
            weights = _draw_weights(rngs, progress, contexts)
            streams = Streams(self.seeds, iteration, Purpose.TRAIN, number)
            batch = self._run(self._discounted, streams, contexts, weights[:, None])
            for index, one in enumerate(progress):
                if one.memory.num_steps < num_allowed:  # the others wait
                    episodes = _episodes(batch, contexts, index)
                    self._require_finite(index, episodes, iteration)
                    progress[index] = self._learn(one, episodes, weights[index])
            number += 1
        described = describe_contexts(self.problem.contexts, first)
        rows = [
            context | summarise(self._joined(one)) | one.metrics
            for context, one in zip(described, progress, strict=True)
        ]
        learners = _stack([one.policy for one in progress])
        return TrainingState(learners, (), tuple(one.memory for one in progress)), rows

    def sample_contexts(self, state: State, iteration: int) -> Array:
        """Return contexts [S, K, C] of the first episodes of an iteration, some for the record."""
        rngs = [host_stream(seed, iteration, Purpose.SAMPLE) for seed in self.seeds]
        num = max(self.update.num_rollouts, NUM_SHOWN)
        return self._draw_contexts(rngs, list(state.teachers), num)

    def target_episodes(
        self,
        learners: EpisodicState,
        iteration: int,
        num_episodes: int,
        purpose: Purpose = Purpose.EVALUATE,
        *,
        contexts: Array | None = None,
        noise_scales: tuple[float, ...] = (1.0, 0.0),
        keep_path: bool = False,
        show: Show | None = None,
    ) -> EpisodeBatch:
        """Run whole episodes in fresh target contexts, or in given ones [S, M, C].

        The randomness of this policy is in its weights: noise scale 1 draws them once per episode,
        noise scale 0 takes their mean.
        """
        streams = Streams(self.seeds, iteration, purpose, number=0)
        if contexts is None:
            contexts = sample_evaluation(self.problem, streams, num_episodes)
        weights = [
            _variants(rng, _gaussian(_pick(learners, index)), contexts[index], noise_scales)
            for index, rng in enumerate(streams.generators)
        ]
        return self._run(self.problem, streams, contexts, np.stack(weights), keep_path, show)

    def gaussians(self, state: State) -> list[Gaussian | None]:
        """Return what each seed's contexts are drawn from."""
        return [self.update.gaussian(memory) for memory in state.teachers]

    def particles(self, state: State) -> list[Array | None]:
        """Return no particles: contexts are drawn from a Gaussian."""
        return [None] * len(self.seeds)

    def advice(self, state: State, num_remaining: int) -> Counter[str]:
        """Return warnings and the number of seeds that each applies to."""
        return Counter(text for memory in state.teachers for text in self.update.advice(memory))

    def _require_finite(self, index: int, episodes: Episodes, iteration: int) -> None:
        try:
            episodes.require_finite(f"seed {self.seeds[index]}, iteration {iteration + 1}")
        except SelfpacedError as error:
            raise SeedError({index: Cause("environment", str(error))}) from error

    @property
    def _target(self) -> Gaussian:
        return self.problem.contexts.require_gaussian("target", "SPRL")

    @property
    def _discounted(self) -> Problem:
        """The problem with the discount of the return that training maximises."""
        discount = self.update.discount
        return self.problem if discount is None else replace(self.problem, discount=discount)

    def _draw_contexts(
        self, rngs: list[np.random.Generator], memories: list[SPRLState], num: int | None = None
    ) -> Array:
        num = self.update.num_rollouts if num is None else num
        pairs = zip(rngs, memories, strict=True)
        space = self.problem.contexts
        return np.stack([self.update.sample(rng, space, memory, num) for rng, memory in pairs])

    def _run(
        self,
        problem: Problem,
        streams: Streams,
        contexts: Array,
        weights: Array,
        keep_path: bool = False,
        show: Show | None = None,
    ) -> EpisodeBatch:
        """One episode with each of the weights [S, V, M, D] in contexts [S, M, C]."""
        return run_episodes(
            problem,
            streams,
            contexts,
            self.network,
            jnp.asarray(weights, jnp.float32),
            noise_scales=(0.0,) * weights.shape[1],
            per_episode=True,
            keep_path=keep_path,
            show=show,
        )

    def _learn(self, progress: _Progress, episodes: Episodes, weights: Array) -> _Progress:
        """Remember the episodes of one seed, and improve its policy and contexts."""
        policy, memory, earlier, metrics = progress
        num_steps = int(episodes.length.sum())
        memory = self.update.remember(
            memory, episodes.context, weights, episodes.discounted_return, num_steps
        )
        if self.update.is_ready(memory):
            features = policy_features(memory.contexts)
            memory, new, metrics = self.update.update(
                self._target, memory, _gaussian(policy), features
            )
            value = regress(quadratic_features(memory.contexts), memory.returns)
            policy = EpisodicState(new.coefficients, new.cholesky, value)
        return _Progress(policy, memory, (*earlier, episodes), metrics)

    def _joined(self, progress: _Progress) -> Episodes:
        """All episodes of a seed in this iteration, with the values of its improved policy."""
        columns = zip(_no_episodes(self.problem), *progress.batches, strict=True)
        joined = Episodes(*(np.concatenate(column) for column in columns))
        value = self.policy.value(progress.policy, joined.first_observation)
        return joined._replace(value=np.asarray(value))


class _Progress(NamedTuple):
    """One seed in the course of an iteration."""

    policy: EpisodicState
    memory: SPRLState
    batches: tuple[Episodes, ...]  # of this iteration
    metrics: Metrics


def _draw_weights(
    rngs: list[np.random.Generator], progress: list[_Progress], contexts: Array
) -> Array:
    """Network weights [S, M, D] for contexts [S, M, C]."""
    return np.stack(
        [
            _gaussian(one.policy).sample(rng, policy_features(own))
            for rng, one, own in zip(rngs, progress, contexts, strict=True)
        ]
    )


def _variants(
    rng: np.random.Generator,
    policy: LinearGaussian,
    contexts: Array,
    noise_scales: tuple[float, ...],
) -> Array:
    """Weights [V, M, D]: drawn for noise scale 1, the mean for noise scale 0."""
    features = policy_features(contexts)
    mean = policy.mean(features)
    return np.stack([policy.sample(rng, features) if scale else mean for scale in noise_scales])


def _episodes(batch: EpisodeBatch, contexts: Array, index: int) -> Episodes:
    """The training episodes of one seed; their values come at the end of the iteration."""
    returns = np.asarray(batch.discounted_return[index, 0], np.float64)
    return Episodes(
        context=contexts[index],
        first_observation=batch.first_observation[index],
        discounted_return=returns,
        value=np.zeros(len(returns)),
        success=np.asarray(batch.success[index, 0]),
        length=np.asarray(batch.length[index, 0]),
    )


def _no_episodes(problem: Problem) -> Episodes:
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
    stacked: EpisodicState = jax.tree.map(lambda *leaves: np.stack(leaves), *policies)
    return stacked


def _pick(tree: T, index: int) -> T:
    picked: T = jax.tree.map(lambda array: np.asarray(array[index]), tree)
    return picked
