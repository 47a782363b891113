"""The path of a run's contexts through the context space, and moments that divide it evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedError
from selfpaced.records import Array
from selfpaced.runs.folder import RunFolder

_STANDSTILL = 0.15  # of the box: a smaller change can be the randomness of the samples


@dataclass(frozen=True)
class ContextPath:
    """The contexts at every evaluation that all seeds have reached."""

    contexts: ContextSpace
    iterations: Array  # [E]
    samples: Array  # [E, S, K, C]
    mean: Array | None  # [E, S, C], of teachers that draw from a Gaussian
    cholesky: Array | None  # [E, S, C, C]

    @classmethod
    def load(cls, folder: RunFolder) -> ContextPath:
        """Read the files of a run."""
        contexts, arrays = folder.experiment().resolved.contexts, folder.contexts()
        try:
            iterations, samples = arrays["iteration"], arrays["samples"]
            complete = np.isfinite(samples).all(axis=(1, 2, 3))
            gaussian = [arrays.get(name) for name in ("mean", "cholesky")]
            mean, cholesky = [None if array is None else array[complete] for array in gaussian]
            path = cls(contexts, iterations[complete], samples[complete], mean, cholesky)
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
        num_seeds, num = self.samples.shape[1:3]
        share = num if most is None else max(min(num, most // num_seeds), 1)
        return self.samples[row, :, :share].reshape(-1, self.contexts.size)

    def choose_moments(self, num: int) -> list[int]:
        """Return rows of evaluations that divide the path evenly, the first and last included."""
        last = len(self.iterations) - 1
        progress = self._progress()
        shares = np.linspace(0.0, 1.0, num)[1:-1]
        rows = {0, last, *(int(np.argmax(progress >= share - 1e-9)) for share in shares)}
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
