"""Look at a problem before training: whole episodes of random actions, and what they reveal.

Episodes run at initial contexts, at target contexts, and once more from the seeds of the initial
ones with one component of each context moved. Whatever differs is the effect of that component.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.experiment import Budget
from selfpaced.learners.base import AnyLearner
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.studies.random_trials import (
    ROUNDING,
    Trial,
    Trials,
    differs,
    draw_contexts,
    environment_errors,
    move_components,
    run_trials,
    starts_differently,
)
from selfpaced.teachers.base import AnyTeacher
from selfpaced.teachers.mastery import FLAT
from selfpaced.teachers.spdl import SPDL
from selfpaced.training.curriculum_learning import CurriculumLearning
from selfpaced.training.discounting import FAINT, remaining_share, sufficient_discount

FEW_EPISODES, ENOUGH_EPISODES = 20, 40  # per iteration
MAX_UPDATES = 2000  # to the target, that are counted
CORRELATED = 0.9

Verdict = Literal["ok", "warning"]


class Finding(NamedTuple):
    """One line of a report."""

    name: str
    verdict: Verdict
    seen: str
    remedy: str = ""
    flags: tuple[tuple[str, str], ...] = ()  # of `selfpaced train` that carry the remedy out


class ProblemReport(NamedTuple):
    """What was found, and flags of `selfpaced train` that follow from it."""

    findings: tuple[Finding, ...]
    flags: tuple[str, ...]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that need attention."""
        return tuple(finding for finding in self.findings if finding.verdict == "warning")


def check_problem(
    problem: Problem, teacher: AnyTeacher, learner: AnyLearner, budget: Budget, seed: int = 0
) -> ProblemReport:
    """Run random episodes, and return what they reveal about training with these settings.

    Returns and the number of updates are judged for SPDL only; other teachers accept all returns.

    Raises:
        SelfpacedError: the environment fails, or its numbers are not finite; the message has the
            file and line.
    """
    with environment_errors(problem.name):
        run = partial(run_trials, CurriculumLearning(teacher, learner), budget, seed)
        initial, target = draw_contexts(problem.contexts, seed)
        moved = move_components(problem.contexts, initial)
        trials = Trials(*run(problem, (initial, moved, initial, target)))
        is_final_only = _is_rewarded_at_the_end(problem, trials, run)
    spdl = teacher if isinstance(teacher, SPDL) else None
    findings = (
        _check_spaces(problem, trials),
        _check_time_limit(problem, trials),
        *_check_seed(problem, trials),
        _check_effect(problem, trials),
        _check_visible(problem, trials),
        *([] if spdl is None else [_check_returns(spdl, trials), _check_spread(spdl, trials)]),
        _check_success(problem, trials),
        _check_num_episodes(learner, budget, trials),
        *([] if spdl is None else [_check_updates(problem.contexts, spdl, budget)]),
        _check_discount(problem, trials, is_final_only),
    )
    return ProblemReport(findings, _flags(learner, budget, findings))


def _is_rewarded_at_the_end(
    problem: Problem, trials: Trials, run: Callable[[Problem, Sequence[Array]], list[Trial]]
) -> bool:
    """Whether only last steps are rewarded: then the discount only scales a return."""
    if _faded(problem, trials) >= FAINT:
        return False  # or it does not matter
    found = trials.initial
    if not found.discounted_return.any():
        return True  # as far as random actions show
    [plain] = run(dataclasses.replace(problem, discount=1.0), (found.context,))
    final = problem.discount ** (found.length - 1.0) * plain.discounted_return
    return bool(np.allclose(found.discounted_return, final, rtol=1e-3, atol=0.0))


def _check_spaces(problem: Problem, trials: Trials) -> Finding:
    spec, actual = problem.spec, trials.initial.path.shape[-1]
    seen = f"observations of {actual} numbers, actions of {spec.action_size}"
    if actual != spec.observation_size:
        return Finding(
            "spaces",
            "warning",
            f"{seen}, but observation_size is {spec.observation_size}",
            f"set observation_size to {actual}",
        )
    if spec.has_discrete_actions:
        choices = " x ".join(map(str, spec.num_choices))
        seen = f"observations of {actual} numbers, discrete actions of {choices} choices"
    if not np.isfinite([spec.action_low, spec.action_high]).all():
        return Finding(
            "spaces",
            "warning",
            f"{seen}, not all bounded",
            "give actions finite bounds of about -1 and 1: the first policies act on that scale",
        )
    return Finding("spaces", "ok", seen)


