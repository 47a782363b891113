"""Copies of an environment that are stepped one after the other in this process.

Gymnasium's `SyncVectorEnv` merges the infos of all copies in every step and copies observations
twice, which takes longer than the physics of small environments. Here every copy reports a
few flags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from selfpaced.records import Array

Outcome = tuple[Array, Array, Array, Array, dict[str, Array]]


@final
class RowVector(VectorEnv[Array, Array, Array]):
    """Steps its copies in order; flags in their infos are false in rows that do not report them."""

    def __init__(self, copies: Sequence[Callable[[], gymnasium.Env[Array, Array]]]) -> None:
        self.envs = [make() for make in copies]
        first, self.num_envs = self.envs[0], len(self.envs)
        self.metadata, self.render_mode = first.metadata, first.render_mode
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(first.observation_space, self.num_envs)
        self.action_space = batch_space(first.action_space, self.num_envs)
        self._observation: Array = np.zeros(
            self.observation_space.shape or (), first.observation_space.dtype
        )

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Array]]:
        """Start episodes in the rows of `options["reset_mask"]`, by default in all of them."""
        options = dict(options or {})
        mask = options.pop("reset_mask", np.ones(self.num_envs, bool))
        seeds = self._seed_rows(seed)
        infos: dict[int, dict[str, Any]] = {}
        for row in np.flatnonzero(mask).tolist():
            self._observation[row], infos[row] = self.envs[row].reset(
                seed=seeds[row], options=options
            )
        return self._observation.copy(), self._seen_contexts(infos)

    def step(self, actions: Array) -> Outcome:
        """Apply one action per row."""
        outcomes = [env.step(action) for env, action in zip(self.envs, actions, strict=True)]
        observation, reward, terminated, truncated, ends = zip(*outcomes, strict=True)
        self._observation = np.array(observation, self._observation.dtype)
        names = dict.fromkeys(name for end in ends for name in end)
        info = {name: np.array([end.get(name, False) for end in ends]) for name in names}
        return (
            self._observation.copy(),
            np.array(reward, float),
            np.array(terminated),
            np.array(truncated),
            info,
        )

    def call(self, name: str) -> tuple[Any, ...]:
        """Call a method of every copy."""
        return tuple(getattr(env, name)() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close every copy."""
        for env in self.envs:
            env.close()

    def _seed_rows(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        """Return a seed per row; one number counts up, as in Gymnasium."""
        if seed is None:
            return [None] * self.num_envs
        return range(seed, seed + self.num_envs) if isinstance(seed, int) else seed

    def _seen_contexts(self, infos: dict[int, dict[str, Any]]) -> dict[str, Array]:
        """Return `info["context"]` of rows that started, where all of them report it."""
        seen = {
            row: np.asarray(info["context"]) for row, info in infos.items() if "context" in info
        }
        if not seen or len(seen) < len(infos):
            return {}
        contexts = np.zeros((self.num_envs, *next(iter(seen.values())).shape))
        for row, context in seen.items():
            contexts[row] = context
        return {"context": contexts}
