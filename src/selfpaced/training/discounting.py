"""What a discount leaves of a reward at the end of an episode."""

from __future__ import annotations

import math

import numpy as np

from selfpaced.records import Array

FAINT = 0.01  # share of a final reward that is too little at the start of an episode
AUDIBLE = 0.1  # share that a sufficient discount leaves
EQUAL = 1e-3  # relative difference of rewards that count as equal


def remaining_share(discount: float, lengths: Array) -> float:
    """Return the share of a final reward that is left at the start of an episode."""
    return float(discount ** lengths.mean())


def sufficient_discount(length: float) -> float:
    """Return the least discount, rounded up, that leaves a tenth of a final reward."""
    return float(math.ceil(1e4 * AUDIBLE ** (1.0 / length)) / 1e4)


def is_rewarded_at_the_end(discount: float, returns: Array, lengths: Array) -> bool:
    """Whether discounted returns [N] look like one reward in the last of these steps [N].

    So do returns of zero: nothing was earned on the way. Episodes of one length show nothing.
    """
    earned = returns != 0
    if not earned.any():
        return True
    final = returns[earned] / discount ** (lengths[earned] - 1.0)
    are_equal = np.ptp(final) <= EQUAL * np.abs(final).max()
    return bool(are_equal and np.ptp(lengths[earned]) > 0)


def faint_target(discount: float, returns: Array, lengths: Array) -> str:
    """Return a warning if the discount makes the end of these target episodes worth nothing."""
    share, length = remaining_share(discount, lengths), float(lengths.mean())
    if share >= FAINT or not is_rewarded_at_the_end(discount, returns, lengths):
        return ""
    return (
        f"the discount makes the target worth nothing: {discount:g} to the power of {length:.0f} "
        f"steps is {share:.1e}, and nothing is earned on the way; raise the discount of the "
        f"problem to {sufficient_discount(length):g}, or reward progress"
    )
