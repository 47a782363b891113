"""Which estimate of the values deserves an exact solver: `python -m benchmarks.estimators`.

Synthetic problems with known values: a Gaussian N(0, I) over contexts, a target four standard
deviations away in every component and half as wide, values with a common part of 10 that are flat,
fall linearly to 2 at the target, or fall quadratically, and noise of standard deviation 1.

Table 1: one update of the trade-off, Eq. (5), with alpha from Eq. (6): the gain of the true
objective, as a share of the gain of an update from exact values. 100 is perfect, below zero is
worse than not to move. Table 2: flat values, so nothing speaks against the target: the KL to the
target after 60 updates (median), and the seeds that have arrived. The last row replaces the
trade-off by a constraint on the fitted value, which the update of pacing by mastery solves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from selfpaced.contexts import Gaussian
from selfpaced.records import Array
from selfpaced.teachers.gaussian_step import gaussian_steps, prepare
from selfpaced.teachers.mastery_step import approach

COMMON, NOISE, ZETA, MAX_KL = 10.0, 1.0, 1.0, 0.05
DISTANCE, LEVEL = 4.0, 7.0  # of the target; least value of the constraint
NUM_STEPS, NUM_LOOPS, NUM_UPDATES = 16, 4, 60
WINDOW = 100  # episodes of a regression
NUM_EXACT = 256  # contexts that stand for an expectation

Values = Callable[[Array], Array]  # contexts [N, C] -> [N]
Samples = tuple[Array, Array]  # contexts [N, C], values [N]
Estimator = Callable[[np.random.Generator, Gaussian, Samples], Samples]


def flat(contexts: Array) -> Array:
    """Return the common part."""
    return np.full(len(contexts), COMMON)


def linear(contexts: Array) -> Array:
    """Fall to 2 at the target."""
    return COMMON - 8.0 * contexts.mean(axis=1) / DISTANCE


def quadratic(contexts: Array) -> Array:
    """Fall to 2 at the target, and as fast on the other side."""
    return COMMON - 8.0 * (contexts**2).mean(axis=1) / DISTANCE**2


def paper(rng: np.random.Generator, current: Gaussian, samples: Samples) -> Samples:
    """Importance weights without a baseline."""
    return samples


def centred(rng: np.random.Generator, current: Gaussian, samples: Samples) -> Samples:
    """The mean value is subtracted."""
    contexts, values = samples
    return contexts, values - values.mean()


def regression(
    rng: np.random.Generator, current: Gaussian, samples: Samples, num_errors: float = 0.0
) -> Samples:
    """A linear function of the context in place of single values."""
    slope, error = fit(current, samples)
    slope = slope - num_errors * error
    contexts = current.sample(rng, NUM_EXACT)
    return contexts, np.linalg.solve(current.cholesky, (contexts - current.mean).T).T @ slope


def cautious(rng: np.random.Generator, current: Gaussian, samples: Samples) -> Samples:
    """The regression with slopes lower by one standard error in the direction of the target."""
    return regression(rng, current, samples, num_errors=1.0)


def fit(current: Gaussian, samples: Samples) -> tuple[Array, Array]:
    """Return ridge slopes in whitened coordinates, and their standard errors."""
    contexts, values = samples
    white = np.linalg.solve(current.cholesky, (contexts - current.mean).T).T
    matrix = white.T @ white + np.eye(current.size)
    slope = np.linalg.solve(matrix, white.T @ (values - values.mean()))
    spread = (values - values.mean() - white @ slope).std()
    return slope, spread * np.sqrt(np.diag(np.linalg.inv(matrix)))


ESTIMATORS: dict[str, Estimator] = {
    "paper": paper,
    "centred": centred,
    "regression": regression,
    "regression, lower bound": cautious,
}


def target_of(size: int) -> Gaussian:
    """Return the target in this many dimensions."""
    return Gaussian.diagonal(np.full(size, DISTANCE), np.full(size, 0.5))


def alpha_of(current: Gaussian, target: Gaussian, mean_value: float) -> float:
    """Return the weight of the target."""
    return ZETA * mean_value / max(current.kl(target), 1e-6)  # Eq. (6)


def solved(
    currents: Sequence[Gaussian], target: Gaussian, samples: Sequence[Samples], alphas: list[float]
) -> list[Gaussian]:
    """Return the Gaussians that maximise Eq. (5)."""
    updates = [
        prepare(current, target, *sample, alpha, MAX_KL)
        for current, sample, alpha in zip(currents, samples, alphas, strict=True)
    ]
    return [step.distribution for step in gaussian_steps(updates)]


def self_normalised(
    currents: Sequence[Gaussian], target: Gaussian, samples: Sequence[Samples], alphas: list[float]
) -> list[Gaussian]:
    """Divide by the sum of the weights: the baseline is the estimate at the solution itself."""
    baselines = [values.mean() for _, values in samples]
    for _ in range(3):  # Dinkelbach's iteration for a ratio
        shifted = [(c, v - b) for (c, v), b in zip(samples, baselines, strict=True)]
        new = solved(currents, target, shifted, alphas)
        for place, (contexts, values) in enumerate(samples):
            ratio = np.exp(new[place].log_density(contexts) - currents[place].log_density(contexts))
            baselines[place] = (ratio @ values) / ratio.sum()
    return new


def updated(
    name: str,
    rng: np.random.Generator,
    currents: Sequence[Gaussian],
    target: Gaussian,
    samples: Sequence[Samples],
) -> list[Gaussian]:
    """Return the next Gaussians of several seeds by an estimator's name."""
    means = [values.mean() for _, values in samples]
    alphas = [
        alpha_of(current, target, mean) for current, mean in zip(currents, means, strict=True)
    ]
    if name == "self-normalised":
        return self_normalised(currents, target, samples, alphas)
    estimated = [
        ESTIMATORS[name](rng, current, sample)
        for current, sample in zip(currents, samples, strict=True)
    ]
    return solved(currents, target, estimated, alphas)


