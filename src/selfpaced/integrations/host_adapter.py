"""Problems that are simulated outside JAX as ordinary Gymnasium environments: vectors of one.

Like `gymnasium_face.py`, the context of an episode comes with `reset(options={"context": ...})`,
or else from the target distribution; `info["context"]` shows which.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike

from selfpaced.errors import require
from selfpaced.integrations.adapter_inputs import check_action, choose_context
from selfpaced.problems import Problem, find_problem
from selfpaced.records import Array
from selfpaced.validation import require_choice

Info = dict[str, Any]


class HostFace(gymnasium.Env[Array, Array]):
    """One problem behind Gymnasium's interface.

    `problem` is the name of one of `PROBLEMS`, or a `Problem` of your own; further settings are
    those of its environment. Actions outside the action space go to the environment as they are;
    NaN is refused.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 (as Gymnasium does)

    def __init__(
        self,
        problem: str | Problem,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
        **settings: Any,
    ) -> None:
        if isinstance(problem, str):
            problem = find_problem(problem)
        for name in settings:
            known = getattr(problem.environment, "__dataclass_fields__", ())
            require_choice(f"setting of {problem.name}", name, known)
        if settings:
            problem = replace(problem, environment=replace(problem.environment, **settings))
        if render_mode is not None:
            require_choice("render mode", render_mode, self.metadata["render_modes"])
        self.problem = problem
        self.render_mode = render_mode
        self._size = width, height
        self._vector: VectorEnv = problem.environment.make(1)
        require(
            render_mode is None or hasattr(self._vector, "render_row"),
            f"nobody has drawn {problem.name!r} yet: leave render_mode away, or give its vector "
            "environment a method render_row(index, width, height)",
        )
        frames = self._vector.metadata.get("render_fps", 30)  # as fast as life
        self.metadata = {**self.metadata, "render_fps": frames}
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space
        self._begun = False
        self._ended = False
        self._context: Array = np.zeros(problem.contexts.size)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, Info]:
        """Begin an episode in the given context, or else in one drawn from the target."""
        super().reset(seed=seed)
        context = choose_context(self.np_random, self.problem.contexts, options)
        seeds = [int(self.np_random.integers(2**31))]
        observation, _ = self._vector.reset(seed=seeds, options={"context": context[None]})  # type: ignore[arg-type]
        self._begun, self._ended, self._context = True, False, context
        return observation[0], {"context": context.copy(), "success": False}

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, Info]:
        """Apply one action; terminated and truncated are never both true."""
        require(self._begun, "step() came before the first reset(): call reset()")
        require(
            not self._ended,
            "step() came after the end of the episode: call reset() to begin another",
        )
        size = len(self.problem.environment.action_low)
        checked = check_action(action, size, np.float64)
        observation, reward, terminated, truncated, info = self._vector.step(checked[None])
        self._ended = bool(terminated[0] or truncated[0])
        shown = {
            name: column[0] if column.ndim > 1 else column[0].item()
            for name, column in info.items()
        }
        shown["context"] = self._context.copy()
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), shown

    def render(self) -> Array | None:
        """Return a picture of the present moment, uint8 [height, width, 3]."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called without a render mode: "
                'make the environment with render_mode="rgb_array"'
            )
            return None
        require(self._begun, "render() came before the first reset(): call reset()")
        vector: Any = self._vector
        return vector.render_row(0, *self._size)

    def close(self) -> None:
        """Give back threads and graphics."""
        self._vector.close()

    def __getstate__(self) -> dict[str, Any]:
        # threads and graphics cannot be copied; the arrays that they work on can
        vector: Any = self._vector
        require(
            hasattr(vector, "get_state"),
            f"{self.problem.name} cannot be copied: its vector environment has no get_state()",
        )
        return {**self.__dict__, "_vector": vector.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vector: Any = state["problem"].environment.make(1)
        vector.set_state(state["_vector"])
        self.__dict__.update(state, _vector=vector)
