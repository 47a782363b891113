"""Signs that a curriculum does not move as it should, each with a likely cause and a remedy.

Texts of one kind differ in digits only, so that a kind can be shown once: numbers are formatted
with a fixed number of decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from selfpaced.contexts import Gaussian
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.gaussian_step import Covariance, num_parameters

RECENT = 20  # iterations over which progress is judged
MIN_ITERATIONS = 5  # before episodes per iteration are judged
MIN_EPISODES = 100  # without a success before it counts as not reported
MIN_SUCCESSES = 200  # without a failure before success counts as always true
EPISODES_PER_PARAMETER = 3  # of a Gaussian that is fitted to them
FAR = 1.0  # KL above which the target has not been reached
MASTERS = 0.9  # share of successes with which contexts should move
MOVED = 0.8  # share of an earlier KL above which it has hardly fallen
FADED = 0.5  # share of an earlier success, and of the KL at that time
LEAST_PEAK = 0.2  # share of successes that can fade
RARE = 0.1  # share of successes that returns do not agree with, if they count as mastered
LONG_WAIT = 50  # updates of pacing by mastery without an approach
COLLAPSED, NARROW = 0.01, 0.1  # shares of the initial standard deviation
DISTANT = 5.0  # standard deviations between the means


class Progress(NamedTuple):
    """Successes and the KL to the target in the latest iterations with episodes."""

    kl_to_target: Array  # [RECENT] the latest last, NaN where there is none yet
    num_ended: Array  # [RECENT]
    num_succeeded: Array  # [RECENT]
    num_episodes: Array  # []  in all iterations
    num_successes: Array  # []
    peak_success: Array  # []  highest share of successes in RECENT iterations
    peak_kl: Array  # []  to the target, at that time
    mastered: Array  # []  share in the latest update of pacing by mastery
    num_waiting: Array  # []  updates of pacing by mastery since the latest approach

    @classmethod
    def empty(cls) -> Progress:
        """Return the progress before the first iteration."""
        zero = np.zeros((), np.int64)
        return cls(
            kl_to_target=np.full(RECENT, np.nan),
            num_ended=np.zeros(RECENT, np.int64),
            num_succeeded=np.zeros(RECENT, np.int64),
            num_episodes=zero,
            num_successes=zero,
            peak_success=np.zeros(()),
            peak_kl=np.full((), np.nan),
            mastered=np.full((), np.nan),
            num_waiting=zero,
        )

    @property
    def is_full(self) -> bool:
        """Whether there have been enough iterations to judge progress."""
        return not np.isnan(self.kl_to_target[0])

    @property
    def kl(self) -> float:
        """The latest KL to the target."""
        return float(self.kl_to_target[-1])

    @property
    def success(self) -> float:
        """Share of successes in the latest iterations."""
        return float(self.num_succeeded.sum() / max(int(self.num_ended.sum()), 1))

    @property
    def episodes_per_iteration(self) -> float:
        """Mean over the latest iterations with episodes."""
        return float(self.num_ended.sum() / max(int((self.num_ended > 0).sum()), 1))

    def after(self, episodes: Episodes, metrics: Metrics) -> Progress:
        """Return the progress after an update from these episodes, which had these metrics."""
        if not episodes.num:
            return self
        num_succeeded, kl = int(np.count_nonzero(episodes.success)), metrics["teacher/kl_to_target"]
        direction = metrics.get("teacher/direction")
        progress = self._replace(
            kl_to_target=_appended(self.kl_to_target, kl),
            num_ended=_appended(self.num_ended, episodes.num),
            num_succeeded=_appended(self.num_succeeded, num_succeeded),
            num_episodes=self.num_episodes + episodes.num,
            num_successes=self.num_successes + num_succeeded,
            mastered=np.array(metrics.get("teacher/mastered", self.mastered)),
        )
        if direction is not None:
            waiting = 0 if direction > 0 else int(self.num_waiting) + 1
            progress = progress._replace(num_waiting=np.array(waiting, np.int64))
        if progress.is_full and progress.success >= self.peak_success:
            progress = progress._replace(
                peak_success=np.array(progress.success), peak_kl=np.array(kl)
            )
        return progress


def few_episodes(num_per_update: float, size: int, covariance: Covariance) -> str:
    """Return a warning if a Gaussian over `size` components is fitted to too few episodes."""
    num = num_parameters(size, covariance)
    enough = EPISODES_PER_PARAMETER * num
    remedies = "raise steps_per_iteration or window, or set "
    if covariance == "full" and size > 2:
        remedies += f'covariance="diagonal" ({num_parameters(size, "diagonal")} parameters), '
    if num_per_update >= enough:
        return ""
    if num_per_update < num:
        return (
            f"{num_per_update:.0f} episodes per update are fewer than the {num} parameters of the "
            "Gaussian: values are fitted as linear in the contexts, and the covariance follows the "
            f'target; {remedies}or pacing="mastery" of SPDL'
        )
    return (
        f"{num_per_update:.0f} episodes per update are few for the {num} parameters of "
        f"the Gaussian: its std can collapse; about {enough} would do: {remedies}"
        'std_lower_bound or pacing="mastery" of SPDL'
    )


def collapsed(names: Sequence[str], start: Gaussian, current: Gaussian, target: Gaussian) -> str:
    """Return a warning if the Gaussian is too narrow to travel to the target, or to cover it."""
    narrow = np.maximum(COLLAPSED * start.std, np.minimum(target.std, NARROW * start.std))
    distance = np.abs(current.mean - target.mean)
    is_distant = distance > DISTANT * np.maximum(current.std, target.std)
    is_needle = current.std < COLLAPSED * np.minimum(start.std, target.std)
    if not (((current.std < narrow) & is_distant) | is_needle).any():
        return ""
    shares = zip(names, 100 * current.std / start.std, strict=True)
    listed = ", ".join(f"{share:.1f} % ({name})" for name, share in shares)
    return (
        f"the std of the contexts has fallen to {listed} of its start while the KL to the target "
        f"is {current.kl(target):.0f}: the contexts cannot move on; likely cause: few episodes per "
        "update, or values that hardly differ; raise steps_per_iteration or window, or set "
        'std_lower_bound or pacing="mastery"'
    )


def without_progress(progress: Progress) -> str:
    """Return a warning if contexts stay where nearly all episodes succeed."""
    if not progress.is_full or progress.success <= MASTERS or progress.kl <= FAR:
        return ""
    before = float(progress.kl_to_target[0])
    if progress.kl < MOVED * before:
        return ""
    return (
        f"contexts hardly move although {100 * progress.success:.0f} % of the latest episodes "
        f"succeed: the KL to the target was {before:.0f} and is {progress.kl:.0f} after {RECENT} "
        "iterations; likely cause: the target has too little weight against the values; raise "
        'zeta, use more episodes per update, or set pacing="mastery"'
    )


def fading(progress: Progress, remedy: str) -> str:
    """Return a warning if successes have become rare on the way to the target."""
    peak, peak_kl = float(progress.peak_success), float(progress.peak_kl)
    if not progress.is_full or peak < LEAST_PEAK:
        return ""
    if progress.success > FADED * peak or progress.kl > FADED * peak_kl:
        return ""
    return (
        f"successes fade while contexts move: {100 * peak:.0f} % of the episodes succeeded at a KL "
        f"to the target of {peak_kl:.0f}, {100 * progress.success:.0f} % succeed at "
        f"{progress.kl:.0f}; likely cause: contexts move faster than the learner follows; {remedy}"
    )


def bound_without_effect(start_kl: float, kl_threshold: float) -> str:
    """Return a warning if a std_lower_bound is released before the first update."""
    if start_kl > kl_threshold:
        return ""
    return (
        f"std_lower_bound has no effect: it acts while the KL to the target is above kl_threshold "
        f"{kl_threshold:g}, and the KL starts at {start_kl:.1f}; lower kl_threshold, or omit "
        "std_lower_bound"
    )


def bound_without_end(bound: Array, target: Gaussian, kl_threshold: float) -> str:
    """Return a warning if a std_lower_bound keeps the KL to the target above its threshold."""
    nearest = Gaussian.diagonal(target.mean, np.maximum(bound, target.std)).kl(target)
    if nearest <= kl_threshold:
        return ""
    return (
        "std_lower_bound keeps the contexts from the target: with it the KL is at least "
        f"{nearest:.1f}, and it acts until the KL is below kl_threshold {kl_threshold:g}; lower "
        "std_lower_bound, or raise kl_threshold"
    )


def few_for_mastery(progress: Progress, num_iterations: int, least: int, max_age: int) -> str:
    """Return a warning if `least` episodes take more than `max_age` iterations."""
    num_episodes = int(progress.num_episodes)
    if (
        num_iterations < MIN_ITERATIONS
        or progress.kl <= FAR
        or num_episodes * max_age >= least * num_iterations
    ):
        return ""
    return (
        f"{num_episodes} episodes in {num_iterations} iterations are few: mastery is estimated "
        f"from at least {least}, so contexts move late or not at all; collect at least "
        f"{-(-least // max_age)} per iteration: raise steps_per_iteration"
    )


def waiting(progress: Progress, level: float) -> str:
    """Return a warning if pacing by mastery has not approached the target for long."""
    if progress.num_waiting < LONG_WAIT or progress.kl <= FAR:
        return ""
    seen = (
        f"contexts have not approached the target for {progress.num_waiting} updates: "
        f"{100 * progress.mastered:.0f} % of the latest episodes are mastered, mastery_level is "
        f"{100 * level:.0f} %"
    )
    if not progress.num_successes:
        return (
            f"{seen}; likely cause: without success, returns of all contexts are measured by one "
            "threshold, and here the best ones differ between contexts or are rare; report "
            "success, or give solved episodes about the same return in every context"
        )
    return (
        f"{seen}; likely cause: the learner does not improve in these contexts; start from easier "
        "contexts, train the learner more per iteration, or lower mastery_level"
    )


def mastered_by_return(progress: Progress, level: float) -> str:
    """Return a warning if episodes count as mastered although hardly any succeeds."""
    if not progress.is_full or not progress.num_successes or progress.success >= RARE:
        return ""
    if not progress.mastered >= level:
        return ""
    return (
        f"{100 * progress.mastered:.0f} % of the latest episodes are mastered by their returns, "
        f"but {100 * progress.success:.0f} % succeed: contexts approach the target without "
        "success; if success is the aim, give more reward for it"
    )


def without_success(num_episodes: int, num_successes: int, consequence: str, remedy: str) -> str:
    """Return a warning if no episode has ever succeeded."""
    if num_episodes < MIN_EPISODES or num_successes:
        return ""
    return (
        f'none of {num_episodes} episodes succeeded: info["success"] is not reported or has never '
        f"been true, so {consequence}; {remedy}"
    )


def without_failure(num_episodes: int, num_successes: int, consequence: str) -> str:
    """Return a warning if every episode so far has succeeded."""
    if num_episodes < MIN_SUCCESSES or num_successes < num_episodes:
        return ""
    return (
        f'all {num_episodes} episodes succeeded: info["success"] is always true, or contexts are '
        f"too easy, so {consequence}; report success only for episodes that solve the task, or "
        "start from harder contexts"
    )


def equal_returns(num_episodes: int, threshold: float) -> str:
    """Return a warning if returns have not been different enough for a threshold."""
    if num_episodes < MIN_EPISODES or np.isfinite(threshold):
        return ""
    return (
        f"the returns of {num_episodes} episodes differ by less than a tenth of their size, so "
        "every context counts as easy, and contexts move to the target; check that the reward "
        'tells better episodes from worse ones, or use CURROT with signal="success"'
    )


def _appended(latest: Array, value: float) -> Array:
    appended = np.empty_like(latest)
    appended[:-1], appended[-1] = latest[1:], value
    return appended