def constrained(
    currents: Sequence[Gaussian], target: Gaussian, samples: Sequence[Samples]
) -> list[Gaussian]:
    """Approach the target among Gaussians whose fitted value is at least LEVEL."""
    new = []
    for current, sample in zip(currents, samples, strict=True):
        slope, _ = fit(current, sample)
        slack = sample[1].mean() - LEVEL
        step = approach(current, target, slope, max(slack, 0.0), MAX_KL)
        new.append(step if slack >= 0 else current)
    return new


def true_objective(values: Values, start: Gaussian, target: Gaussian, gaussian: Gaussian) -> float:
    """Return Eq. (5) with exact values."""
    # two contexts have the mean and the variance of the Gaussian: exact up to second order
    contexts = np.stack([gaussian.mean - gaussian.std, gaussian.mean + gaussian.std])
    return float(values(contexts).mean()) - alpha_of(start, target, COMMON) * gaussian.kl(target)


def share_of_gain(name: str, values: Values, size: int, num: int) -> float:
    """Return the mean gain of an update from `num` episodes, in percent of that of exact values."""
    rng, target = np.random.default_rng(1), target_of(size)
    start = Gaussian.diagonal(np.zeros(size), np.ones(size))
    exact = start.sample(rng, 4 * NUM_EXACT)
    [best] = solved(
        [start], target, [(exact, values(exact) - COMMON)], [alpha_of(start, target, COMMON)]
    )
    samples = [_episodes(rng, values, start, num) for _ in range(NUM_STEPS)]
    new = updated(name, rng, [start] * NUM_STEPS, target, samples)
    before, most = (true_objective(values, start, target, one) for one in (start, best))
    after = np.mean([true_objective(values, start, target, one) for one in new])
    return float(100 * (after - before) / (most - before))


def travel(name: str, size: int, num: int) -> str:
    """Return the median KL after updates with flat values, and how many seeds have arrived."""
    rng, target = np.random.default_rng(2), target_of(size)
    currents = [Gaussian.diagonal(np.zeros(size), np.ones(size))] * NUM_LOOPS
    windows: list[Samples] = [(np.zeros((0, size)), np.zeros(0))] * NUM_LOOPS
    for _ in range(NUM_UPDATES):
        new = [_episodes(rng, flat, current, num) for current in currents]
        if "regression" in name:
            windows = [
                (np.concatenate([a, c])[-WINDOW:], np.concatenate([b, d])[-WINDOW:])
                for (a, b), (c, d) in zip(windows, new, strict=True)
            ]
            new = windows
        if name == "exact":  # nothing but the target matters
            nothing = [(current.mean[None], np.zeros(1)) for current in currents]
            currents = solved(currents, target, nothing, [1.0] * NUM_LOOPS)
        elif name.startswith("constraint"):
            currents = constrained(currents, target, new)
        else:
            currents = updated(name, rng, currents, target, new)
    kls = np.array([current.kl(target) for current in currents])
    return f"{np.median(kls):.3g} ({(kls < 0.5).sum()}/{NUM_LOOPS})"


def _episodes(rng: np.random.Generator, values: Values, current: Gaussian, num: int) -> Samples:
    contexts = current.sample(rng, num)
    return contexts, values(contexts) + NOISE * rng.standard_normal(num)


def main() -> None:
    """Print both tables."""
    names = ("paper", "centred", "self-normalised", "regression", "regression, lower bound")
    nums, sizes = (10, 20, 50, 100), (1, 3, 10)
    header = " | ".join(f"{size}-D, {num}" for size in sizes for num in nums)
    print(f"| values | estimator | {header} |\n|---|---|{'---:|' * len(nums) * len(sizes)}")
    for values in (flat, linear, quadratic):
        for name in names:
            shares = [share_of_gain(name, values, size, num) for size in sizes for num in nums]
            cells = " | ".join(f"{share:.0f}" for share in shares)
            print(f"| {values.__name__} | {name} | {cells} |", flush=True)
    nums, sizes = (10, 20, 100), (3, 10)
    header = " | ".join(f"{size}-D, {num}" for size in sizes for num in nums)
    print(f"\n| flat, {NUM_UPDATES} updates | {header} |\n|---|{'---:|' * len(nums) * len(sizes)}")
    for name in ("exact", "paper", "centred", "regression", "constraint, regression"):
        cells = " | ".join(travel(name, size, num) for size in sizes for num in nums)
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
