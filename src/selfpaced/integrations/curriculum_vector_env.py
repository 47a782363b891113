"""A Gymnasium vector of `CurriculumEnv`s with the curriculum that they get their contexts from."""

from __future__ import annotations

from typing import Any, TypeAlias, final

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv, VectorWrapper

from selfpaced.errors import SelfpacedError
from selfpaced.integrations.context_supply import ContextSupply
from selfpaced.integrations.curriculum import AnyCurriculum
from selfpaced.integrations.curriculum_env import RECORD_KEY
from selfpaced.records import Array

Infos = dict[str, Any]
Rows: TypeAlias = "SyncVectorEnv[Any, Any] | AsyncVectorEnv[Any, Any]"  # of 1.4


@final
class CurriculumVectorEnv(VectorWrapper):  # generic since Gymnasium 1.4 only
    """Hands contexts to the environments of a vector, and records the episodes that end in them.

    A training loop then only calls `curriculum.update` once in a while; contexts that were not
    used by then are replaced. Works in all three autoreset modes.

    Args:
        env: a `SyncVectorEnv` or `AsyncVectorEnv` of environments with `CurriculumEnv` among their
            wrappers.
        curriculum: where contexts come from and episodes go to.

    Raises:
        SelfpacedError: an environment has no `CurriculumEnv` among its wrappers.

    Examples:
        >>> import gymnasium
        >>> from selfpaced import ContextSpace, Curriculum, CurriculumEnv, CurriculumVectorEnv
        >>> from selfpaced import Gaussian, Random
        >>> light, heavy = Gaussian.diagonal((1.0,), (0.1,)), Gaussian.diagonal((3.0,), (0.1,))
        >>> contexts = ContextSpace(("mass",), (0.5,), (4.0,), initial=light, target=heavy)
        >>> def make() -> gymnasium.Env:
        ...     return CurriculumEnv(gymnasium.make("Pendulum-v1"), contexts, hand_over=("m",))
        >>> curriculum = Curriculum(Random(), contexts)
        >>> envs = CurriculumVectorEnv(gymnasium.vector.SyncVectorEnv([make] * 2), curriculum)
        >>> observations, infos = envs.reset(seed=1)
        >>> for step in range(200):
        ...     outcome = envs.step(envs.action_space.sample())
        >>> curriculum.num_recorded
        2
        >>> envs.close()
    """

    def __init__(self, env: VectorEnv[Any, Any, Array], curriculum: AnyCurriculum) -> None:
        super().__init__(env)
        self.curriculum = curriculum
        self._rows = _checked_rows(env)
        self._supply = ContextSupply(curriculum, env.num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        """Start episodes in the next contexts, in all rows or in those of a mask."""
        self._renew()
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        starting = np.flatnonzero(mask)
        # a copy, because Gymnasium removes the mask from the dictionary that it gets
        observations, infos = self.env.reset(seed=seed, options=options and dict(options))
        self._refill(starting)
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, Infos]:
        """Apply one action per row, and record the episodes that end."""
        self._renew()
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            self._record(infos.get("final_info", infos))
            self._refill(ended)
        return observations, rewards, terminated, truncated, infos

    def _renew(self) -> None:
        if self._supply.is_outdated:
            self._rows.set_attr("next_contexts", self._supply.renewed())

    def _refill(self, starting: Array) -> None:
        further = self._supply.after(starting)
        if further:
            batches = [further.get(row, ()) for row in range(self.num_envs)]
            self._rows.set_attr("further_contexts", batches)

    def _record(self, infos: Infos) -> None:
        """Record the rows of stacked infos that have an episode; others are filled with zeros."""
        stacked = infos.get(RECORD_KEY, {})
        for row in np.flatnonzero(infos.get(f"_{RECORD_KEY}", ())):
            self.curriculum.record(
                **{name: column[row] for name, column in stacked.items() if name[0] != "_"}
            )


def curriculum_rows(env: VectorEnv[Any, Any, Any]) -> Rows | None:
    """Return the vector inside its wrappers if its environments have a `CurriculumEnv`."""
    rows = env.unwrapped
    if isinstance(rows, SyncVectorEnv | AsyncVectorEnv):
        try:
            rows.get_attr("next_contexts")  # also from other processes
            return rows
        except AttributeError:
            pass
    return None


def _checked_rows(env: VectorEnv[Any, Any, Array]) -> Rows:
    rows = curriculum_rows(env)
    if rows is None:
        raise SelfpacedError(
            "env must be a SyncVectorEnv or AsyncVectorEnv of CurriculumEnv, got "
            f"{type(env.unwrapped).__name__} of other environments; write SyncVectorEnv([lambda: "
            "CurriculumEnv(gymnasium.make(...), contexts)] * 8)"
        )
    return rows
