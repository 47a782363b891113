"""Gymnasium's lunar lander with a success signal; `environments/lunar_lander.py` has the rules."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.envs.box2d import lunar_lander

from selfpaced.records import Array

ID = "SelfpacedLunarLander-v0"


class LunarLander(lunar_lander.LunarLander):
    """Reports landings, and draws when it is asked to."""

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Apply an action; `info["success"]` is to stand between the flags."""
        observation, reward, terminated, truncated, info = super().step(action)
        body = self.lander
        assert body is not None
        stands = all(leg.ground_contact for leg in self.legs) and not self.game_over
        between = self.helipad_x1 <= body.position.x <= self.helipad_x2
        info["success"] = bool(stands and between)
        return observation, float(reward), terminated, truncated, info

    def render(self) -> Array:
        """Return a picture; exhaust is simulated from the first one on, and has no effect."""
        self.render_mode = "rgb_array"
        picture: Array = super().render()
        return picture


gymnasium.register(ID, f"{__name__}:LunarLander")
