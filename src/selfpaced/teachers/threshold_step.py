"""Steps of a Gaussian over contexts that keep the expected value above a threshold.

The Lagrangian of "minimise KL(q ‖ target) such that J(q) >= threshold" is Eq. (5) of SPDL: the
largest alpha with J(q) >= threshold is searched for, with SPDL's solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from selfpaced.teachers.gaussian_step import GaussianStep, Update, gaussian_steps

LOG_ALPHAS = (-12.0, 12.0)  # natural logarithms, relative to the alpha of equal weights
NUM_HALVINGS, NUM_SECANTS = 5, 7  # steps of the search

Case = Literal["approach", "improve", "stay"]


def threshold_steps(
    updates: Sequence[Update], cases: Sequence[Case], threshold: float, num_seeds: int
) -> list[GaussianStep]:
    """Return the steps of cases A and B; A is searched for where the target alone fails.

    How many of the seeds take part differs from update to update.
    """
    if not updates:
        return []
    first = [
        _with_alpha(update, 0.0) if case == "improve" else _towards_target(update)
        for update, case in zip(updates, cases, strict=True)
    ]
    steps = gaussian_steps(first, at_least=num_seeds)
    failing = [
        index
        for index, (update, case) in enumerate(zip(updates, cases, strict=True))
        if case == "approach" and update.expected_value(steps[index].distribution) < threshold
    ]
    found = _search([updates[index] for index in failing], threshold, num_seeds)
    for index, step in zip(failing, found, strict=True):
        steps[index] = step
    return steps


def _search(updates: Sequence[Update], threshold: float, num_seeds: int) -> list[GaussianStep]:
    """Find alpha with J = threshold for several updates together; keep the best that reach it.

    J falls with alpha. The bracket of log alpha is halved, then shrunk by the Illinois rule.
    """
    if not updates:
        return []
    bracket = np.tile(LOG_ALPHAS, (len(updates), 1))
    excess = np.zeros_like(bracket)  # J - threshold at its ends; zero: not known
    last_end = np.full(len(updates), -1)
    scales = np.array([_scale(update) for update in updates])
    best = gaussian_steps([_with_alpha(update, 0.0) for update in updates], num_seeds)
    for number in range(NUM_HALVINGS + NUM_SECANTS):
        share = np.full(len(updates), 0.5)
        known = np.flatnonzero((excess != 0.0).all(axis=1) & (number >= NUM_HALVINGS))
        share[known] = excess[known, 0] / (excess[known, 0] - excess[known, 1])
        tried = bracket[:, 0] + share * (bracket[:, 1] - bracket[:, 0])
        pairs = zip(updates, scales * np.exp(tried), strict=True)
        steps = gaussian_steps([_with_alpha(update, alpha) for update, alpha in pairs], num_seeds)
        for index, (update, step) in enumerate(zip(updates, steps, strict=True)):
            above = update.expected_value(step.distribution) - threshold
            end = 0 if above >= 0 else 1
            bracket[index, end], excess[index, end] = tried[index], above
            if last_end[index] == end:
                excess[index, 1 - end] *= 0.5  # Illinois
            last_end[index] = end
            if above >= 0 and _nearer(update, step, best[index]):
                best[index] = step
    return best


def _with_alpha(update: Update, alpha: float) -> Update:
    return update._replace(alpha=float(alpha))


def _towards_target(update: Update) -> Update:
    """Return the update with the KL to the target alone."""
    return update._replace(values=np.zeros_like(update.values), linear=None, alpha=1.0)


def _scale(update: Update) -> float:
    """Return an alpha with which value and KL to the target weigh alike."""
    spread = float(update.values.std()) + 1e-12
    return spread / max(update.start.kl(update.target), 1e-12)


def _nearer(update: Update, step: GaussianStep, other: GaussianStep) -> bool:
    return step.distribution.kl(update.target) < other.distribution.kl(update.target)
