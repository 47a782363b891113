"""What `pendulum.toml` cannot say about Gymnasium's pendulum: when an episode is a success."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

UPRIGHT, SLOW = 0.3, 1.0  # angle in rad, speed in rad/s


def is_upright(observation: Sequence[float], info: Mapping[str, object]) -> bool:
    """Return whether the pendulum stands upright and hardly moves; the last step decides."""
    cosine, _, speed = observation[:3]
    return bool(cosine > math.cos(UPRIGHT) and abs(speed) < SLOW)
