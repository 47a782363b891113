"""The contexts of a run at the moments of a slider, and their distance to the target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from selfpaced.distributions.transport import wasserstein
from selfpaced.records import Array
from selfpaced.reports.context_path import choose_evenly
from selfpaced.reports.page.source import ContextBox, RunData

NUM_FRAMES = 101
NUM_POINTS = 1_600  # contexts per frame of all runs together, about
NO_MEANING = "(no meaning)"  # an axis that spreads contexts with one component

_NUM_DISTANCES = 4  # seeds whose distance is computed, which takes a millisecond each


class Path(NamedTuple):
    """The contexts of a run at the frames of the slider."""

    rows: Array  # [F] of the table of contexts
    iterations: Array  # [F]
    samples: Array  # [F, S, K, C]
    mean: Array | None  # [F, S, C]
    covariance: Array | None  # [F, S, C, C]
    particles: Array | None  # [F, S, N, C]
    distance: Array  # [F], mean over some seeds
    floor: float


def with_height(box: ContextBox, path: Path) -> tuple[ContextBox, Path]:
    """Spread contexts with one component over a second axis without meaning."""
    if box.size > 1:
        return box, path
    rng = np.random.default_rng(0)

    def spread(array: Array | None) -> Array | None:
        if array is None:
            return None
        return np.concatenate([array, rng.uniform(0.25, 0.75, array.shape)], axis=-1)

    covariance = path.covariance
    if covariance is not None:
        covariance = covariance * np.array([[1.0, 0.0], [0.0, 0.0]])
        covariance = covariance + np.array([[0.0, 0.0], [0.0, 0.04]])
    mean = None if path.mean is None else np.concatenate(
        [path.mean, np.full(path.mean.shape, 0.5)], axis=-1
    )  # fmt: skip
    target = np.concatenate([box.target, np.full((len(box.target), 1), 0.5)], axis=1)
    wide = ContextBox(
        (*box.labels, NO_MEANING),
        np.append(box.lower, 0.0),
        np.append(box.upper, 1.0),
        target,
        None,
        (*box.is_log, False),
    )
    samples = spread(path.samples)
    assert samples is not None
    return wide, path._replace(
        samples=samples, mean=mean, covariance=covariance, particles=spread(path.particles)
    )


def read_path(run: RunData, num_runs: int) -> Path | None:
    """Return the contexts at evenly spaced evaluations that all counted seeds have."""
    samples, box = run.contexts.get("samples"), run.box
    if samples is None or box is None or samples.ndim != 4 or samples.shape[3] != box.size:
        return None
    counted = run.counted
    samples = samples[:, counted]
    whole = np.flatnonzero(np.isfinite(samples).all(axis=(1, 2, 3)))
    if not len(whole) or not counted.any():
        return None
    rows = whole[choose_evenly(len(whole), NUM_FRAMES)]
    share = max(NUM_POINTS // (num_runs * samples.shape[1]), 6)

    def taken(name: str, ndim: int) -> Array | None:
        array = run.contexts.get(name)
        if array is None or array.ndim != ndim or array.shape[-1] != box.size:
            return None
        chosen = array[rows][:, counted]
        return chosen if np.isfinite(chosen).any() else None

    cholesky, particles = taken("cholesky", 4), taken("particles", 4)
    distance, floor = _distance(box, samples[rows])
    return Path(
        rows,
        run.contexts["iteration"][rows],
        samples[rows][:, :, :share],
        taken("mean", 3),
        None if cholesky is None else cholesky @ np.swapaxes(cholesky, -1, -2),
        None if particles is None else particles[:, :, :share],
        distance,
        floor,
    )


def _distance(box: ContextBox, samples: Array) -> tuple[Array, float]:
    """W2 [F] to draws from the target, in box widths."""
    rng = np.random.default_rng(0)
    num = samples.shape[2]
    targets = [box.to_unit(_draw_target(box, rng, num)) for _ in range(3)]
    seeds = choose_evenly(samples.shape[1], _NUM_DISTANCES)
    distance = np.array([
        np.mean([wasserstein(each, targets[0]) for each in box.to_unit(row)])
        for row in samples[:, seeds]
    ])  # fmt: skip
    return distance, float(np.mean([wasserstein(targets[0], other) for other in targets[1:]]))


def _draw_target(box: ContextBox, rng: np.random.Generator, num: int) -> Array:
    if box.target_cholesky is None:
        return box.target[rng.integers(len(box.target), size=num)]
    noise = rng.standard_normal((num, box.size))
    return np.clip(box.target + noise @ box.target_cholesky.T, box.lower, box.upper)
