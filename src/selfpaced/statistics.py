"""Statistics over the seeds of an experiment, and summaries of learning curves.

Mean, standard error and the t-test with equal variances are those of the paper; the interquartile
mean and the probability of improvement are those of Agarwal et al. (2021), "Deep reinforcement
learning at the edge of the statistical precipice". The spread of a single seed is unknown:
statistics that depend on it are then NaN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy  # loads its parts on first use; `stats` alone takes a quarter of a second
from numpy.typing import ArrayLike

from selfpaced.errors import require
from selfpaced.records import Array

CONFIDENCE = 0.95
NUM_RESAMPLES = 9999
_BOOTSTRAP_SEED = 2020  # fixed, so that equal numbers always give the same interval


class Estimate(NamedTuple):
    """A number and its 95 % confidence interval."""

    value: float
    low: float
    high: float


def standard_error(per_seed: Array) -> Array:
    """Return the standard error of the mean over seeds [..., S].

    The standard deviation divides by n as in the paper, not by n - 1.
    """
    num = per_seed.shape[-1]
    if num < 2:
        return np.full(per_seed.shape[:-1], np.nan)
    error: Array = per_seed.std(axis=-1) / np.sqrt(num)
    return error


def mean_and_standard_error(values: ArrayLike) -> tuple[float, float]:
    """Return mean and standard error over the seeds, as in the paper."""
    samples = _samples(values)
    return float(samples.mean()), float(standard_error(samples))


def count_seeds(num: int) -> str:
    """Return the number of seeds in words: `1 seed`, `2 seeds`."""
    return f"{num} seed" if num == 1 else f"{num} seeds"


def percentage(share: float | None) -> str:
    """Return a success rate as `84%`, or `not reported` if it is unknown."""
    is_known = share is not None and np.isfinite(share)
    return f"{share:.0%}" if is_known else "not reported"


def plus_minus(mean: float, error: float | None, form: str = ".2f") -> str:
    """Return `mean ± error`, or the mean alone if the error is unknown."""
    is_known = error is not None and np.isfinite(error)
    return f"{mean:{form}} ± {error:{form}}" if is_known else f"{mean:{form}}"


def interquartile_mean(values: ArrayLike) -> Estimate:
    """Return the mean of the middle half of the seeds; of all if there are fewer than four."""
    return _bootstrapped(_middle_mean, _samples(values))


def bootstrapped_mean(values: ArrayLike) -> Estimate:
    """Return the mean over the seeds, for example of success rates, with its interval."""
    return _bootstrapped(np.mean, _samples(values))


def rate(num: int, total: int) -> Estimate:
    """Return the share of seeds with some property, and its interval after Wilson.

    Examples:
        >>> from selfpaced.statistics import rate
        >>> [round(bound, 3) for bound in rate(0, 60)]
        [0.0, 0.0, 0.06]
    """
    require(0 <= num <= total > 0, f"num must lie in [0, {total}], got {num}")
    interval = scipy.stats.binomtest(num, total).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(num / total, float(interval.low), float(interval.high))


def probability_of_improvement(values: ArrayLike, others: ArrayLike) -> Estimate:
    """Return the probability that a seed of `values` beats a seed of `others`; ties count half."""
    return _bootstrapped(_share_of_wins, _samples(values), _samples(others))


def t_test(values: ArrayLike, others: ArrayLike, equal_variances: bool = False) -> float:
    """Return the two-sided p-value of equal means.

    This is Welch's test; with `equal_variances` it is the pooled t-test, as in the paper.
    """
    one, two = _samples(values), _samples(others)
    if min(len(one), len(two)) < 2:
        return float("nan")
    if np.ptp(one) == 0 and np.ptp(two) == 0:  # t is 0/0 or infinite
        return 1.0 if one[0] == two[0] else 0.0
    with warnings.catch_warnings():
        # SciPy warns about seeds that are almost identical; the lost digits do not matter here
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(scipy.stats.ttest_ind(one, two, equal_var=equal_variances).pvalue)


def area_under_curve(iterations: ArrayLike, curves: ArrayLike) -> Array:
    """Return the mean height of every curve [E, S] over its evaluated iterations [E]."""
    x, heights = _curves(iterations, curves)
    if len(x) == 1:
        return np.asarray(heights[0])
    area: Array = np.trapezoid(heights, x, axis=0) / (x[-1] - x[0])
    return area


def time_to_threshold(
    iterations: ArrayLike, curves: ArrayLike, threshold: float
) -> list[int | None]:
    """Return the first iteration of every curve [E, S] with at least this height, or None."""
    require(bool(np.isfinite(threshold)), f"threshold must be finite, got {threshold}")
    x, heights = _curves(iterations, curves)
    reached = (heights >= threshold).T
    return [int(x[curve.argmax()]) if curve.any() else None for curve in reached]


def median_time(times: Sequence[int | None]) -> float:
    """Return the median over all seeds; NaN if the median seed never reached the threshold.

    None stands for seeds that never reached it; they count as infinitely late.
    """
    require(len(times) > 0, "times must be given for at least one seed, got none")
    median = float(np.median([np.inf if time is None else time for time in times]))
    return median if np.isfinite(median) else float("nan")


def _samples(values: ArrayLike) -> Array:
    samples = np.asarray(values, float)
    require(
        samples.ndim == 1 and len(samples) > 0,
        f"values must be one number per seed, got an array of shape {samples.shape}",
    )
    worst = int(np.argmin(np.isfinite(samples)))
    require(
        bool(np.isfinite(samples[worst])),
        f"values must be finite, got {samples[worst]} in place {worst + 1} of {len(samples)}; "
        "inspect the seed that diverged, and do not average over it",
    )
    return samples


def _curves(iterations: ArrayLike, curves: ArrayLike) -> tuple[Array, Array]:
    x, heights = np.asarray(iterations), np.asarray(curves, float)
    require(
        x.ndim == 1 and heights.ndim == 2 and len(x) == len(heights) > 0,
        "curves must be arrays with a row for each iteration and a column for each seed, got "
        f"shape {heights.shape} for iterations of shape {x.shape}",
    )
    require(bool((np.diff(x) > 0).all()), f"iterations must be ascending, got {x.tolist()}")
    require(
        bool(np.isfinite(heights).all()),
        "curves must be finite, got NaN or infinity in "
        f"{int((~np.isfinite(heights)).any(axis=0).sum())} of {heights.shape[1]} curves",
    )
    return x, heights


def _middle_mean(samples: Array, axis: int = -1) -> Array:
    return np.asarray(scipy.stats.trim_mean(samples, 0.25, axis=axis))


def _share_of_wins(one: Array, two: Array, axis: int = -1) -> Array:
    """Return the Mann-Whitney statistic divided by the number of pairs."""
    difference = np.moveaxis(one, axis, -1)[..., :, None] - np.moveaxis(two, axis, -1)[..., None, :]
    share: Array = (0.5 + 0.5 * np.sign(difference)).mean(axis=(-2, -1))
    return share


def _bootstrapped(statistic: Callable[..., Array], *samples: Array) -> Estimate:
    """Return the percentile interval; unlike BCa it exists if all seeds have the same value."""
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
