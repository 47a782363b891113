"""Many simulations of one MuJoCo model, advanced together in one call."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from selfpaced.records import Array

CHUNKS_PER_THREAD = 5  # more cost time, fewer wait for a core that others use, too
CLOCK_START = 1.0  # seconds; MuJoCo restarts an unstable simulation at zero, and so gives it away


class Advance(NamedTuple):
    """What the substeps of one call led to: views, overwritten by the next call."""

    states: Array  # [n, T, S] after every substep
    sensors: Array  # [n, T, K] of the configuration in which each substep *began*
    unstable: Array  # [n] whether MuJoCo gave up


class Simulations:
    """The states of `num` simulations, and a pool of threads that advances any of them.

    A state is MuJoCo's full physics state: time, positions, velocities, activations. The solver
    starts afresh in every call, so that what follows is a function of the states alone, whatever
    was simulated before, in whatever order, on whatever thread.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        num: int,
        frame_skip: int,
        num_threads: int = 1,
        control_spec: int = mujoco.mjtState.mjSTATE_CTRL.value,
    ) -> None:
        self.model = model
        self.frame_skip = frame_skip
        full = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
        state_size = mujoco.mj_stateSize(model, full)
        self.qpos = slice(1, 1 + model.nq)  # columns of a state
        self.qvel = slice(self.qpos.stop, self.qpos.stop + model.nv)
        self.states = np.zeros((num, state_size))
        self._control_spec = control_spec
        self._after = np.zeros((num, frame_skip, state_size))
        self._sensors = np.zeros((num, frame_skip, model.nsensordata))
        self._models = [model] * num
        # a pool of one would only hand the work from one thread to another
        num_pool = num_threads if num_threads > 1 else 0
        self._data = [mujoco.MjData(model) for _ in range(max(num_pool, 1))]
        self._pool: Rollout | None = Rollout(nthread=num_pool)
        self._start = np.zeros(state_size)
        mujoco.mj_getState(model, self._data[0], self._start, full)
        self._start[0] = CLOCK_START
        self.states[:] = self._start

    def place(self, rows: Array, qpos: Array, qvel: Array) -> None:
        """Begin anew in these rows, with positions [n, nq] and velocities [n, nv]."""
        self.states[rows] = self._start
        self.states[rows, self.qpos] = qpos
        self.states[rows, self.qvel] = qvel

    def advance(self, rows: Array | None, controls: Array) -> Advance:
        """Advance these rows (None: all) by `frame_skip` substeps.

        Controls are [n, frame_skip or 1, U]. A row that becomes unstable keeps its state, and what
        is returned of it means nothing.
        """
        before = self.states if rows is None else self.states[rows]
        num = len(before)
        if controls.shape[1] == 1:
            controls = controls.repeat(self.frame_skip, axis=1)
        # sums are quick to look at, and tell whether every single number has to be
        tame = np.vdot(controls, controls) <= mujoco.mjMAXVAL**2
        after, sensors = self._after[:num], self._sensors[:num]
        self._rollout(before, controls, after, sensors)
        end = after[:, -1]
        unstable = end[:, 0] < CLOCK_START
        if not (tame and math.isfinite(end.sum())):
            unstable |= ~np.isfinite(end).all(axis=1)
            # MuJoCo would replace such controls by zeros, and only warn
            unstable |= (np.abs(controls) > mujoco.mjMAXVAL).any(axis=(1, 2))
        if np.count_nonzero(unstable):
            end = np.where(unstable[:, None], before, end)
        self.states[slice(None) if rows is None else rows] = end
        return Advance(after, sensors, unstable)

    def load(self, row: int, data: mujoco.MjData) -> None:
        """Put one simulation into `data`, with everything that follows from its state."""
        mujoco.mj_setState(
            self.model, data, self.states[row], mujoco.mjtState.mjSTATE_FULLPHYSICS.value
        )
        mujoco.mj_forward(self.model, data)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _rollout(self, before: Array, controls: Array, after: Array, sensors: Array) -> None:
        if self._pool is None:
            raise RuntimeError("these simulations have been closed")
        arguments: dict[str, Any] = {
            "control_spec": self._control_spec,
            "nstep": self.frame_skip,
            "state": after,
            "sensordata": sensors,
            "skip_checks": True,
            "chunk_size": -(-len(before) // (CHUNKS_PER_THREAD * len(self._data))),
        }
        models = self._models[: len(before)]
        self._pool.rollout(models, self._data, before, controls, **arguments)
