"""A problem in JAX as a Gymnasium environment: the same compiled dynamics, one step per call.

The context of an episode comes from `reset(options={"context": ...})`. Vector environments and
several training libraries drop the options when they reset by themselves. The context is then drawn
from the target distribution; `info["context"]` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import NamedTuple, cast, final

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from selfpaced.environments.base import DrawsStates
from selfpaced.environments.gymnasium_actions import discrete_space
from selfpaced.errors import SelfpacedError, require
from selfpaced.integrations.adapter_inputs import check_action, choose_context
from selfpaced.problems import AnyStateEnvironment, Problem
from selfpaced.records import Array
from selfpaced.registry import find_problem
from selfpaced.validation import require_choice

Info = dict[str, object]


@final
class JaxAdapter(gymnasium.Env[Array, Array]):
    """A problem in JAX behind Gymnasium's interface.

    Continuous actions outside the action space reach the environment unclipped (the point mass
    clips them).

    Args:
        problem: name of one of `selfpaced.PROBLEMS`, or a `selfpaced.Problem`.
        render_mode: None or "rgb_array".

    Raises:
        SelfpacedError: an argument is invalid, or the environment cannot render.

    Examples:
        >>> from selfpaced.integrations.jax_adapter import JaxAdapter
        >>> adapter = JaxAdapter("point-mass-3d")
        >>> observation, info = adapter.reset(seed=0, options={"context": [2.5, 0.5, 0.0]})
        >>> observation.tolist()
        [0.0, 0.0, 3.0, 0.0, 2.5, 0.5, 0.0]
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 (as Gymnasium does)

    def __init__(self, problem: str | Problem, render_mode: str | None = None) -> None:
        problem = find_problem(problem) if isinstance(problem, str) else problem
        require(
            not problem.is_hosted,
            f"problem must be simulated in JAX, got {problem.name!r}; use HostAdapter",
        )
        if render_mode is not None:
            require_choice("render_mode", render_mode, self.metadata["render_modes"])
        spec = problem.spec
        self.problem = problem
        self.render_mode = render_mode
        self.observation_space = Box(-np.inf, np.inf, (spec.observation_size,), np.float32)
        self.action_space = (
            discrete_space(spec)
            if spec.has_discrete_actions
            else Box(np.array(spec.action_low, np.float32), np.array(spec.action_high, np.float32))
        )
        self._drawing = None if render_mode is None else _drawing(problem)
        if self._drawing is not None:
            frames = max(1, round(self._drawing.steps_per_second))
            self.metadata = {**self.metadata, "render_fps": frames}
        self._context: Array = np.zeros(problem.contexts.size)
        self._state: object = None  # None until the first reset
        self._terminated = False
        self._truncated = False
        self._path: list[object] = []  # states of the episode; empty without a render mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, ArrayLike] | None = None
    ) -> tuple[Array, Info]:
        """Start an episode in `options["context"]`; by default the context is drawn."""
        super().reset(seed=seed)
        self._context = choose_context(self.np_random, self.problem.contexts, options)
        key = self.np_random.integers(2**32, dtype=np.uint32)
        observation, self._state = self._compiled.reset(key, self._context.astype(np.float32))
        self._terminated = self._truncated = False
        self._path = []
        self._remember_state()
        return np.array(observation, np.float32), self._info(success=False)

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, Info]:
        """Apply one action; terminated and truncated are never both true."""
        require(self._state is not None, "step() was called before the first reset(); call reset()")
        require(
            not (self._terminated or self._truncated),
            "step() was called after the end of the episode; call reset()",
        )
        environment = self.problem.jax_environment
        checked = check_action(action, self.problem.spec, np.float32)  # before the noise
        noise = self.np_random.standard_normal(environment.noise_size, np.float32)
        inputs = np.concatenate([noise, checked])
        self._state, packed = self._compiled.step(self._state, inputs)
        outputs = np.array(packed, np.float32)
        observation, (reward, terminated, truncated, success) = outputs[:-4], outputs[-4:]
        self._terminated, self._truncated = bool(terminated), bool(truncated)
        self._remember_state()
        info = self._info(success=bool(success))
        return observation, float(reward), self._terminated, self._truncated, info

    def render(self) -> Array | None:
        """Return a picture of the episode so far, uint8 [height, width, 3]."""
        if self._drawing is None:
            gymnasium.logger.warn(
                "render() was called without a render mode; "
                'make the environment with render_mode="rgb_array"'
            )
            return None
        require(
            self._state is not None, "render() was called before the first reset(); call reset()"
        )
        return self._drawing.draw(self._path, self._terminated)

    @property
    def _compiled(self) -> _Compiled:
        # looked up, not kept, so that the adapter can be copied and pickled
        environment, spec = self.problem.jax_environment, self.problem.spec
        return _compile(cast("Hashable", environment), spec.has_discrete_actions)

    def _remember_state(self) -> None:
        if self._drawing is not None:
            self._path.append(self._state)

    def _info(self, success: bool) -> Info:
        # a new array every time: callers keep infos
        return {"context": self._context.copy(), "success": success}


class _Compiled(NamedTuple):
    """The two functions of an environment, compiled for the CPU.

    The step takes noise and action as one array, and returns observation, reward, terminated,
    truncated and success as one array: each further array that crosses between NumPy and JAX costs
    more than the physics of a point mass.
    """

    reset: Callable[[np.uint32, Array], tuple[jax.Array, object]]
    step: Callable[[object, Array], tuple[object, jax.Array]]


@lru_cache
def _compile(environment: AnyStateEnvironment, is_discrete: bool) -> _Compiled:
    """Compile once per process, for all adapters of an environment."""

    def reset(seed: jax.Array, context: jax.Array) -> tuple[jax.Array, object]:
        return environment.reset(jax.random.key(seed), context)

    def step(state: object, inputs: jax.Array) -> tuple[object, jax.Array]:
        noise, action = jnp.split(inputs, [environment.noise_size])
        action = action.astype(jnp.int32) if is_discrete else action
        after = environment.step(noise, state, action)
        flags = [after.reward, after.terminated, after.truncated, after.success]
        scalars = jnp.stack([flag.astype(after.observation.dtype) for flag in flags])
        return after.state, jnp.concatenate([after.observation, scalars])

    cpu = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    return _Compiled(
        jax.jit(reset, in_shardings=cpu, out_shardings=cpu),
        jax.jit(step, in_shardings=cpu, out_shardings=cpu),
    )


def _drawing(problem: Problem) -> DrawsStates[object]:
    environment = problem.jax_environment
    if isinstance(environment, DrawsStates):
        return environment
    raise SelfpacedError(f"rendering is not implemented for {problem.name!r}; omit render_mode")
