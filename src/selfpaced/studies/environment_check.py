"""What random episodes reveal about an environment: sizes, limits, effect of the context."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.studies.findings import Finding
from selfpaced.studies.random_trials import Trials, differs, starts_differently
from selfpaced.training.discounting import FAINT, remaining_share, sufficient_discount

CORRELATED = 0.9


def check_spaces(problem: Problem, trials: Trials) -> Finding:
    """Sizes and bounds must be those of the environment."""
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


def check_time_limit(problem: Problem, trials: Trials) -> Finding:
    """Episodes must end at the time limit, and not before the least length."""
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


def check_seed(problem: Problem, trials: Trials) -> tuple[Finding, ...]:
    """A seed must determine its episode."""
    if not problem.is_hosted:
        return ()  # pure functions
    if trials.is_reproducible:
        return (Finding("seed", "ok", "the same seed and context give the same episode"),)
    seen = "the same seed and context give different episodes"
    remedy = "draw all randomness from self.np_random, which reset(seed=...) seeds"
    return (Finding("seed", "warning", seen, remedy),)


def check_effect(problem: Problem, trials: Trials) -> Finding:
    """A component without effect cannot be paced."""
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


def check_visible(problem: Problem, trials: Trials) -> Finding:
    """Policy and critic must see the context."""
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


def check_discount(problem: Problem, trials: Trials, is_final_only: bool) -> Finding:
    """A final reward must be worth something at the start."""
    length, share = float(trials.target.length.mean()), share_of_final_reward(problem, trials)
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


def share_of_final_reward(problem: Problem, trials: Trials) -> float:
    """Return the share of a final reward that is left at the start of a target episode."""
    return remaining_share(problem.discount, trials.target.length)


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


def _components(names: Sequence[str], marked: Array) -> str:
    return ", ".join(name for name, is_marked in zip(names, marked, strict=True) if is_marked)


def _all(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"every component of {', '.join(names)}"
