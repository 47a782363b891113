"""What random episodes reveal about pacing: returns, successes, the target, and the budget."""

from __future__ import annotations

import math

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.experiment import Budget
from selfpaced.learners.base import AnyLearner
from selfpaced.problems import Problem
from selfpaced.records import Array, Episodes
from selfpaced.studies.findings import Finding
from selfpaced.studies.random_trials import ROUNDING, Trials
from selfpaced.teachers.advice import advice_of
from selfpaced.teachers.base import AnyTeacher
from selfpaced.teachers.diagnosis import EPISODES_PER_PARAMETER
from selfpaced.teachers.gaussian_step import num_parameters
from selfpaced.teachers.mastery import FLAT, MAX_AGE, MIN_EPISODES
from selfpaced.teachers.spdl import SPDL

LEAST_EPISODES = 20  # per iteration, where the teacher has no number of its own
MAX_UPDATES = 2000  # to the target, that are counted
MUCH_OUTSIDE = 0.1  # share of draws from the target that are moved to the border of the box
FAR_OUTSIDE = 0.01  # widths of the box; less is the edge of a target at the border
NUM_DRAWS = 1000  # from the target
MAX_EPISODES = 99  # of the first iteration; below the number that judges successes


def check_target(contexts: ContextSpace) -> Finding:
    """Draws outside the box pile up at its border."""
    drawn = contexts.target.sample(np.random.default_rng(0), NUM_DRAWS)
    lower, upper = contexts.box
    beyond = np.maximum(lower - drawn, drawn - upper) / (upper - lower)
    far = beyond > FAR_OUTSIDE
    share = float(far.any(axis=1).mean())
    if share <= MUCH_OUTSIDE:
        return Finding("target in the box", "ok", f"{1.0 - share:.0%} of its draws")
    worst = contexts.names[int(far.mean(axis=0).argmax())]
    seen = f"{share:.0%} of the draws lie outside, most often in {worst}"
    if contexts.outside == "redraw":
        return Finding("target in the box", "ok", f"{seen}, and are drawn again")
    return Finding(
        "target in the box",
        "warning",
        f"{seen}, and are moved to the border",
        'widen the box, narrow the target, or set outside="redraw" in the context space',
    )


def check_returns(teacher: SPDL, trials: Trials) -> Finding:
    """Negative returns stop the paper's pacing."""
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


def check_spread(teacher: SPDL, trials: Trials) -> Finding:
    """Constant returns cannot pace a curriculum."""
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


def check_success(problem: Problem, trials: Trials) -> Finding:
    """Successes that never or always occur cannot pace a curriculum."""
    success = np.stack([trials.initial.success, trials.moved.success, trials.target.success])
    signal = 'info["success"]' if problem.is_hosted else "Step.success"
    if success.all():
        return Finding(
            "success",
            "warning",
            f"always true: at the end of all {success.size} episodes of random actions",
            f"report {signal} only for episodes that solve the task: otherwise every context is "
            "mastered from the start",
        )
    if success.any():
        initial, _, target = success.mean(axis=1)
        return Finding("success", "ok", f"{initial:.0%} initial, {target:.0%} target")
    return Finding(
        "success",
        "warning",
        f"not reported: true at the end of none of {success.size} episodes",
        f"report {signal}, otherwise mastery goes by returns; ignore this if it is only rare",
    )


def check_num_episodes(
    teacher: AnyTeacher, learner: AnyLearner, budget: Budget, trials: Trials
) -> Finding:
    """Few episodes per iteration cannot show how contexts differ."""
    steps, length = budget.steps_per_iteration, float(trials.initial.length.mean())
    least = _least_episodes(teacher, trials.initial.context.shape[1])
    seen = f"about {steps / length:.0f} in {steps} steps, and {least} are needed"
    if steps / length >= least:
        return Finding("episodes per iteration", "ok", seen)
    enough = round_up_steps(2 * least * length, learner, budget)
    return Finding(
        "episodes per iteration",
        "warning",
        f"{seen} to estimate how contexts differ",
        f"{enough} steps per iteration give {2 * least}",
        (("--steps-per-iteration", str(enough)),),
    )


def _least_episodes(teacher: AnyTeacher, size: int) -> int:
    """Return the number below which the teacher itself warns while it runs, if it has one."""
    if not isinstance(teacher, SPDL):
        return LEAST_EPISODES
    if teacher.pacing == "mastery":
        return math.ceil(MIN_EPISODES / MAX_AGE)
    if teacher.window is not None or teacher.std_lower_bound is not None:
        return LEAST_EPISODES
    return max(LEAST_EPISODES, EPISODES_PER_PARAMETER * num_parameters(size, teacher.covariance))


def check_updates(contexts: ContextSpace, teacher: SPDL, budget: Budget) -> Finding:
    """Count the updates to the target if nothing but the target mattered."""
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


def check_advice(
    contexts: ContextSpace, teacher: AnyTeacher, budget: Budget, trials: Trials
) -> tuple[Finding, ...]:
    """A teacher gives advice after a first iteration, for example on the budget."""
    rng, found = np.random.default_rng(0), trials.initial
    num = math.ceil(budget.steps_per_iteration / found.length.mean())
    rows = np.resize(np.arange(len(found.length)), min(num, MAX_EPISODES))
    columns = found.context, found.path[:, 0], found.discounted_return
    context, observation, returns = (column[rows] for column in columns)
    success, length = found.success[rows], np.maximum(found.length[rows], 1)
    episodes = Episodes(context, observation, returns, returns, success, length)
    state, _ = teacher.update(rng, contexts, teacher.init(rng, contexts), episodes)
    pairs = (
        text.partition(";") for text in advice_of(teacher, contexts, state, budget.iterations - 1)
    )
    return tuple(
        Finding("advice of the teacher", "warning", seen, remedy.strip())
        for seen, _, remedy in pairs
    )


def round_up_steps(steps: float, learner: AnyLearner, budget: Budget) -> int:
    """Return the next number of steps that environments and minibatches divide."""
    unit = math.lcm(budget.num_environments, getattr(learner, "num_minibatches", 1))
    least = budget.num_environments * (learner.steps_per_update or 1)
    return math.ceil(max(steps, least) / unit) * unit


def _spread(returns: Array) -> str:
    return f"{returns.mean():.3g} ± {returns.std():.2g}"
