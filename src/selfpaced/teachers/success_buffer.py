"""CURROT's memory of good episodes (Klink et al., TPAMI 2024): contexts that are easy enough.

Before most of its entries reach the threshold, the buffer collects the better half of what it sees.
Afterwards it keeps episodes above the threshold, those nearest to the target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from selfpaced.distributions.transport import assign
from selfpaced.records import Array
from selfpaced.teachers.outcome import Outcomes

NOISE_SHARE = 0.25  # of the box: noise on the worst entries
LEAST_NOISE = 0.005  # of the radius: noise on entries above the threshold
MAX_REDRAWS = 10


class SuccessBuffer(NamedTuple):
    """Good episodes, sorted by outcome while the threshold has not been reached."""

    episodes: Outcomes
    is_reached: Array  # []  whether the median entry has passed the threshold
    lowest: Array  # []  outcome seen so far

    @classmethod
    def empty(cls, size: int) -> SuccessBuffer:
        """Return a buffer without episodes."""
        return cls(Outcomes.empty(size), np.zeros((), bool), np.full((), np.inf))

    def after(
        self, new: Outcomes, threshold: float, capacity: int, targets: Array
    ) -> tuple[SuccessBuffer, Outcomes]:
        """Return the buffer with new episodes, and the new ones that it does not keep."""
        lowest = np.minimum(self.lowest, new.outcome.min(initial=np.inf))
        buffer = self._replace(lowest=lowest)
        if self.is_reached:
            return buffer._keep_good(new, threshold, capacity, targets)
        return buffer._keep_better(new, threshold, capacity)

    def _keep_better(
        self, new: Outcomes, threshold: float, capacity: int
    ) -> tuple[SuccessBuffer, Outcomes]:
        """Replace the lower half by episodes that are at least as good as the median."""
        old, middle = self.episodes, self.episodes.num // 2
        median = old.outcome[middle] if old.num else -np.inf
        is_better = new.outcome >= median
        num_dropped = min(int(is_better.sum()), middle + 1 if old.num else 0)
        candidates = old.at(slice(num_dropped, None)).followed_by(new.at(is_better))
        ranking = np.argsort(candidates.outcome, kind="stable")[-capacity:]
        buffer = self._replace(
            episodes=candidates.at(ranking),
            is_reached=np.array(median > threshold),  # noticed one update later
        )
        return buffer, _left_out(new, is_better, ranking - (old.num - num_dropped))

    def _keep_good(
        self, new: Outcomes, threshold: float, capacity: int, targets: Array
    ) -> tuple[SuccessBuffer, Outcomes]:
        """Keep episodes above the threshold; if there are too many, those nearest to the target.

        Good ones that are not kept belong to the others, so that these show how often new episodes
        are good where both gather.
        """
        is_good = new.outcome >= threshold
        good, old = new.at(is_good), self.episodes
        if not good.num:
            return self, new
        poor = old.outcome < threshold
        if poor.any() or old.num < capacity:
            order = np.argsort(np.where(poor, old.outcome, np.inf), kind="stable")
            num_replaced = min(good.num, int(poor.sum()))
            kept = (
                old.at(np.sort(order[num_replaced:])).followed_by(good).at(slice(-capacity, None))
            )
            return self._replace(episodes=kept), new.at(~is_good)
        both = old.followed_by(good)
        nearest = np.sort(assign(targets, both.context))
        return self._replace(episodes=both.at(nearest)), _left_out(new, is_good, nearest - old.num)

    def draw(
        self, rng: np.random.Generator, num: int, threshold: float, radius: float, box: Array
    ) -> Array:
        """Draw easy contexts [num, C] inside the box: entries with noise, more on the worse."""
        chosen = self._choose(rng, num)
        noise = LEAST_NOISE * radius + self._doubt(chosen.outcome, threshold)[:, None] * (
            NOISE_SHARE * (box[1] - box[0])
        )
        drawn = chosen.context + noise * rng.standard_normal(chosen.context.shape)
        for _ in range(MAX_REDRAWS):
            outside = np.flatnonzero(((drawn < box[0]) | (drawn > box[1])).any(axis=1))
            if not len(outside):
                break
            fresh = rng.standard_normal((len(outside), drawn.shape[1]))
            drawn[outside] = chosen.context[outside] + noise[outside] * fresh
        inside: Array = np.clip(drawn, *box)
        return inside

    def _choose(self, rng: np.random.Generator, num: int) -> Outcomes:
        entries = self.episodes
        if self.is_reached:
            repeats = rng.integers(entries.num, size=max(num - entries.num, 0))
            return entries.at(np.concatenate([np.arange(min(entries.num, num)), repeats]))
        middle = entries.num // 2
        upper = entries.at(slice(middle, None))
        below = entries.outcome[middle - 1] if middle else upper.outcome[0]
        weights = upper.outcome - below
        shares = weights / weights.sum() if weights.sum() > 0 else None
        return upper.at(rng.choice(upper.num, size=num, p=shares))

    def _doubt(self, outcomes: Array, threshold: float) -> Array:
        """Return 0 for outcomes above the threshold, up to 1 for the lowest outcome seen."""
        span = threshold - float(self.lowest)
        if not span > 0:
            return np.zeros(len(outcomes))
        doubt: Array = np.maximum(threshold - outcomes, 0.0) / span
        return doubt


def _left_out(new: Outcomes, is_candidate: Array, kept: Array) -> Outcomes:
    """Return new episodes except candidates that are kept, given by their numbers (others < 0)."""
    is_left = np.ones(new.num, bool)
    is_left[np.flatnonzero(is_candidate)[kept[kept >= 0]]] = False
    return new.at(is_left)