def _check_time_limit(problem: Problem, trials: Trials) -> Finding:
    environment = problem.environment
    limit, least = environment.max_episode_steps, environment.min_episode_steps
    lengths = np.concatenate([trial.length for trial in trials])
    shortest, longest = np.minimum((lengths.min(), lengths.max()), limit)
    seen = f"{limit} steps; random episodes last {shortest} to {longest}"
    if lengths.max() > limit:
        return Finding(
            "time limit",
            "warning",
            f"{seen} and do not end there",
            f"report truncated in step {limit}: other episodes follow only after an end",
        )
    if lengths.min() < least:
        return Finding(
            "time limit",
            "warning",
            f"{seen}, but min_episode_steps is {least}",
            f"lower min_episode_steps to {lengths.min()} or less; 1 is always safe",
        )
    return Finding("time limit", "ok", seen)


def _check_seed(problem: Problem, trials: Trials) -> tuple[Finding, ...]:
    if not problem.is_hosted:
        return ()  # pure functions
    if trials.is_reproducible:
        return (Finding("seed", "ok", "the same seed and context give the same episode"),)
    seen = "the same seed and context give different episodes"
    remedy = "draw all randomness from self.np_random, which reset(seed=...) seeds"
    return (Finding("seed", "warning", seen, remedy),)


def _check_effect(problem: Problem, trials: Trials) -> Finding:
    title, names = "context effect", problem.contexts.names
    if not trials.is_reproducible:
        remedy = "make episodes reproducible, and check again"
        return Finding(title, "warning", "cannot be judged, see seed", remedy)
    effect = differs(trials.initial, trials.moved)
    shown = starts_differently(trials.initial, trials.moved)
    without = _components(names, ~_any_of(names, effect))
    if not without:
        seen = f"episodes from one seed change with {_all(names)}"
        return Finding(title, "ok", seen)
    if _components(names, ~_any_of(names, effect | shown)):
        source = 'options["context"] of' if problem.is_hosted else "the context given to"
        return Finding(
            title,
            "warning",
            f"episodes from one seed are the same whatever {without} is",
            f"use {source} reset; without effect there is nothing to pace",
        )
    return Finding(
        title,
        "warning",
        f"the observation shows {without}, but no episode of random actions changes with it",
        "check that step uses it; ignore this if only a skilled policy meets its effect",
    )


def _check_visible(problem: Problem, trials: Trials) -> Finding:
    names = problem.contexts.names
    if trials.is_reproducible:
        visible = _any_of(names, starts_differently(trials.initial, trials.moved))
    else:
        visible = _correlated(trials)
    if visible.all():
        return Finding("context visible", "ok", f"the first observation shows {_all(names)}")
    return Finding(
        "context visible",
        "warning",
        f"the first observation does not depend on {_components(names, ~visible)}",
        "append the context to the observation: policy and critic cannot tell contexts apart",
    )


def _any_of(names: Sequence[str], episodes: Array) -> Array:
    """Whether any episode in which a component was moved is marked, per component."""
    return np.array([episodes[index :: len(names)].any() for index in range(len(names))])


def _correlated(trials: Trials) -> Array:
    """Whether a component of the first observation follows each component of the context."""
    contexts = np.concatenate([trial.context for trial in trials])
    first = np.concatenate([trial.path[:, 0] for trial in trials]).astype(float)
    white = [(each - each.mean(0)) / (each.std(0) + 1e-12) for each in (contexts, first)]
    correlation = white[0].T @ white[1] / len(contexts)
    found: Array = (np.abs(correlation) > CORRELATED).any(axis=1)
    return found


def _check_returns(teacher: SPDL, trials: Trials) -> Finding:
    initial, target = trials.initial.discounted_return, trials.target.discounted_return
    seen = f"initial {_spread(initial)}, target {_spread(target)} with random actions"
    if initial.mean() >= 0:
        return Finding("returns", "ok", seen)
    if teacher.pacing == "mastery":
        return Finding("returns", "ok", f"{seen}; pacing by mastery allows negative returns")
    return Finding(
        "returns",
        "warning",
        f"{seen}; while the mean is negative, alpha stays zero and contexts ignore the target",
        "add a constant to the reward, or pace by mastery",
        (("--teacher.pacing", "mastery"),),
    )


def _check_spread(teacher: SPDL, trials: Trials) -> Finding:
    title, returns = "return spread", trials.initial.discounted_return
    low, high = float(returns.min()), float(returns.max())
    size = max(abs(low), abs(high))
    seen = f"{low:.3g} to {high:.3g} at initial contexts"
    if high - low <= ROUNDING * size:
        return Finding(
            title,
            "warning",
            f"constant, {high:.3g} in every episode at initial contexts",
            "start from contexts in which random actions earn some reward, or reward progress: "
            "otherwise there is nothing to learn from",
        )
    if teacher.pacing == "mastery" and high - low <= FLAT * size:
        return Finding(
            title,
            "warning",
            f"{seen}: less than {FLAT:.0%} of their size, so every episode counts as mastered",
            "subtract the constant part of the reward, for example that for staying alive",
        )
    return Finding(title, "ok", seen)


