"""Warnings of SPDL: what keeps contexts from the target, with the likely cause and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.teachers import diagnosis
from selfpaced.teachers.mastery import MAX_AGE, MIN_EPISODES

if TYPE_CHECKING:
    from selfpaced.teachers.spdl import SPDL, SPDLState


MAX_COUNTED = 5000  # remaining updates that are always enough


def advise(
    teacher: SPDL, contexts: ContextSpace, state: SPDLState, num_remaining: int
) -> tuple[str, ...]:
    """Return warnings; too few iterations are one only if there is no other cause."""
    signs = _mastery_signs if teacher.pacing == "mastery" else _tradeoff_signs
    causes, others = signs(teacher, contexts, state)
    if not any(causes):
        causes = [_too_short(teacher, contexts, state, num_remaining)]
    return tuple(text for text in (*causes, *others) if text)


def _mastery_signs(
    teacher: SPDL, contexts: ContextSpace, state: SPDLState
) -> tuple[list[str], list[str]]:
    """Return causes why contexts do not arrive, and other warnings."""
    progress, num_iterations = state.progress, int(state.num_iterations)
    causes = [
        diagnosis.few_for_mastery(progress, num_iterations, MIN_EPISODES, MAX_AGE),
        diagnosis.waiting(progress, teacher.mastery_level),
    ]
    never = diagnosis.without_success(
        int(progress.num_episodes),
        int(progress.num_successes),
        "mastery is judged by returns alone",
        "report success if the task defines it, or check that returns grow with it",
    )
    always = diagnosis.without_failure(
        int(progress.num_episodes),
        int(progress.num_successes),
        "contexts move to the target as fast as max_kl allows",
    )
    remedy = "raise mastery_level, or train the learner more per iteration"
    by_return = diagnosis.mastered_by_return(progress, teacher.mastery_level)
    return causes, [never, always, by_return, diagnosis.fading(progress, remedy)]


def _tradeoff_signs(
    teacher: SPDL, contexts: ContextSpace, state: SPDLState
) -> tuple[list[str], list[str]]:
    """Return causes why contexts do not arrive, and other warnings."""
    current, start = teacher.gaussian(contexts, state), teacher.starting_point(contexts)
    target, progress, is_bounded = teacher.target_of(contexts), state.progress, False
    has_pull = state.num_updates + 1 >= teacher.alpha_offset
    causes: list[str] = []
    others: list[str] = []
    if has_pull and state.mean_return < 0:
        causes.append(
            "the mean return is negative, so alpha stays zero and the contexts do not move "
            'towards the target; add a constant to the reward, or set pacing="mastery"'
        )
    if teacher.std_lower_bound is not None and teacher.start == "initial":
        bound, start_kl = np.array(teacher.std_lower_bound), start.kl(target)
        is_bounded = start_kl > teacher.kl_threshold
        causes.append(diagnosis.bound_without_end(bound, target, teacher.kl_threshold))
        others.append(diagnosis.bound_without_effect(start_kl, teacher.kl_threshold))
    if state.num_updates:
        causes.append(diagnosis.collapsed(contexts.names, start, current, target))
    if state.num_updates >= teacher.alpha_offset + diagnosis.RECENT and not any(causes):
        causes.append(diagnosis.without_progress(progress))
    is_judged = state.num_iterations >= diagnosis.MIN_ITERATIONS
    if is_judged and not is_bounded and current.kl(target) > diagnosis.FAR:
        num_per_update = float(teacher.window or progress.episodes_per_iteration)
        others.append(diagnosis.few_episodes(num_per_update, contexts.size, teacher.covariance))
    others.append(
        diagnosis.fading(
            progress,
            "lower zeta, raise update_offset, train the learner more per iteration, or set "
            'pacing="mastery"',
        )
    )
    return causes, others


def _too_short(teacher: SPDL, contexts: ContextSpace, state: SPDLState, num_remaining: int) -> str:
    """Return a warning if all iterations, past and remaining, are too few for the target."""
    num_pulled = _num_pulled(teacher, state, num_remaining)
    if num_pulled > MAX_COUNTED:
        return ""
    if teacher.least_updates(contexts, state, num_pulled) <= num_pulled:
        return ""
    first = teacher.init(np.random.default_rng(0), contexts)
    num_in_all = _num_pulled(teacher, first, int(state.num_iterations) + num_remaining)
    if teacher.least_updates(contexts, first, num_in_all) <= num_in_all:
        return ""  # contexts have been slow for another cause
    remedy = "train longer, or raise max_kl"
    if teacher.pacing == "tradeoff":
        remedy = "train longer, raise max_kl, or lower alpha_offset or update_offset"
    return (
        f"{num_remaining} remaining iterations cannot reach the target: it has weight in at "
        f"most {num_pulled} of them, too few with max_kl {teacher.max_kl:g}; {remedy}"
    )


def _num_pulled(teacher: SPDL, state: SPDLState, num_remaining: int) -> int:
    """Return in how many of the remaining iterations the target can have weight."""
    waiting = max(teacher.update_offset - int(state.num_iterations), 0)
    if teacher.pacing == "tradeoff":
        waiting += max(teacher.alpha_offset - 1 - int(state.num_updates), 0)
    return max(num_remaining - waiting, 0)
