"""A user's Gymnasium environment as a `HostEnvironment`; Gymnasium steps its copies together.

The environment gets its context in one of the ways of `hand_over.py`. It can report
`info["success"]` or `info["is_success"]`, and `info["unstable"]`. Observations of any space that
Gymnasium can flatten become vectors; images are refused. The copies are stepped one after the other
in this process, or each in its own process. Their state cannot be saved in mid-episode, so a
resumed run starts new episodes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from math import isfinite
from typing import Any, Literal, SupportsFloat, TypeAlias, final

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import (
    AsyncVectorEnv,
    AutoresetMode,
    VectorWrapper,
)

from selfpaced.environments.base import RowError
from selfpaced.environments.flat_observations import flat_observation, flat_space
from selfpaced.environments.gymnasium_actions import action_bounds, as_member
from selfpaced.environments.hand_over import (
    AppendedContext,
    HandOver,
    require_hand_over,
    reset_in_context,
)
from selfpaced.environments.row_vector import RowVector
from selfpaced.errors import SelfpacedError, describe_exception, require
from selfpaced.records import Array
from selfpaced.validation import is_real, require_positive, require_setting_pairs

PICTURE_SIZE = (480, 360)  # pixels
_FLAGS = ("success", "unstable")  # optional entries of an info

Success: TypeAlias = Callable[[Any, dict[str, Any]], bool]  # of observation and info


@final
@dataclass(frozen=True)
class GymnasiumEnvironment:
    """A Gymnasium environment by its id, simulated on the host.

    Raises:
        SelfpacedError: a setting is out of range; from the properties and `make`, the environment
            cannot be made, has no time limit, cannot take its context in this way, or has spaces
            that are not supported.

    Examples:
        >>> from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
        >>> environment = GymnasiumEnvironment("Pendulum-v1", hand_over=("m", "l"))
        >>> environment.observation_size, environment.action_low, environment.max_episode_steps
        (3, (-2.0,), 200)
    """

    id: str
    """id for `gymnasium.make`; `module:Name-v0` imports the module first"""
    settings: tuple[tuple[str, Any], ...] = ()
    """further arguments of `gymnasium.make`, as pairs of name and value"""
    time_limit: int | None = None
    """time limit in steps; None: the limit that the id is registered with"""
    in_processes: bool = False
    """run each copy in its own process, for environments that are slow to step. Such a process
    imports the main script again: put what the script runs under `if __name__ == "__main__":`"""
    max_side_by_side: int = 16
    """copies that one process can hold in an evaluation, which needs at least two per seed"""
    min_episode_steps: int = 1
    """length of the shortest possible episode; 1 is always safe"""
    hand_over: HandOver = "options"
    """how a context reaches the environment: "options" of reset, a tuple with one attribute of the
    unwrapped environment per component, or a function of environment and context that is called
    before reset"""
    success: Success | None = None
    """function of the environment's own observation and info that returns whether a step fulfils
    the purpose of the context; None: `info["success"]` or `info["is_success"]`"""
    append_context: bool | Literal["scaled"] = False
    """append the context to the observation, as it is or with its bounds scaled to -1 and 1"""
    context_bounds: tuple[tuple[float, float], ...] = ()
    """lower and upper bound of every context component, needed to append the context"""

    def __post_init__(self) -> None:
        require_positive(self, "time_limit", none_allowed=True)
        require_positive(self, "max_side_by_side", "min_episode_steps")
        require_setting_pairs(self, "settings")
        require(
            self.append_context in (True, False, "scaled"),
            f"append_context must be True, False or 'scaled', got {self.append_context!r}",
        )
        require(
            bool(self.context_bounds) or not self.append_context,
            "context_bounds must be given to append the context, as ((0.5, 3.0), (0.2, 2.0)), got "
            "none",
        )

    @property
    def observation_size(self) -> int:
        """Length of a flattened observation, appended context included."""
        return _vector_space(self, _spaces(self)[0]).shape[0]

    @property
    def action_low(self) -> tuple[float, ...]:
        """Lower bound of every action component."""
        return action_bounds(self.id, _spaces(self)[1]).low

    @property
    def action_high(self) -> tuple[float, ...]:
        """Upper bound of every action component."""
        return action_bounds(self.id, _spaces(self)[1]).high

    @property
    def has_discrete_actions(self) -> bool:
        """Whether the actions are whole numbers."""
        return action_bounds(self.id, _spaces(self)[1]).are_discrete

    @property
    def max_episode_steps(self) -> int:
        """The time limit."""
        limit = self.time_limit or _spaces(self)[2] or 0
        require(
            limit > 0,
            f"time_limit must be set, in steps: {self.id} is registered without max_episode_steps",
        )
        return limit

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height in pixels that suit its pictures."""
        return PICTURE_SIZE

    @property
    def appended(self) -> AppendedContext | None:
        """What adds the context to observations, if anything does."""
        if not self.append_context:
            return None
        lower, upper = zip(*self.context_bounds, strict=True)
        return AppendedContext(lower, upper, scaled=self.append_context == "scaled")

    def make(self, num_envs: int, num_threads: int = 1) -> GymnasiumVector:
        """Return a vector of copies; `num_threads` has no effect."""
        del num_threads
        _vector_space(self, _spaces(self)[0])  # or raise here, not in another process
        copies: list[Callable[[], gymnasium.Env[Array, Array]]] = [
            partial(_make_row, self, row) for row in range(num_envs)
        ]
        if self.in_processes:
            # new processes, not forks: those would inherit JAX's locks but not its threads
            return GymnasiumVector(AsyncVectorEnv(copies, context="spawn"))
        return GymnasiumVector(RowVector(copies))


