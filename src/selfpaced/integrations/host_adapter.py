"""A problem that is simulated outside JAX as a Gymnasium environment: a vector of one row.

The context of an episode comes from `reset(options={"context": ...})`, by default from the target
distribution. `info["context"]` shows it, see `jax_adapter.py`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, final

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike

from selfpaced.environments.base import RendersRows, SavesState
from selfpaced.errors import SelfpacedError, require
from selfpaced.integrations.adapter_inputs import check_action, choose_context
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.registry import find_problem
from selfpaced.validation import require_choice

Info = dict[str, object]


@final
class HostAdapter(gymnasium.Env[Array, Array]):
    """A problem on the host behind Gymnasium's interface.

    Continuous actions outside the action space reach the environment unclipped.

    Args:
        problem: name of one of `selfpaced.PROBLEMS`, or a `selfpaced.Problem`.
        render_mode: None or "rgb_array".
        width: width of pictures in pixels.
        height: height of pictures in pixels.
        **settings: changed settings of the problem's environment.

    Raises:
        SelfpacedError: an argument is invalid, or the environment cannot render.

    Examples:
        >>> from selfpaced import PROBLEMS, Problem
        >>> from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
        >>> from selfpaced.integrations.host_adapter import HostAdapter
        >>> environment = GymnasiumEnvironment("selfpaced/PointMass2D-v0", time_limit=100)
        >>> contexts = PROBLEMS["point-mass-2d"].contexts
        >>> adapter = HostAdapter(Problem("mine", "my gate", environment, contexts, 0.95))
        >>> observation, info = adapter.reset(seed=0, options={"context": [1.0, 2.0]})
        >>> info["context"].tolist()
        [1.0, 2.0]
        >>> adapter.close()
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 (as Gymnasium does)

    def __init__(
        self,
        problem: str | Problem,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
        **settings: object,
    ) -> None:
        self.problem = _with_settings(problem, settings)
        if render_mode is not None:
            require_choice("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self._size = width, height
        self.vector: VectorEnv[Array, Array, Array] = self.problem.host_environment.make(1)
        if render_mode is not None:
            self._row_renderer()
        frames = self.vector.metadata.get("render_fps", 30)  # in real time
        self.metadata = {**self.metadata, "render_fps": frames}
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self._started = False
        self._ended = False
        self._context: Array = np.zeros(self.problem.contexts.size)

    def reset(
        self, *, seed: int | None = None, options: dict[str, ArrayLike] | None = None
    ) -> tuple[Array, Info]:
        """Start an episode in `options["context"]`; by default the context is drawn."""
        super().reset(seed=seed)
        context = choose_context(self.np_random, self.problem.contexts, options)
        seeds = [int(self.np_random.integers(2**31))]
        observation, _ = self.vector.reset(
            seed=seeds,  # type: ignore[arg-type]  # one per row, which Gymnasium's types lack
            options={"context": context[None]},
        )
        self._started, self._ended, self._context = True, False, context
        return observation[0], {"context": context.copy(), "success": False}

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, Info]:
        """Apply one action; terminated and truncated are never both true."""
        require(self._started, "step() was called before the first reset(); call reset()")
        require(not self._ended, "step() was called after the end of the episode; call reset()")
        spec = self.problem.spec
        checked = check_action(action, spec, np.float64)
        if spec.has_discrete_actions:
            checked = checked.astype(np.int64)
        observation, reward, terminated, truncated, info = self.vector.step(checked[None])
        self._ended = bool(terminated[0] or truncated[0])
        shown: Info = {
            name: column[0] if column.ndim > 1 else column[0].item()
            for name, column in info.items()
        }
        shown["context"] = self._context.copy()
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), shown

    def render(self) -> Array | None:
        """Return a picture of the current state, uint8 [height, width, 3]."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called without a render mode; "
                'make the environment with render_mode="rgb_array"'
            )
            return None
        require(self._started, "render() was called before the first reset(); call reset()")
        return self._row_renderer().render_row(0, *self._size)

    def close(self) -> None:
        """End threads and processes, and release the graphics."""
        self.vector.close()

    def __getstate__(self) -> dict[str, object]:
        # threads and graphics cannot be copied, but the arrays that they work on can
        return {**self.__dict__, "vector": _saving(self.problem, self.vector).get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.vector = self.problem.host_environment.make(1)
        _saving(self.problem, self.vector).set_state(state["vector"])

    def _row_renderer(self) -> RendersRows:
        if isinstance(self.vector, RendersRows):
            return self.vector
        raise SelfpacedError(
            f"rendering is not implemented for {self.problem.name!r}; omit render_mode"
        )


def _with_settings(problem: str | Problem, settings: dict[str, object]) -> Problem:
    problem = find_problem(problem) if isinstance(problem, str) else problem
    require(
        problem.is_hosted,
        f"problem must be simulated on the host, got {problem.name!r}; use JaxAdapter",
    )
    if not settings:
        return problem
    environment: Any = problem.environment
    is_dataclass = dataclasses.is_dataclass(environment)
    known = [field.name for field in dataclasses.fields(environment)] if is_dataclass else []
    for name in settings:
        require_choice(f"setting of {problem.name}", name, known)
    return dataclasses.replace(problem, environment=dataclasses.replace(environment, **settings))


def _saving(problem: Problem, vector: VectorEnv[Array, Array, Array]) -> SavesState:
    if isinstance(vector, SavesState):
        return vector
    raise SelfpacedError(
        f"{problem.name!r} cannot be copied: its vector environment has no get_state and set_state"
    )
