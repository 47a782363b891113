"""Pacing by mastery: the target is approached while enough of the latest episodes are mastered.

An episode is mastered if it succeeded, or if its return reaches the middle between the returns of
poor and of good episodes so far and exceeds those of the untrained policy. A linear regression on
the contexts estimates the share of mastered episodes under the current Gaussian, and how that share
changes with the mean. Then,

- at `level` or above, the next Gaussian minimises KL(new ‖ target) in a trust region, among those
  with a predicted share of at least `level`,
- below RETREAT, it moves back to mastered contexts in a trust region,
- in between, it stays, and the learner catches up,
- once the target has been mastered, it stays there: the latest mastered contexts are then those of
  the target, and do not show where easier ones are.

Neither the scale or the sign of returns nor the units of contexts matter. Only returns that differ
by less than a tenth of their size are treated as equal, and then every episode is mastered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.gaussian_step import Covariance, restrict
from selfpaced.teachers.linear_fit import LinearFit, fit
from selfpaced.teachers.mastery_step import approach, retreat, with_least_std

MAX_EPISODES = 300  # remembered
MAX_AGE = 10  # iterations for which an episode counts, if there are enough newer ones
MIN_EPISODES = 40  # for an estimate
MIN_MASTERED = 10  # for a retreat
MAX_MASTERED = 100  # contexts to which a retreat leads
RETREAT = 0.4  # share of mastered episodes below which contexts move back
POOR, GOOD = 0.1, 0.05  # shares of the window whose returns count as poor and good
UNTRAINED = 0.975  # quantile of returns before the first update that has to be exceeded
MIDDLE, STRICT = 0.5, 0.75  # range of the threshold between poor and good returns
FLAT = 0.1  # relative spread of returns below which every episode counts as mastered
STD_SHARE = 0.1  # of the initial standard deviation that is kept while the target is far
FAR = 2.0  # times the KL to the target of a Gaussian with that standard deviation
ARRIVED = 0.5  # KL to the target that is never far


class MasteryMemory(NamedTuple):
    """The latest episodes, the latest mastered contexts, and landmarks of returns."""

    context: Array  # [N, C]
    discounted_return: Array  # [N]
    success: Array  # [N]
    iteration: Array  # [N]
    mastered_context: Array  # [M, C]
    poor_return: Array  # []
    good_return: Array  # []
    untrained_return: Array  # []
    has_arrived: Array  # []  whether the target has been mastered

    @classmethod
    def empty(cls, size: int) -> MasteryMemory:
        """Return a memory without episodes of contexts with this many components."""
        return cls(
            context=np.zeros((0, size)),
            discounted_return=np.zeros(0),
            success=np.zeros(0, bool),
            iteration=np.zeros(0, np.int64),
            mastered_context=np.zeros((0, size)),
            poor_return=np.full((), np.inf),
            good_return=np.full((), -np.inf),
            untrained_return=np.full((), -np.inf),
            has_arrived=np.zeros((), bool),
        )

    @property
    def threshold(self) -> float:
        """The return from which an episode is mastered even without success."""
        poor, good = float(self.poor_return), float(self.good_return)
        spread = good - poor
        if not spread > FLAT * max(abs(good), abs(poor)):
            return -np.inf
        return float(np.clip(self.untrained_return, poor + MIDDLE * spread, poor + STRICT * spread))

    @property
    def mastered(self) -> Array:
        """Whether each episode is mastered."""
        return self.success | (self.discounted_return >= self.threshold)

    def remember(self, iteration: int, episodes: Episodes, is_untrained: bool) -> MasteryMemory:
        """Return the memory with the episodes of an iteration, and without those that are old."""
        if not episodes.num:
            return self
        latest = (
            episodes.context,
            episodes.discounted_return,
            np.asarray(episodes.success, bool),
            np.full(episodes.num, iteration),
        )
        columns = [np.concatenate(pair) for pair in zip(self[:4], latest, strict=True)]
        place_from_end = len(columns[0]) - np.arange(len(columns[0]))
        keep = place_from_end <= MAX_EPISODES
        keep &= (columns[3] > iteration - MAX_AGE) | (place_from_end <= MIN_EPISODES)
        context, returns, success, iterations = (column[keep] for column in columns)
        ranked = np.sort(returns)
        num_good = max(int(GOOD * len(ranked)), 1)
        memory = MasteryMemory(
            context,
            returns,
            success,
            iterations,
            self.mastered_context,
            np.minimum(self.poor_return, np.quantile(ranked, POOR)),
            np.maximum(self.good_return, ranked[-num_good:].mean()),
            np.quantile(ranked, UNTRAINED) if is_untrained else self.untrained_return,
            self.has_arrived,
        )
        new = memory.context[memory.mastered & (iterations == iteration)]
        mastered = np.concatenate([self.mastered_context, new])[-MAX_MASTERED:]
        return memory._replace(mastered_context=mastered)

    @property
    def allows_retreat(self) -> bool:
        """Whether enough mastered contexts are known, and the target has not been among them."""
        return not self.has_arrived and len(self.mastered_context) >= MIN_MASTERED

    def after(self, metrics: Metrics) -> MasteryMemory:
        """Return the memory after a step with these metrics, which may have been an arrival.

        Equal returns, with which every episode is mastered, show no arrival.
        """
        is_arrival = (
            metrics["teacher/direction"] > 0
            and metrics["teacher/kl_to_target"] < ARRIVED
            and np.isfinite(self.threshold)
        )
        return self._replace(has_arrived=self.has_arrived | is_arrival)


def is_ready(memory: MasteryMemory) -> bool:
    """Return whether there are enough episodes for an estimate."""
    return len(memory.context) >= MIN_EPISODES


def estimate(memory: MasteryMemory, current: Gaussian) -> LinearFit:
    """Return the share of mastered episodes as a linear function of whitened contexts."""
    return fit(current, memory.context, memory.mastered)


@final
@dataclass(frozen=True)
class MasteryPacing:
    """Where the Gaussian goes next."""

    level: float
    max_kl: float
    least_std: Array  # while the target is far
    target: Gaussian
    covariance: Covariance

    def step(
        self, contexts: ContextSpace, current: Gaussian, memory: MasteryMemory
    ) -> tuple[Gaussian, Metrics]:
        """Return the next Gaussian and metrics."""
        competence = estimate(memory, current)
        new, direction = current, 0.0
        if competence.level >= self.level:
            new, direction = self.approached(current, competence), 1.0
        elif competence.level < RETREAT and memory.allows_retreat:
            back = retreat(current, memory.mastered_context, self.max_kl)
            back = restrict(back, self.covariance)
            new, direction = with_least_std(back, self.least_std), -1.0
        new = Gaussian(contexts.clip(new.mean), new.cholesky)
        metrics = {
            "teacher/kl_to_target": new.kl(self.target),
            "teacher/mastered": competence.level,
            "teacher/direction": direction,
            "teacher/kl_moved": current.kl(new),
        }
        if np.isfinite(memory.threshold):
            metrics["teacher/return_threshold"] = memory.threshold
        return new, metrics

    def approached(self, current: Gaussian, competence: LinearFit | None = None) -> Gaussian:
        """Return the Gaussian after a step to the target, without a competence the longest one."""
        target = self.target
        slope, slack = np.zeros(current.size), 1.0
        if competence is not None:
            slope, slack = competence.slope, competence.level - self.level
        new = approach(current, target, slope, slack, self.max_kl)
        near = Gaussian.diagonal(target.mean, np.maximum(self.least_std, target.std)).kl(target)
        is_far = current.kl(target) > FAR * near + ARRIVED
        return with_least_std(new, self.least_std) if is_far else new
