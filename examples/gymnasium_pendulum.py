"""What `pendulum.toml` cannot say about Gymnasium's pendulum: when an episode is a success."""

from __future__ import annotations

import math
from typing import Any

import gymnasium

UPRIGHT, SLOW = 0.3, 1.0  # angle in rad, speed in rad/s


def is_upright(environment: gymnasium.Env[Any, Any], info: dict[str, Any]) -> bool:
    """Return whether the pendulum stands upright and hardly moves; the last step decides."""
    angle, speed = environment.unwrapped.state  # type: ignore[attr-defined]
    off_upright = abs((angle + math.pi) % (2.0 * math.pi) - math.pi)
    return bool(off_upright < UPRIGHT and abs(speed) < SLOW)
