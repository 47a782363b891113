"""Our problems as Gymnasium environments: the same compiled dynamics, one step per call.

The context of an episode comes with `reset(options={"context": ...})`. Beware that vector
environments and several training libraries drop the options when they reset by themselves; then
the context is a fresh draw from the target distribution, and `info["context"]` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray

from selfpaced.environments.base import Environment, State
from selfpaced.environments.point_mass import PointMass
from selfpaced.environments.point_mass_picture import draw_point_mass
from selfpaced.errors import SelfpacedError, require
from selfpaced.integrations.adapter_inputs import check_action, choose_context
from selfpaced.problems import Problem, find_problem
from selfpaced.validation import require_choice

Floats = NDArray[np.float32]
Info = dict[str, Any]
Draw = Callable[[Sequence[Any], bool], NDArray[np.uint8]]

# How to draw an environment: from the states of the episode so far, and whether it was terminated.
PICTURES: dict[type, Draw] = {PointMass: draw_point_mass}


class GymnasiumFace(gymnasium.Env[Floats, Floats]):
    """One problem behind Gymnasium's interface.

    `problem` is the name of one of `PROBLEMS`, or a `Problem` of your own. Actions outside the
    action space go to the environment as they are (the point mass clips them); NaN is refused.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 (as Gymnasium does)

    def __init__(self, problem: str | Problem, render_mode: str | None = None) -> None:
        if isinstance(problem, str):
            problem = find_problem(problem)
        spec = problem.spec
        self.problem = problem
        self.render_mode = render_mode
        self.observation_space = Box(-np.inf, np.inf, (spec.observation_size,), np.float32)
        self.action_space = Box(
            np.array(spec.action_low, np.float32), np.array(spec.action_high, np.float32)
        )
        self._draw = _find_picture(problem, render_mode)
        self._context = np.zeros(problem.contexts.size)
        self._state: State | None = None  # None until the first reset
        self._terminated = False
        self._truncated = False
        self._path: list[State] = []  # for the picture; stays empty where nobody looks

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, Info]:
        """Begin an episode in the given context, or else in one drawn from the target."""
        super().reset(seed=seed)
        self._context = choose_context(self.np_random, self.problem.contexts, options)
        key = self.np_random.integers(2**32, dtype=np.uint32)
        observation, self._state = self._compiled.reset(key, self._context.astype(np.float32))
        self._terminated = self._truncated = False
        self._path = []
        self._remember_state()
        return np.array(observation, np.float32), self._info(success=False)

    def step(self, action: ArrayLike) -> tuple[Floats, float, bool, bool, Info]:
        """Apply one action; terminated and truncated are never both true."""
        require(self._state is not None, "step() came before the first reset(): call reset()")
        require(
            not (self._terminated or self._truncated),
            "step() came after the end of the episode: call reset() to begin another",
        )
        size = len(self.problem.environment.action_low)
        checked = check_action(action, size, np.float32)  # before any noise is drawn
        noise = self.np_random.standard_normal(self.problem.environment.noise_size, np.float32)
        inputs = np.concatenate([noise, checked])
        self._state, packed = self._compiled.step(self._state, inputs)
        outputs = np.array(packed, np.float32)
        observation, (reward, terminated, truncated, success) = outputs[:-4], outputs[-4:]
        self._terminated, self._truncated = bool(terminated), bool(truncated)
        self._remember_state()
        info = self._info(success=bool(success))
        return observation, float(reward), self._terminated, self._truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """Return a picture of the episode so far, uint8 [height, width, 3]."""
        if self._draw is None:
            gymnasium.logger.warn(
                "render() was called without a render mode: "
                'make the environment with render_mode="rgb_array"'
            )
            return None
        require(self._state is not None, "render() came before the first reset(): call reset()")
        return self._draw(self._path, self._terminated)

    @property
    def _compiled(self) -> _Compiled:
        # looked up, not kept: that leaves the face free to be copied and pickled
        return _compile(cast("Hashable", self.problem.environment))

    def _remember_state(self) -> None:
        if self._draw is not None:
            self._path.append(self._state)

    def _info(self, success: bool) -> Info:
        # a new array every time: callers keep infos
        return {"context": self._context.copy(), "success": success}


class _Compiled(NamedTuple):
    """The two functions of an environment, compiled for the CPU.

    The step takes noise and action as one array and returns observation, reward, terminated,
    truncated and success as one array: every further array that crosses between NumPy and JAX
    costs more than the physics of a point mass.
    """

    reset: Callable[[np.uint32, Floats], tuple[jax.Array, State]]
    step: Callable[[State, Floats], tuple[State, jax.Array]]


@lru_cache
def _compile(environment: Environment) -> _Compiled:
    """Shared by all faces of an environment, so that it compiles once per process."""

    def reset(seed: jax.Array, context: jax.Array) -> tuple[jax.Array, State]:
        return environment.reset(jax.random.key(seed), context)

    def step(state: State, inputs: jax.Array) -> tuple[State, jax.Array]:
        noise, action = jnp.split(inputs, [environment.noise_size])
        after = environment.step(noise, state, action)
        flags = [after.reward, after.terminated, after.truncated, after.success]
        scalars = jnp.stack([flag.astype(after.observation.dtype) for flag in flags])
        return after.state, jnp.concatenate([after.observation, scalars])

    cpu = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    return _Compiled(
        jax.jit(reset, in_shardings=cpu, out_shardings=cpu),
        jax.jit(step, in_shardings=cpu, out_shardings=cpu),
    )


def _find_picture(problem: Problem, render_mode: str | None) -> Draw | None:
    if render_mode is None:
        return None
    require_choice("render mode", render_mode, GymnasiumFace.metadata["render_modes"])
    draw = PICTURES.get(type(problem.environment))
    if draw is None:
        raise SelfpacedError(
            f"nobody has drawn {problem.name!r} yet: leave render_mode away, "
            "or add a picture to selfpaced.integrations.jax_adapter.PICTURES"
        )
    return draw
