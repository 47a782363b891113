"""An environment whose context is the length of its episodes, and which keeps what it has seen."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from selfpaced import ContextSpace, CurriculumEnv, Gaussian

CONTEXTS = ContextSpace(
    ("length", "label"),
    (2.0, 0.0),
    (6.0, 1.0),
    initial=Gaussian.diagonal((3.0, 0.5), (0.5, 0.2)),
    target=Gaussian.diagonal((5.0, 0.5), (0.5, 0.2)),
)


class Counting(gymnasium.Env[Any, Any]):
    """Ends after as many steps as its context says; the reward is 1 in every step."""

    observation_space = Box(0.0, 10.0, (2,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self) -> None:
        self.seen: list[list[float]] = []
        self.context = np.zeros(2)
        self.time = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        assert options is not None
        self.context, self.time = options["context"], 0
        self.seen.append(self.context.tolist())
        return self._observed(), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        ended = self.time >= round(self.context[0])
        return self._observed(), 1.0, ended, False, {"success": self.context[1] > 0.5}

    def _observed(self) -> Any:
        return np.array([self.time, self.context[1]], np.float32)


def make() -> CurriculumEnv:
    return CurriculumEnv(Counting(), CONTEXTS, discount=0.5)
