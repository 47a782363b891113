"""A vector that takes one context per row at `reset`, with the curriculum that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from selfpaced.errors import require
from selfpaced.integrations.curriculum import AnyCurriculum
from selfpaced.records import Array

Infos = dict[str, Any]


@final
class CurriculumRows(VectorWrapper):  # generic since Gymnasium 1.4 only
    """Gives contexts of a curriculum to the rows that start, and records the rows that end.

    For vectors as `HostEnvironment.make` returns them, which do not reset by themselves:
    `reset(options={"reset_mask": ended})` starts the rows that have ended.

    Args:
        env: a vector that takes `options={"context": [N, C], "reset_mask": [N]}`.
        curriculum: where contexts come from and episodes go to.
        discount: of the recorded returns.

    Raises:
        SelfpacedError: the vector resets by itself.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import PROBLEMS, Curriculum, CurriculumRows, Random
        >>> from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
        >>> contexts = PROBLEMS["point-mass-2d"].contexts
        >>> robots = GymnasiumEnvironment("selfpaced/PointMass2D-v0", time_limit=100).make(2)
        >>> curriculum = Curriculum(Random(), contexts)
        >>> rows = CurriculumRows(robots, curriculum, discount=0.95)
        >>> observations, infos = rows.reset(seed=1)
        >>> while curriculum.num_recorded < 4:
        ...     _, _, terminated, truncated, _ = rows.step(np.zeros((2, 2)))
        ...     if (terminated | truncated).any():
        ...         outcome = rows.reset(options={"reset_mask": terminated | truncated})
        >>> rows.close()
    """

    def __init__(
        self,
        env: VectorEnv[Array, Array, Array],
        curriculum: AnyCurriculum,
        discount: float = 0.99,
    ) -> None:
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        require(
            mode is AutoresetMode.DISABLED,
            f"env must not reset by itself, got the mode {mode}; use CurriculumVectorEnv for "
            "vectors of Gymnasium",
        )
        self.curriculum = curriculum
        self.discount = discount
        num_envs = env.num_envs
        self._context = np.zeros((num_envs, curriculum.contexts.size))
        self._first = np.zeros(env.observation_space.shape or (), np.float32)
        self._return = np.zeros(num_envs)
        self._length = np.zeros(num_envs, np.int64)
        self._is_running = np.zeros(num_envs, bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, Infos]:
        """Start episodes in new contexts, in all rows or in those of `options["reset_mask"]`."""
        mask = np.array((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        starting = np.flatnonzero(mask)
        if len(starting):
            self._context[starting] = self.curriculum.sample(len(starting))
        observations, infos = self.env.reset(
            seed=seed,  # type: ignore[arg-type]  # one per row, which Gymnasium's types lack
            options={"context": self._context.copy(), "reset_mask": mask},
        )
        self._first[starting] = observations[starting]
        self._return[starting], self._length[starting] = 0.0, 0
        self._is_running[starting] = True
        return observations, infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, Infos]:
        """Apply one action per row, and record the episodes that end."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        running = self._is_running
        self._return[running] += self.discount ** self._length[running] * rewards[running]
        self._length[running] += 1
        ended = running & (terminated | truncated)
        for row in np.flatnonzero(ended):
            self.curriculum.record(
                self._context[row],
                self._return[row],
                self._length[row],
                infos["success"][row],
                self._first[row],
            )
        self._is_running = running & ~ended
        return observations, rewards, terminated, truncated, infos
