"""Whole episodes of random actions at chosen contexts, as the check of a problem needs them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.environments.base import Environment, HostEnvironment
from selfpaced.errors import SelfpacedError, require, users_place
from selfpaced.experiment import Budget
from selfpaced.learners.action_distributions import Outputs, distribution_of
from selfpaced.problems import Problem
from selfpaced.records import Array, Spec
from selfpaced.registry import members_of
from selfpaced.training.curriculum_learning import CurriculumLearning
from selfpaced.training.simulator import AnySimulator
from selfpaced.training.streams import Purpose, Streams

NUM_EPISODES = 32  # per kind of context
ROUNDING = 1e-5  # relative difference that single precision explains

Nothing = tuple[()]


@final
@dataclass(frozen=True)
class RandomPolicy:
    """Uniform actions inside their bounds; standard normal where a bound is infinite."""

    spec: Spec

    def policy(self, noise: jax.Array, state: Nothing, observation: jax.Array) -> jax.Array:
        """Return an action [A]."""
        spec = self.spec
        if spec.has_discrete_actions:
            return distribution_of(spec).sample(noise, Outputs(jnp.zeros_like(noise), None))
        low, high = jnp.array(spec.action_low), jnp.array(spec.action_high)
        bounded = jnp.isfinite(low) & jnp.isfinite(high)
        width = jnp.where(bounded, high - low, 0.0)
        share = jax.scipy.stats.norm.cdf(noise)
        return jnp.where(bounded, low + width * share, noise)


class Trial(NamedTuple):
    """Episodes of random actions, one per context."""

    context: Array  # [M, C]
    discounted_return: Array  # [M]
    success: Array  # [M]
    terminated: Array  # [M]
    length: Array  # [M]
    path: Array  # [M, T + 1, O]  observations; zero after the end


class Trials(NamedTuple):
    """Episodes at all kinds of contexts; the first three share their seeds."""

    initial: Trial
    moved: Trial  # episode i as in `initial`, but with another value of component i % C
    repeated: Trial  # as `initial`
    target: Trial

    @property
    def is_reproducible(self) -> bool:
        """Whether the same seed and context give the same episode."""
        both = self.initial, self.repeated
        return not (differs(*both) | starts_differently(*both)).any()


class _OneStepLonger:
    """An environment with a longer time limit, which shows whether it ends episodes in time."""

    def __init__(self, environment: object, has_discrete_actions: bool) -> None:
        kind = HostEnvironment if hasattr(environment, "make") else Environment
        for name in members_of(kind):
            setattr(self, name, getattr(environment, name))
        self.max_episode_steps: int = self.max_episode_steps + 1
        self.has_discrete_actions = has_discrete_actions


def draw_contexts(space: ContextSpace, seed: int) -> tuple[Array, Array]:
    """Initial and target contexts [M, C], at least one per component."""
    rng, num = np.random.default_rng(seed), max(NUM_EPISODES, space.size)
    return space.sample_initial(rng, num), space.sample_target(rng, num)


def move_components(space: ContextSpace, contexts: Array) -> Array:
    """Move component i % C of context i by half the width of the box."""
    (lower, upper), rows = space.box, np.arange(len(contexts))
    moved = lower + np.mod(contexts - lower + 0.5 * (upper - lower), upper - lower)
    column = rows % space.size
    contexts = contexts.copy()
    contexts[rows, column] = moved[rows, column]
    return contexts


def run_trials(
    method: CurriculumLearning,
    budget: Budget,
    seed: int,
    problem: Problem,
    batches: Sequence[Array],
) -> list[Trial]:
    """Run every batch of contexts [M, C] from the same seeds."""
    longer_environment = _OneStepLonger(problem.environment, problem.spec.has_discrete_actions)
    longer = dataclasses.replace(problem, environment=longer_environment)  # type: ignore[arg-type]
    workload = (seed,), budget.steps_per_iteration, budget.num_environments
    with method.training(longer, *workload) as training:
        return [_run(longer, training.simulator, seed, contexts) for contexts in batches]


def _run(problem: Problem, simulator: AnySimulator, seed: int, contexts: Array) -> Trial:
    spec = problem.spec
    batch = simulator.episodes(
        Streams((seed,), 0, Purpose.REPORT),  # new for every batch: its generators advance
        contexts[None],
        RandomPolicy(spec),
        (),
        noise_scales=(1.0,),
        keep_path=True,
    )
    assert batch.path is not None
    outcome = (batch.discounted_return, batch.success, batch.terminated, batch.length, batch.path)
    trial = Trial(contexts, *(np.asarray(column)[0, 0] for column in outcome))
    trial = trial._replace(path=np.where(in_episode(trial)[..., None], trial.path, 0.0))
    for what, numbers in (("observations", trial.path), ("returns", trial.discounted_return)):
        finite = np.isfinite(numbers)
        require(
            bool(finite.all()),
            f"{what} of {problem.name} must be finite, got {numbers[~finite][:1].tolist()} with "
            "random actions; check the environment",
        )
    return trial


def in_episode(trial: Trial) -> Array:
    """Which observations [M, T + 1] belong to an episode, not to what follows its end."""
    inside: Array = np.arange(trial.path.shape[1]) <= trial.length[:, None]
    return inside


def differs(one: Trial, other: Trial) -> Array:
    """Whether each episode takes another course, apart from a constant in the observation."""
    changes = [trial.path - trial.path[:, :1] for trial in (one, other)]
    both = (in_episode(one) & in_episode(other))[..., None]
    scale = 1.0 + np.abs(one.path).max(axis=(0, 1))
    distance = np.where(both, np.abs(changes[0] - changes[1]), 0.0)
    course = (distance > ROUNDING * scale).any(axis=(1, 2))
    returns = ~np.isclose(one.discounted_return, other.discounted_return, rtol=ROUNDING)
    ends = (one.length != other.length) | (one.success != other.success)
    any_difference: Array = course | returns | ends
    return any_difference


def starts_differently(one: Trial, other: Trial) -> Array:
    """Whether the first observation of each episode differs."""
    first, second = one.path[:, 0], other.path[:, 0]
    apart: Array = (np.abs(first - second) > ROUNDING * (1.0 + np.abs(first))).any(axis=1)
    return apart


@contextmanager
def environment_errors(name: str) -> Iterator[None]:
    """Raise `SelfpacedError` for any error of a user's code, with its file and line."""
    try:
        yield
    except SelfpacedError as error:
        place = users_place(error.__cause__)
        if not place or place in str(error):
            raise
        raise SelfpacedError(f"{error}{place}") from error
    except Exception as error:
        message = str(error).strip().partition("\n")[0]
        raise SelfpacedError(
            f"problem {name!r} failed with {type(error).__name__}: {message}{users_place(error)}"
        ) from error
