"""The statistics of the page: one standing per run, and the verdict in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite, nan

import numpy as np

from selfpaced.records import Array
from selfpaced.reports.comparison_tables import MIN_SEEDS, SIGNIFICANCE, excludes_half
from selfpaced.reports.page.source import RunData, finite
from selfpaced.statistics import (
    Estimate,
    area_under_curve,
    bootstrapped_mean,
    count_seeds,
    interquartile_mean,
    mean_and_standard_error,
    percentage,
    probability_of_improvement,
    t_test,
)

_MOST_PAIRS = 66  # with intervals: 12 runs

_UNKNOWN = Estimate(nan, nan, nan)


@dataclass(frozen=True)
class Standing:
    """Statistics of one run over the seeds that have not failed; NaN where unknown."""

    run: RunData
    returns: Array  # [S], at the last evaluation that all seeds have
    mean: float
    standard_error: float
    median: float
    iqm: Estimate
    success: Estimate
    area: float
    is_highest: bool = False  # the highest mean among the runs it can be compared with
    is_best: bool = False  # and better than each of them, by Welch's test
    p_value: float = nan  # against the highest

    @property
    def rivals(self) -> tuple[str, str]:
        """What runs must have in common to be compared: the problem and the learner."""
        return self.run.problem, self.run.learner


@dataclass(frozen=True)
class Improvement:
    """The probability that a seed of one run ends better than a seed of another."""

    run: str
    other: str
    probability: Estimate
    num_seeds: int  # the smaller of both numbers

    @property
    def is_certain(self) -> bool:
        """Whether the interval excludes one half, and rests on enough seeds."""
        return excludes_half(self.probability) and self.num_seeds >= MIN_SEEDS


def rank(runs: Sequence[RunData]) -> list[Standing]:
    """Return the standing of every run, in the same order."""
    return _marked([_standing(run) for run in runs])


def improvements(standings: Sequence[Standing]) -> list[Improvement]:
    """Compare every ordered pair of runs of one problem, also with different learners."""
    known = [each for each in standings if len(each.returns)]
    pairs = [(a, b) for a, b in combinations(known, 2) if a.run.problem == b.run.problem]
    found = []
    for one, two in pairs[: _MOST_PAIRS if len(pairs) > _MOST_PAIRS else None]:
        value, low, high = probability_of_improvement(one.returns, two.returns)
        here, there = one.run.name, two.run.name
        num = min(len(one.returns), len(two.returns))
        found += [
            Improvement(here, there, Estimate(value, low, high), num),
            Improvement(there, here, Estimate(1 - value, 1 - high, 1 - low), num),
        ]
    return found


def verdict(standings: Sequence[Standing]) -> list[str]:
    """Return what came out, in one sentence per problem and learner."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    for each in standings:
        groups.setdefault(each.rivals, []).append(each)
    return [_sentence(members, len(groups) > 1) for members in groups.values()]


def _standing(run: RunData) -> Standing:
    returns, success = run.final("return"), run.final("success")
    if not len(returns):
        return Standing(run, returns, nan, nan, nan, _UNKNOWN, _UNKNOWN, nan)
    mean, error = mean_and_standard_error(returns)
    return Standing(
        run,
        returns,
        mean,
        error,
        float(np.median(returns)),
        interquartile_mean(returns),
        bootstrapped_mean(success) if len(success) else _UNKNOWN,
        _area(run),
    )


def _area(run: RunData) -> float:
    curve = run.curve("return")
    whole = np.isfinite(curve).all(axis=1)
    x = run.iterations[whole]
    is_usable = len(x) > 0 and bool((np.diff(x) > 0).all())
    return float(area_under_curve(x, curve[whole]).mean()) if is_usable else nan


def _marked(standings: list[Standing]) -> list[Standing]:
    marked = []
    for each in standings:
        rivals = [
            other
            for other in standings
            if other.rivals == each.rivals and other is not each and len(other.returns)
        ]
        if not (len(each.returns) and rivals):
            marked.append(each)
            continue
        highest = max([each, *rivals], key=lambda one: one.mean)
        if highest is not each:
            p_value = t_test(highest.returns, each.returns)
            marked.append(replace(each, p_value=p_value))
            continue
        has_seeds = min(len(one.returns) for one in [each, *rivals]) >= MIN_SEEDS
        beats = all(t_test(each.returns, other.returns) < SIGNIFICANCE for other in rivals)
        marked.append(replace(each, is_highest=True, is_best=has_seeds and beats))
    return marked


def _sentence(members: list[Standing], with_problem: bool) -> str:
    problem, learner = members[0].rivals
    known = [each for each in members if len(each.returns)]
    where = f"On {problem} with {learner}" if with_problem else f"On {problem}"
    if not known:
        return f"{where}, there is no evaluation of every seed yet, so nothing can be said."
    if len(known) == 1:
        return f"{where}, {_alone(known[0])}"
    leader = max(known, key=lambda each: each.mean)
    rivals = [each for each in known if each is not leader]
    amount = f"{_amount(leader)}{_rate(leader)}"
    text = f"{where}, {_short_name(leader.run)} has the highest mean return, {amount}"
    seeds = min(len(each.returns) for each in known)
    pending = "" if all(each.run.is_finished for each in members) else " Some runs go on."
    if seeds < MIN_SEEDS:
        return (
            f"{text}; with {count_seeds(seeds)} no difference can be claimed "
            f"(at least {MIN_SEEDS} are needed).{pending}"
        )
    if leader.is_best:
        others = "the other run" if len(rivals) == 1 else f"each of the {len(rivals)} other runs"
        return f"{text}, reliably better than {others} (Welch's test, p < 1 %).{pending}"
    close = [
        _short_name(each.run)
        for each in rivals
        if not t_test(leader.returns, each.returns) < SIGNIFICANCE
    ]
    return f"{text}, but not reliably better than {' and '.join(close)} (p ≥ 1 %).{pending}"


def _alone(standing: Standing) -> str:
    run = standing.run
    reached = int(run.iterations[run.last]) if run.last is not None else 0
    state = "" if run.is_finished else f" of {run.planned} (the run is not finished)"
    text = (
        f"{_short_name(run)} reaches a return of {_amount(standing)}{_rate(standing)} after "
        f"{reached} iterations{state}"
    )
    if len(standing.returns) < MIN_SEEDS:
        return f"{text}; {count_seeds(len(standing.returns))} say little about other seeds."
    return f"{text}, over {count_seeds(len(standing.returns))}."


def _short_name(run: RunData) -> str:
    """The name of a run in a sentence that has named its problem."""
    return run.name.removeprefix(f"{run.problem}: ")


def _amount(standing: Standing) -> str:
    iqm = standing.iqm
    interval = f" (interquartile mean {iqm.value:.2f}, 95 % [{iqm.low:.2f}, {iqm.high:.2f}])"
    return f"{standing.mean:.2f}{interval if isfinite(iqm.low) else ''}"


def _rate(standing: Standing) -> str:
    share = standing.run.final("success")
    return f" with {percentage(float(share.mean()))} success" if len(share) else ""


def wall_minutes(run: RunData) -> float:
    """Return how long a run took, NaN if unknown."""
    return finite(run.summary.get("wall_seconds") or nan) / 60
