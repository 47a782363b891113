"""Episodes of the final policies: over the whole context space, and on the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from selfpaced.contexts import ContextSpace
from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.reports.page.source import RunData
from selfpaced.runs.policies import final_learners
from selfpaced.statistics import Estimate, bootstrapped_mean
from selfpaced.training.streams import Purpose

NUM_SPREAD = 256  # contexts per seed, over the box: one in each of 16 x 16 squares
NUM_TARGET = 64  # contexts per seed, on the target
HOST_STEPS = 120_000  # of a run, if its environment is simulated outside JAX
WORST = 0.1  # share of the target contexts that CVaR averages

_MIN_SPREAD, _MIN_TARGET = 16, 10


@dataclass(frozen=True)
class Outcomes:
    """One stochastic episode of every seed in each context."""

    contexts: Array  # [N, C] over the box, the same for all seeds
    returns: Array  # [S, N]
    success: Array  # [S, N]; NaN if the environment does not report it
    target_returns: Array  # [S, M]
    target_success: Array  # [S, M]

    @property
    def share_solved(self) -> Estimate:
        """The share of target contexts that succeed."""
        return _over_seeds(self.target_success.mean(axis=1))

    @property
    def worst_tenth(self) -> Estimate:
        """The conditional value at risk: mean return of the worst tenth of target contexts."""
        num = max(int(np.ceil(WORST * self.target_returns.shape[1])), 1)
        return _over_seeds(np.sort(self.target_returns, axis=1)[:, :num].mean(axis=1))

    @property
    def share_of_box(self) -> Estimate:
        """The share of the whole context space that succeeds."""
        return _over_seeds(self.success.mean(axis=1))


def run_final_policies(run: RunData) -> Outcomes:
    """Run episodes of the final policies; random numbers do not change from call to call.

    Raises:
        SelfpacedError: the policies or the environment cannot be used here.
    """
    experiment, seeds = run.experiment, run.counted_seeds
    assert experiment is not None
    space = experiment.resolved.contexts
    num_spread, num_target = _numbers(experiment, len(seeds))
    spread = spread_contexts(space, num_spread)
    target = _target_contexts(experiment, seeds, num_target)
    both = np.concatenate([np.tile(spread, (len(seeds), 1, 1)), target], axis=1)
    with experiment.training(seeds) as training:
        batch = training.target_episodes(
            final_learners(run.folder, seeds),
            0,
            both.shape[1],
            Purpose.REPORT,
            contexts=both,
            noise_scales=(1.0,),
        )
    returns = np.asarray(batch.discounted_return[:, 0], float)
    success = np.asarray(batch.success[:, 0], float)
    if not batch.reports_success:
        success = success + np.nan
    return Outcomes(
        spread,
        returns[:, :num_spread],
        success[:, :num_spread],
        returns[:, num_spread:],
        success[:, num_spread:],
    )


def spread_contexts(space: ContextSpace, num: int) -> Array:
    """Return contexts [num, C] that cover the box evenly (Sobol's sequence)."""
    power = max(int(np.log2(num)), 0)
    points = scipy.stats.qmc.Sobol(space.size, scramble=False).random_base2(power)
    return space.from_unit(np.clip(points + 0.5 / 2**power, 0.0, 1.0))


def _numbers(experiment: Experiment, num_seeds: int) -> tuple[int, int]:
    """How many contexts over the box (a power of two) and on the target."""
    problem = experiment.resolved
    if not problem.is_hosted:
        return NUM_SPREAD, NUM_TARGET
    most = HOST_STEPS // (num_seeds * problem.environment.max_episode_steps)
    spread = int(2 ** np.floor(np.log2(np.clip(0.75 * most, _MIN_SPREAD, NUM_SPREAD))))
    return spread, int(np.clip(most - spread, _MIN_TARGET, NUM_TARGET))


def _target_contexts(experiment: Experiment, seeds: Sequence[int], num: int) -> Array:
    problem = experiment.resolved
    rngs = [np.random.default_rng((seed, Purpose.REPORT)) for seed in seeds]
    return np.stack([problem.sample_evaluation(rng, num) for rng in rngs])


def _over_seeds(values: Array) -> Estimate:
    if not np.isfinite(values).all():
        return Estimate(np.nan, np.nan, np.nan)
    return bootstrapped_mean(values)
