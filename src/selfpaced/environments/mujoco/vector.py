"""Base of the vector environments on MuJoCo: episodes, seeds, contexts, input checks.

A robot adds three methods on arrays of rows: `_start` places bodies, `_observe` returns
observations, `_advance` applies actions. No row resets by itself, see `environments/base.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike

from selfpaced.environments.base import HasContexts, HostEnvironment
from selfpaced.environments.mujoco.inputs import check_mask, check_numbers, check_seeds
from selfpaced.environments.mujoco.renderer import Renderer
from selfpaced.environments.mujoco.simulations import Simulations
from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array

Info = dict[str, Array]


class Robot(HostEnvironment, HasContexts, Protocol):
    """An environment on the host with a fixed box of contexts."""


class Outcome(NamedTuple):
    """Outcome of one action in the rows that were advanced."""

    reward: Array  # [n]
    terminated: Array  # [n]
    success: Array  # [n]
    unstable: Array  # [n]; such a row ends with reward 0 and without success


class MujocoVector(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """N copies of one robot, each in its own episode.

    Fulfils `SavesState` and `RendersRows` of `environments/base.py`.
    """

    metadata = {  # noqa: RUF012 (as Gymnasium does)
        "autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED,
        "render_modes": ["rgb_array"],
    }

    def __init__(
        self,
        environment: Robot,
        simulations: Simulations,
        observation_bound: float = np.inf,
    ) -> None:
        self.environment = environment
        self.contexts = contexts = environment.contexts
        self.simulations = simulations
        self.num_envs = num = len(simulations.states)
        step_time = simulations.frame_skip * simulations.model.opt.timestep
        self.metadata = {**self.metadata, "render_fps": round(1 / step_time)}
        size = environment.observation_size
        low, high = np.array((environment.action_low, environment.action_high), np.float32)
        box = gymnasium.spaces.Box
        self.single_observation_space = box(-observation_bound, observation_bound, (size,))
        self.single_action_space = box(low, high)
        self.observation_space = batch_space(self.single_observation_space, num)
        self.action_space = batch_space(self.single_action_space, num)
        # one row per environment; with the simulations, this is the state
        self._context = np.zeros((num, contexts.size))
        self._observation = np.zeros((num, size), np.float32)
        self._steps = np.zeros(num, np.int64)
        self._begun = np.zeros(num, bool)
        self._ended = np.zeros(num, bool)
        self._success = np.zeros(num, bool)
        self._unstable = np.zeros(num, bool)
        # seed, and number of resets since it was given: the stream of unseeded resets
        entropy = np.random.SeedSequence().generate_state(num, np.uint64)
        self._stream = np.stack([entropy, np.zeros(num, np.uint64)], axis=1)
        self._renderer: Renderer | None = None

    # added by a robot

    def _start(self, rows: Array, rngs: Sequence[np.random.Generator]) -> None:
        """Place the bodies of these rows for the contexts `self._context[rows]`."""
        raise NotImplementedError

    def _observe(self, rows: Array | slice) -> Array:
        """Return observations [n, O] of these rows; a slice is faster than an array."""
        raise NotImplementedError

    def _advance(self, rows: Array | None, actions: Array) -> Outcome:
        """Apply finite actions [n, A] to these rows (None: all)."""
        raise NotImplementedError

    def _saved(self) -> dict[str, Array]:
        """Return further arrays [N, ...] of the state; `set_state` writes into them."""
        return {}

    def _prepare_picture(self, row: int, data: mujoco.MjData) -> None:
        """Set what a picture shows besides the physics state, such as mocap bodies."""

    # Gymnasium's interface

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, ArrayLike] | None = None,
    ) -> tuple[Array, Info]:
        """Start episodes in the rows of `options["reset_mask"]` (default: all).

        An integer seeds row i with seed + i. Without `options["context"]`, contexts are drawn from
        the target distribution. Contexts of rows that are not reset are ignored.
        """
        self._require_open()
        options = options or {}
        unknown = sorted(str(key) for key in options if key not in ("context", "reset_mask"))
        require(
            not unknown,
            f"options of reset() must be 'context' and 'reset_mask', got {', '.join(unknown)}",
        )
        rows = check_mask(options.get("reset_mask"), self.num_envs)
        seeds = check_seeds(seed, self.num_envs)
        contexts = self._check_contexts(options["context"], rows) if "context" in options else None
        rngs = [self._generator(row, seeds[row]) for row in rows.tolist()]
        if contexts is None:
            drawn = [self.contexts.sample_target(rng, 1)[0] for rng in rngs]
            contexts = np.array(drawn).reshape(len(rows), self.contexts.size)
        if len(rows):
            self._context[rows] = contexts
            self._start(rows, rngs)
            self._observation[rows] = self._observe(rows)
        self._steps[rows] = 0
        self._begun[rows] = True
        for flags in (self._ended, self._success, self._unstable):
            flags[rows] = False
        return self._observation.copy(), {"context": self._context.copy()}

    def step(self, actions: ArrayLike) -> tuple[Array, Array, Array, Array, Info]:
        """Apply one action per row; rows whose episode is over do not change."""
        self._require_open()
        checked = self._check_actions(actions)
        reward = np.zeros(self.num_envs, np.float32)
        truncated = np.zeros(self.num_envs, bool)
        if not self._ended.any():
            self._step_rows(None, checked, reward, truncated)
        elif not self._ended.all():
            rows = np.flatnonzero(~self._ended)
            self._step_rows(rows, checked[rows], reward, truncated)
        info = {
            "success": self._success.copy(),
            "context": self._context.copy(),
            "unstable": self._unstable.copy(),
        }
        # a truncated episode counts as terminated when it is stepped again
        return self._observation.copy(), reward, self._ended & ~truncated, truncated, info

    def close_extras(self, **kwargs: object) -> None:
        """End the threads and release the graphics."""
        self.simulations.close()
        self._close_renderer()

    # beyond Gymnasium

    def get_state(self) -> dict[str, Array]:
        """Return everything needed to continue bit-identically, as arrays [N, ...]."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def set_state(self, state: dict[str, Array]) -> None:
        """Continue from what `get_state` returned, in this or another process."""
        arrays = self._arrays()
        given = {name: np.asarray(array).shape for name, array in state.items()}
        expected = {name: array.shape for name, array in arrays.items()}
        require(
            given == expected,
            f"state must have the arrays of {self.num_envs} environments, {expected}, got {given}; "
            "make as many environments as were saved",
        )
        for name, array in arrays.items():
            array[...] = state[name]

    def render_row(self, index: int, width: int = 640, height: int = 480) -> Array:
        """Return a picture of one row, uint8 [height, width, 3]."""
        self._require_open()
        if self._renderer is None or self._renderer.size != (width, height):
            self._close_renderer()
            self._renderer = Renderer(self.simulations.model, width, height)
        self._prepare_picture(index, self._renderer.data)
        self.simulations.load(index, self._renderer.data)
        return self._renderer.picture()

    def _close_renderer(self) -> None:
        renderer, self._renderer = self._renderer, None
        if renderer is not None:
            renderer.close()

    def _require_open(self) -> None:
        require(not self.closed, "this environment is closed; make a new one")

    def _arrays(self) -> dict[str, Array]:
        return {
            "simulation": self.simulations.states,
            "context": self._context,
            "observation": self._observation,
            "steps": self._steps,
            "begun": self._begun,
            "ended": self._ended,
            "success": self._success,
            "unstable": self._unstable,
            "stream": self._stream,
            **self._saved(),
        }

    def _step_rows(
        self, rows: Array | None, actions: Array, reward: Array, truncated: Array
    ) -> None:
        # a slice where possible: selecting rows takes NumPy several times as long
        where = slice(None) if rows is None else rows
        steps = self._steps[where] + 1
        late = steps >= self.environment.max_episode_steps
        outcome = self._advance(rows, actions)
        terminated = outcome.terminated | outcome.unstable
        late &= ~terminated
        self._steps[where] = steps
        self._ended[where] = terminated | late
        self._success[where] = outcome.success
        self._unstable[where] = outcome.unstable
        reward[where] = outcome.reward
        truncated[where] = late
        if np.count_nonzero(outcome.unstable):
            stepped = np.arange(self.num_envs)[where]
            bad = stepped[outcome.unstable]
            reward[bad], self._success[bad] = 0.0, False
            where = stepped[~outcome.unstable]  # unstable rows keep their last observation
        self._observation[where] = self._observe(where)

    def _generator(self, row: int, seed: int | None) -> np.random.Generator:
        if seed is not None:
            self._stream[row] = seed, 0
            return np.random.default_rng(seed)
        self._stream[row, 1] += np.uint64(1)
        return np.random.default_rng(self._stream[row].tolist())

    def _check_contexts(self, given: ArrayLike, rows: Array) -> Array:
        names = f" ({', '.join(self.contexts.names)})"
        array = check_numbers("contexts", given, (self.num_envs, self.contexts.size), names)
        chosen = array[rows]
        inside = self.contexts.contains(chosen)
        if not inside.all():
            self.contexts.check(chosen[~inside][0])  # raises
        return self.contexts.clip(chosen)

    def _check_actions(self, actions: ArrayLike) -> Array:
        require(bool(self._begun.all()), "step() was called before the first reset(); call reset()")
        size = len(self.environment.action_low)
        array = check_numbers("actions", actions, (self.num_envs, size))
        if not np.isfinite(array.sum()):
            row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise SelfpacedError(
                f"actions must be finite, got {array[row].tolist()} in row {row}; "
                "check whether the policy has diverged"
            )
        return array