def _check_success(problem: Problem, trials: Trials) -> Finding:
    success = np.stack([trials.initial.success, trials.moved.success, trials.target.success])
    if success.any():
        initial, _, target = success.mean(axis=1)
        return Finding("success", "ok", f"{initial:.0%} initial, {target:.0%} target")
    signal = 'info["success"]' if problem.is_hosted else "Step.success"
    return Finding(
        "success",
        "warning",
        f"not reported: true at the end of none of {success.size} episodes",
        f"report {signal}, otherwise mastery goes by returns; ignore this if it is only rare",
    )


def _check_num_episodes(learner: AnyLearner, budget: Budget, trials: Trials) -> Finding:
    steps, length = budget.steps_per_iteration, float(trials.initial.length.mean())
    seen = f"about {steps / length:.0f} in {steps} steps"
    if steps / length >= FEW_EPISODES:
        return Finding("episodes per iteration", "ok", seen)
    enough = _round_up(ENOUGH_EPISODES * length, learner, budget)
    return Finding(
        "episodes per iteration",
        "warning",
        f"{seen}: too few to estimate how contexts differ",
        f"{enough} steps per iteration give {ENOUGH_EPISODES}",
        (("--steps-per-iteration", str(enough)),),
    )


def _check_updates(contexts: ContextSpace, teacher: SPDL, budget: Budget) -> Finding:
    title = "updates to the target"
    state = teacher.init(np.random.default_rng(0), contexts)
    least = teacher.least_updates(contexts, state, MAX_UPDATES)
    waiting = teacher.update_offset
    waiting += max(teacher.alpha_offset - 1, 0) if teacher.pacing == "tradeoff" else 0
    count = f"more than {MAX_UPDATES}" if least > MAX_UPDATES else f"at least {least}"
    seen = f"{count} and an offset of {waiting}, of {budget.iterations} iterations"
    if least == 0:
        return Finding(title, "ok", "none: contexts start at the target")
    if least + waiting <= budget.iterations:
        return Finding(title, "ok", seen)
    if least > MAX_UPDATES:
        remedy = "raise --teacher.max-kl, or widen the target distribution"
        return Finding(title, "warning", seen, remedy)
    longer = 2 * (least + waiting)
    return Finding(
        title,
        "warning",
        f"{seen}: the target cannot be reached",
        f"train for {longer} iterations, or raise --teacher.max-kl",
        (("--iterations", str(longer)),),
    )


def _check_discount(problem: Problem, trials: Trials, is_final_only: bool) -> Finding:
    length, share = float(trials.target.length.mean()), _faded(problem, trials)
    seen = f"{problem.discount:g} to the power of {length:.0f} steps is {share:.2g}"
    if share >= FAINT or not is_final_only:
        return Finding("discount", "ok", seen)
    return Finding(
        "discount",
        "warning",
        f"{seen}, and only last steps are rewarded: the target is worth nothing at the start",
        f"raise the discount of the problem to {sufficient_discount(length):g}, or reward progress "
        "on the way",
    )


def _faded(problem: Problem, trials: Trials) -> float:
    """Share of a final reward that is left at the start of a target episode."""
    return remaining_share(problem.discount, trials.target.length)


def _flags(learner: AnyLearner, budget: Budget, findings: Sequence[Finding]) -> tuple[str, ...]:
    steps = _round_up(budget.steps_per_iteration, learner, budget)
    flags = {
        "--iterations": str(budget.iterations),
        "--steps-per-iteration": str(steps),
        "--num-environments": str(budget.num_environments),
    }
    for finding in findings:
        flags |= dict(finding.flags)
    return tuple(word for pair in flags.items() for word in pair)


def _round_up(steps: float, learner: AnyLearner, budget: Budget) -> int:
    """The next number of steps that environments, updates and minibatches divide."""
    per_turn = budget.num_environments * (learner.steps_per_update or 1)
    unit = math.lcm(per_turn, getattr(learner, "num_minibatches", 1))
    return math.ceil(steps / unit) * unit


def _components(names: Sequence[str], marked: Array) -> str:
    return ", ".join(name for name, is_marked in zip(names, marked, strict=True) if is_marked)


def _all(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"every component of {', '.join(names)}"


def _spread(returns: Array) -> str:
    return f"{returns.mean():.3g} ± {returns.std():.2g}"
