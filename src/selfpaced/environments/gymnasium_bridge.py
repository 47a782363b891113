"""Anybody's Gymnasium environment, many copies of it stepped together by Gymnasium itself.

The environment takes its context from `reset(options={"context": [C]})` and may say how it went in
`info["success"]` and `info["unstable"]`. How the copies are vectorised is Gymnasium's business: one
after the other in this process, or each in a process of its own. Such environments cannot be saved
in mid-episode: a run that is resumed begins new episodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import (
    AsyncVectorEnv,
    AutoresetMode,
    SyncVectorEnv,
    VectorEnv,
    VectorWrapper,
)

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array
from selfpaced.validation import require_positive

_FLAGS = ("success", "unstable")  # of an info, false where it does not say


@dataclass(frozen=True)
class GymnasiumEnvironment:
    """An environment by its Gymnasium id."""

    id: str
    """as for `gymnasium.make`, `module:Name-v0` imports the module first"""
    settings: tuple[tuple[str, Any], ...] = ()
    """what else `gymnasium.make` is given, as pairs of name and value"""
    time_limit: int | None = None
    """steps; None: the one it is registered with"""
    in_processes: bool = False
    """each copy in a process of its own: for environments that take long to step. Such a process
    imports your script anew: what it runs belongs under `if __name__ == "__main__":`"""
    max_side_by_side: int = 16
    """copies that one process can hold in an evaluation; it takes at least two of each seed"""
    min_episode_steps: int = 1
    """no episode can be shorter"""

    def __post_init__(self) -> None:
        require_positive(self, "time_limit", none_allowed=True)
        require_positive(self, "max_side_by_side", "min_episode_steps")
        try:
            hash(self.settings)
            dict(self.settings)
        except (TypeError, ValueError):
            raise SelfpacedError(
                "settings wants pairs of name and value that do not change, as "
                f"(('gravity', 9.8), ('size', (2, 3))), got {self.settings!r}"
            ) from None

    @property
    def observation_size(self) -> int:
        """Length of an observation."""
        (size,) = _check_box(self, "observation", _spaces(self)[0]).shape
        return size

    @property
    def action_low(self) -> tuple[float, ...]:
        """Lower bound of every action component."""
        return tuple(_check_box(self, "action", _spaces(self)[1]).low.tolist())

    @property
    def action_high(self) -> tuple[float, ...]:
        """Upper bound of every action component."""
        return tuple(_check_box(self, "action", _spaces(self)[1]).high.tolist())

    @property
    def max_episode_steps(self) -> int:
        """The time limit."""
        limit = self.time_limit or _spaces(self)[2] or 0
        require(
            limit > 0, f"{self.id} is registered without a time limit: set time_limit, in steps"
        )
        return limit

    def make(self, num_envs: int, num_threads: int = 1) -> VectorEnv:
        """So many copies; Gymnasium does not use threads."""
        copies: list[Callable[[], gymnasium.Env]] = [
            partial(_make_row, self, row) for row in range(num_envs)
        ]
        if self.in_processes:
            # new processes, not forks: those would inherit JAX's locks but not its threads
            return _RealEnds(AsyncVectorEnv(copies, context="spawn"))
        return _RealEnds(SyncVectorEnv(copies))


@lru_cache
def _spaces(environment: GymnasiumEnvironment) -> tuple[Any, Any, int | None]:
    """Observations, actions and time limit; it takes making one to know."""
    one = _make_one(environment)
    try:
        limit = one.spec.max_episode_steps if one.spec else None
        return one.observation_space, one.action_space, limit
    finally:
        one.close()


def _make_one(environment: GymnasiumEnvironment) -> gymnasium.Env:
    settings: dict[str, Any] = dict(environment.settings)
    if environment.time_limit is not None:
        settings["max_episode_steps"] = environment.time_limit
    try:
        return gymnasium.make(environment.id, **settings)
    except Exception as error:  # of Gymnasium or of the environment
        given = "".join(f", {name}={value!r}" for name, value in settings.items())
        raise SelfpacedError(
            f"gymnasium.make({environment.id!r}{given}) does not work: "
            f"{type(error).__name__}: {error}"
        ) from error


def _make_row(environment: GymnasiumEnvironment, row: int) -> gymnasium.Env:
    return _Row(_make_one(environment), row)


def _check_box(environment: GymnasiumEnvironment, what: str, space: Any) -> Box:
    hint = ", as gymnasium.wrappers.FlattenObservation does" if what == "observation" else ""
    require(
        isinstance(space, Box) and len(space.shape) == 1,
        f"the {what}s of {environment.id} must be vectors (a Box of one dimension), got {space}; "
        f"register an environment that wraps it so{hint}",
    )
    return space


class _Row(gymnasium.Wrapper):
    """One copy: picks its own context, and stands still once its episode is over.

    Gymnasium hands the same options to all copies, and would reset a copy that has ended without
    asking for a context. So the ends are kept from it, in the info, until `_RealEnds`.
    """

    def __init__(self, env: gymnasium.Env, row: int) -> None:
        super().__init__(env)
        self.row = row
        self.last: Any = None
        self.ended = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in the context of this row."""
        options = dict(options or {})
        if "context" in options:
            options["context"] = np.array(options["context"][self.row])
        self.last, info = self.env.reset(seed=seed, options=options)
        self.ended = False
        return self.last, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step as long as there is something to step."""
        if self.ended:
            return self.last, 0.0, False, False, {"terminated": True, "truncated": False}
        self.last, reward, terminated, truncated, info = self.env.step(action)
        self.ended = bool(terminated or truncated)
        ends = {
            "terminated": bool(terminated),
            "truncated": bool(truncated) and not terminated,
            **{name: bool(info.get(name, False)) for name in _FLAGS},
        }
        return self.last, float(reward), False, False, ends


class _RealEnds(VectorWrapper):
    """Puts the ends of episodes where they belong."""

    def __init__(self, env: VectorEnv) -> None:
        super().__init__(env)
        # Gymnasium would reset by itself, but it never learns that an episode is over
        self.metadata = {**env.metadata, "autoreset_mode": AutoresetMode.DISABLED}

    def step(self, actions: Array) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """One step of all copies."""
        observation, reward, _, _, info = self.env.step(actions)
        none = np.zeros(self.num_envs, bool)
        flags = {name: info.get(name, none) for name in _FLAGS}
        return observation, reward, info["terminated"], info["truncated"], flags

    def render_row(self, row: int, width: int, height: int) -> Array:
        """The picture of one copy, with white margins that give it the shape wanted."""
        vector: Any = self.env
        picture = vector.call("render")[row]
        require(
            isinstance(picture, np.ndarray),
            "pictures want an environment that is made to draw them: give GymnasiumEnvironment "
            "settings=(('render_mode', 'rgb_array'),)",
        )
        high, wide, _ = picture.shape
        right, below = max(0, high * width // height - wide), max(0, wide * height // width - high)
        margins = ((below // 2, below - below // 2), (right // 2, right - right // 2), (0, 0))
        return np.pad(picture, margins, constant_values=255)
