"""Statistics over the seeds of an experiment, and numbers that sum up a learning curve.

Mean, standard error and the t-test with equal variances are those of the paper; the interquartile
mean and the probability of improvement are those of Agarwal et al. (2021), "Deep reinforcement
learning at the edge of the statistical precipice". A single seed says nothing about the spread:
whatever would need it is then NaN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used; `stats` alone takes a quarter of a second
from numpy.typing import ArrayLike

from selfpaced.errors import require
from selfpaced.records import Array

CONFIDENCE = 0.95
NUM_RESAMPLES = 9999
_BOOTSTRAP_SEED = 2020  # the same numbers give the same interval, today and tomorrow


class Estimate(NamedTuple):
    """A number and the interval that holds it with 95 % confidence."""

    value: float
    low: float
    high: float


def standard_error(per_seed: Array) -> Array:
    """Of the mean over seeds [..., S]; the deviation divides by n as in the paper, not by n - 1."""
    num = per_seed.shape[-1]
    return per_seed.std(axis=-1) / np.sqrt(num) if num > 1 else np.full(per_seed.shape[:-1], np.nan)


def mean_and_standard_error(values: ArrayLike) -> tuple[float, float]:
    """Over the seeds, as in the paper."""
    samples = _samples(values)
    return float(samples.mean()), float(standard_error(samples))


def count_seeds(num: int) -> str:
    """As people say it."""
    return f"{num} seed" if num == 1 else f"{num} seeds"


def plus_minus(mean: float, error: float | None, form: str = ".2f") -> str:
    """Mean and standard error as people write them; a single seed has no error."""
    is_known = error is not None and np.isfinite(error)
    return f"{mean:{form}} ± {error:{form}}" if is_known else f"{mean:{form}}"


def interquartile_mean(values: ArrayLike) -> Estimate:
    """Mean of the middle half of the seeds; the plain mean if they are fewer than four."""
    return _bootstrapped(_middle_mean, _samples(values))


def probability_of_improvement(values: ArrayLike, others: ArrayLike) -> Estimate:
    """How probably a seed of the one is better than a seed of the other; a tie counts half."""
    return _bootstrapped(_share_of_wins, _samples(values), _samples(others))


def t_test(values: ArrayLike, others: ArrayLike, equal_variances: bool = False) -> float:
    """Two-sided p-value that the means are equal: Welch's test, or Student's as in the paper."""
    one, two = _samples(values), _samples(others)
    if min(len(one), len(two)) < 2:
        return float("nan")
    if np.ptp(one) == 0 and np.ptp(two) == 0:  # t is 0/0 or infinite
        return 1.0 if one[0] == two[0] else 0.0
    with warnings.catch_warnings():
        # SciPy warns of seeds that are almost identical, where the last digits do not matter to us
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(scipy.stats.ttest_ind(one, two, equal_var=equal_variances).pvalue)


def area_under_curve(iterations: ArrayLike, curves: ArrayLike) -> Array:
    """Mean height of every curve [E, S] over the iterations [E] at which it was evaluated."""
    x, heights = _curves(iterations, curves)
    if len(x) == 1:
        return heights[0]
    return np.trapezoid(heights, x, axis=0) / (x[-1] - x[0])


def time_to_threshold(
    iterations: ArrayLike, curves: ArrayLike, threshold: float
) -> list[int | None]:
    """For every curve [E, S] the first iteration with at least this height; None if never."""
    require(bool(np.isfinite(threshold)), f"threshold must be a number, got {threshold}")
    x, heights = _curves(iterations, curves)
    reached = (heights >= threshold).T
    return [int(x[curve.argmax()]) if curve.any() else None for curve in reached]


def median_time(times: Sequence[int | None]) -> float:
    """Median over all seeds, those that never got there included; NaN if it is one of them."""
    require(len(times) > 0, "the median wants at least one seed, got none")
    median = float(np.median([np.inf if time is None else time for time in times]))
    return median if np.isfinite(median) else float("nan")


def _samples(values: ArrayLike) -> Array:
    samples = np.asarray(values, float)
    require(
        samples.ndim == 1 and len(samples) > 0,
        f"statistics want one number per seed, got an array of shape {samples.shape}",
    )
    worst = int(np.argmin(np.isfinite(samples)))
    require(
        bool(np.isfinite(samples[worst])),
        f"statistics want finite numbers, got {samples[worst]} in place {worst + 1} of "
        f"{len(samples)}; a seed that diverged has to be looked at, not averaged",
    )
    return samples


def _curves(iterations: ArrayLike, curves: ArrayLike) -> tuple[Array, Array]:
    x, heights = np.asarray(iterations), np.asarray(curves, float)
    require(
        x.ndim == 1 and heights.ndim == 2 and len(x) == len(heights) > 0,
        f"curves want a row for each iteration and a column for each seed, got iterations of "
        f"shape {x.shape} and curves of shape {heights.shape}",
    )
    require(bool((np.diff(x) > 0).all()), "the iterations of a curve must ascend")
    require(
        bool(np.isfinite(heights).all()),
        f"curves want finite numbers, got NaN or infinity in "
        f"{int((~np.isfinite(heights)).any(axis=0).sum())} of {heights.shape[1]} curves",
    )
    return x, heights


def _middle_mean(samples: Array, axis: int = -1) -> Array:
    return np.asarray(scipy.stats.trim_mean(samples, 0.25, axis=axis))


def _share_of_wins(one: Array, two: Array, axis: int = -1) -> Array:
    """Of all pairs; the Mann-Whitney statistic divided by the number of pairs."""
    difference = np.moveaxis(one, axis, -1)[..., :, None] - np.moveaxis(two, axis, -1)[..., None, :]
    return (0.5 + 0.5 * np.sign(difference)).mean(axis=(-2, -1))


def _bootstrapped(statistic: Callable[..., Any], *samples: Array) -> Estimate:
    """The percentile interval: unlike BCa it exists when all seeds have the same value."""
    value = float(statistic(*samples))
    if min(map(len, samples)) < 2:
        return Estimate(value, float("nan"), float("nan"))
    interval = scipy.stats.bootstrap(
        samples,
        statistic,
        n_resamples=NUM_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        random_state=np.random.default_rng(_BOOTSTRAP_SEED),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))