class GymnasiumVector(VectorWrapper):  # generic since Gymnasium 1.4 only
    """Copies of one environment; reports the ends of episodes that each `_Row` keeps in its info.

    Fulfils `RendersRows` of `environments/base.py`.
    """

    def __init__(self, env: RowVector | AsyncVectorEnv[Array, Array]) -> None:
        super().__init__(env)
        self._copies = env
        # Gymnasium's own mode has no effect: no row reports the end of an episode to it
        self.metadata = {**env.metadata, "autoreset_mode": AutoresetMode.DISABLED}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Array]]:
        """Apply one action per row; rows whose episode is over do not change."""
        observation, reward, _, _, info = self.env.step(actions)
        flags = {"unstable": np.zeros(self.num_envs, bool)}
        flags |= {name: info[name] for name in _FLAGS if name in info}  # reported in this step
        return observation, reward, info["terminated"], info["truncated"], flags

    def render_row(self, index: int, width: int, height: int) -> Array:
        """Return the picture of one copy, with white margins that give it this aspect ratio."""
        picture = self._copies.call("render")[index]
        if not isinstance(picture, np.ndarray):
            raise SelfpacedError(
                "render_mode must be 'rgb_array' for pictures; set "
                "GymnasiumEnvironment(settings=(('render_mode', 'rgb_array'),))"
            )
        high, wide, _ = picture.shape
        right, below = max(0, high * width // height - wide), max(0, wide * height // width - high)
        margins = ((below // 2, below - below // 2), (right // 2, right - right // 2), (0, 0))
        return np.pad(picture, margins, constant_values=255)


class _Row(gymnasium.Wrapper[Array, Array, Array, Array]):
    """One copy: selects its own context, and does not change once its episode is over.

    Gymnasium passes the same options to all copies, and resets a copy that has ended without a
    context. The ends of episodes are therefore hidden from it, in the info, and reported by
    `GymnasiumVector`.
    """

    def __init__(self, environment: GymnasiumEnvironment, row: int) -> None:
        super().__init__(_make_one(environment))
        self.settings, self.row = environment, row
        # properties of wrappers ask the next wrapper, which takes time in every step
        self.own_space, self.action_space = self.env.observation_space, self.env.action_space
        self.observation_space = _vector_space(environment, self.own_space)
        self.flat_shape = flat_space(environment.id, self.own_space).shape
        self.appended = environment.appended
        self.context: Array = np.zeros(len(environment.context_bounds))
        self.last: Array = np.zeros(0)
        self.ended = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Array] | None = None
    ) -> tuple[Array, dict[str, object]]:
        """Start an episode in the context of this row."""
        options = dict(options or {})
        hand_over = self.settings.hand_over
        try:
            if "context" in options:
                self.context = np.array(options.pop("context")[self.row])
                observation, info = reset_in_context(
                    self.env, hand_over, self.context, seed, options
                )
            else:
                observation, info = self.env.reset(seed=seed, options=options)
            self.last, self.ended = self._observe("reset", observation), False
        except (Exception, SystemExit) as error:
            raise self._failure("reset", error) from error
        return self.last, info

    def step(self, action: Array) -> tuple[Array, SupportsFloat, bool, bool, dict[str, object]]:
        """Apply an action until the episode is over."""
        if self.ended:
            return self.last, 0.0, False, False, {"terminated": True, "truncated": False}
        member = as_member(self.action_space, action)
        try:
            observation, reward, terminated, truncated, info = self.env.step(member)
            self._require_plain("step", reward, info)
            self.last = self._observe("step", observation)
            self.ended = bool(terminated or truncated)
            ends: dict[str, object] = {
                "terminated": bool(terminated),
                "truncated": bool(truncated) and not terminated,
                **self._flags(observation, info),
            }
            return self.last, float(reward), False, False, ends
        except (Exception, SystemExit) as error:
            raise self._failure("step", error) from error

    def close(self) -> None:
        """Close the copy; its results are complete, so an error has no effect."""
        _close(self.env)

    def _failure(self, method: str, error: BaseException) -> RowError:
        """Name the user's class and line in errors, and the row, which belongs to one seed."""
        name = f"{type(self.unwrapped).__name__}.{method}"
        known = isinstance(error, SelfpacedError)
        text = str(error) if known else f"{name} raised {describe_exception(error)}"
        return RowError(text, self.row)

    def _observe(self, method: str, observation: Any) -> Array:
        """Return the observation, which must be finite, as a vector with the context."""
        flat = flat_observation(self.own_space, observation)
        if not (
            flat.dtype.kind in "biuf" and flat.shape == self.flat_shape and np.isfinite(flat).all()
        ):
            raise self._wrong(method, f"a finite observation of {self.own_space}", observation)
        if self.appended is None:
            return flat
        with_context: Array = self.appended.observation(flat, self.context)
        return with_context

    def _require_plain(self, method: str, reward: Any, info: Any) -> None:
        """Check the parts of a step that are no arrays."""
        if not (is_real(reward) and isfinite(reward)):
            raise self._wrong(method, "a finite number as reward", reward)
        if not isinstance(info, dict):
            raise self._wrong(method, "a dictionary as info", info)

    def _wrong(self, method: str, expected: str, got: Any) -> SelfpacedError:
        shown = " ".join(f"{got!r:.100}".split())
        name = f"{type(self.unwrapped).__name__}.{method}"
        return SelfpacedError(f"{name} must return {expected}, got {shown}")

    def _flags(self, observation: Any, info: dict[str, Any]) -> dict[str, bool]:
        """Return what the step reports, which can be nothing."""
        flags = {name: bool(info[name]) for name in _FLAGS if name in info}
        if self.settings.success is not None:
            flags["success"] = bool(self.settings.success(observation, info))
        elif "is_success" in info:
            flags.setdefault("success", bool(info["is_success"]))
        return flags


@lru_cache
def _spaces(
    environment: GymnasiumEnvironment,
) -> tuple[gymnasium.Space[object], gymnasium.Space[object], int | None]:
    """Return observation space, action space and time limit, which only a copy can report."""
    one = _make_one(environment)
    hand_over = environment.hand_over
    num = len(hand_over) if isinstance(hand_over, tuple) else 0  # the problem has the components
    try:
        require_hand_over(one, hand_over, len(environment.context_bounds) or num)
        limit = one.spec.max_episode_steps if one.spec else None
        return one.observation_space, one.action_space, limit
    finally:
        _close(one)


def _close(env: gymnasium.Env[Any, Any]) -> None:
    with suppress(Exception, SystemExit):  # an exit would end the command without a run
        env.close()


def _make_one(environment: GymnasiumEnvironment) -> gymnasium.Env[Array, Array]:
    settings = dict(environment.settings)
    if environment.time_limit is not None:
        settings["max_episode_steps"] = environment.time_limit
    try:
        return gymnasium.make(environment.id, **settings)
    except (Exception, SystemExit) as error:  # of Gymnasium or of the environment
        given = "".join(f", {name}={value!r}" for name, value in settings.items())
        raise SelfpacedError(
            f"gymnasium.make({environment.id!r}{given}) failed with {type(error).__name__}: {error}"
        ) from error


def _make_row(environment: GymnasiumEnvironment, row: int) -> gymnasium.Env[Array, Array]:
    return _Row(environment, row)


def _vector_space(environment: GymnasiumEnvironment, space: gymnasium.Space[Any]) -> Box:
    """Return the space of flattened observations with the appended context."""
    flat, appended = flat_space(environment.id, space), environment.appended
    whole = flat if appended is None else appended.space(flat)
    assert isinstance(whole, Box)
    return whole
