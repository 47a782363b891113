"""The path of a run's contexts through the context space, and moments that divide it evenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.distributions.transport import wasserstein
from selfpaced.errors import SelfpacedError
from selfpaced.records import Array
from selfpaced.runs.folder import RunFolder

_STANDSTILL = 0.15  # of the box: a smaller change can be the randomness of the samples
_ARRIVED = 0.02  # box widths above the distance of two draws from the target
_NOISE = 0.1  # of that distance
_FEW_SEEDS = 4  # enough to find the arrival; one distance takes a millisecond


def find_arrival(distance: Array, floor: float) -> int | None:
    """Return the first row from which W2 to the target [E] stays near its floor, None if none."""
    away = np.flatnonzero(distance > (1 + _NOISE) * floor + _ARRIVED)
    if not len(away):
        return 0
    return None if away[-1] == len(distance) - 1 else int(away[-1]) + 1


def choose_evenly(num: int, most: int | None) -> Array:
    """Return at most so many indices below num, evenly spaced."""
    count = num if most is None else min(num, most)
    return np.unique(np.linspace(0, num - 1, count).round().astype(int))


@dataclass(frozen=True)
class ContextPath:
    """The contexts at every evaluation that all seeds have reached."""

    contexts: ContextSpace
    iterations: Array  # [E]
    samples: Array  # [E, S, K, C]
    mean: Array | None  # [E, S, C], of teachers that draw from a Gaussian
    cholesky: Array | None  # [E, S, C, C]
    particles: Array | None = None  # [E, S, N, C], of teachers that represent contexts by them

    @classmethod
    def load(cls, folder: RunFolder) -> ContextPath:
        """Read the files of a run."""
        contexts = folder.experiment().resolved.contexts
        arrays = folder.of_counted_seeds(folder.contexts())
        try:
            iterations, samples = arrays["iteration"], arrays["samples"]
            complete = np.isfinite(samples).all(axis=(1, 2, 3))
            described = [arrays.get(name) for name in ("mean", "cholesky", "particles")]
            described = [None if array is None else array[complete] for array in described]
            path = cls(contexts, iterations[complete], samples[complete], *described)
        except (KeyError, IndexError, ValueError) as error:
            raise SelfpacedError(
                f"{folder.path / 'contexts.npz'} is damaged ({error}); run again"
            ) from None
        if not complete.any():
            raise SelfpacedError(
                f"{folder.path} has no evaluation of every seed yet; resume the run"
            )
        return path

    def pooled(self, row: int, most: int | None = None) -> Array:
        """Return contexts [N, C] of all seeds at one evaluation, equally many of each seed."""
        pool = self.samples if self.particles is None else self.particles
        num_seeds, num = pool.shape[1:3]
        share = num if most is None else max(min(num, most // num_seeds), 1)
        return pool[row, :, :share].reshape(-1, self.contexts.size)

    def distance_to_target(
        self, rows: Sequence[int] | None = None, most_seeds: int | None = None
    ) -> tuple[Array, float]:
        """Return W2 to the target at some evaluations, mean over seeds in box widths; its floor.

        The floor is the distance of two draws from the target: as near as contexts can come.
        """
        samples = self.samples if rows is None else self.samples[list(rows)]
        chosen = choose_evenly(samples.shape[1], most_seeds)
        num_seeds, num = len(chosen), self.samples.shape[2]
        rng = np.random.default_rng(0)
        unit = self.contexts.to_unit
        targets = [unit(self.contexts.sample_target(rng, num)) for _ in range(num_seeds + 1)]
        distance = [
            np.mean([wasserstein(unit(each), one) for each, one in zip(row, targets, strict=False)])
            for row in samples[:, chosen]
        ]
        floor = np.mean([wasserstein(one, targets[-1]) for one in targets[:-1]])
        return np.array(distance), float(floor)

    @cached_property
    def arrival(self) -> int | None:
        """The row from which the contexts stay at the target; None if they end elsewhere."""
        return find_arrival(*self.distance_to_target(most_seeds=_FEW_SEEDS))

    def choose_moments(self, num: int) -> list[int]:
        """Return rows of evaluations: first, arrival, last, and equal shares of the way between."""
        last = len(self.iterations) - 1
        progress = self._progress()
        arrival = self.arrival if self.arrival not in (None, 0, last) else None
        shares = np.linspace(0.0, 1.0, num)[1:-1]
        if arrival is not None:
            shares = np.linspace(0.0, progress[arrival], num - 1)[1:-1]
        rows = {0, last, *(int(np.argmax(progress >= share - 1e-9)) for share in shares)}
        rows |= set() if arrival is None else {arrival}
        while len(rows) < min(num, last + 1):
            known = sorted(rows)
            gaps = np.diff(known)
            widest = int(np.argmax(gaps))
            rows.add(known[widest] + int(gaps[widest]) // 2)
        return sorted(rows)

    def _progress(self) -> Array:
        """Share of the path from the first to the last contexts at each row; never decreases."""
        lower, upper = self.contexts.box
        width = upper - lower
        samples = self.samples.reshape(len(self.samples), -1, self.contexts.size) / width
        place = np.concatenate([samples.mean(axis=1), samples.std(axis=1)], axis=1)
        remaining = np.linalg.norm(place - place[-1], axis=1)
        if remaining[0] < _STANDSTILL:
            return np.linspace(0.0, 1.0, len(remaining))
        progress: Array = np.maximum.accumulate(1.0 - remaining / remaining[0])
        return progress
