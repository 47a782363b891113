"""Simulations of one MuJoCo model, advanced together in one call."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from selfpaced.records import Array

CHUNKS_PER_THREAD = 5  # more cost time, fewer wait when other processes use a core
CLOCK_START = 1.0  # seconds; MuJoCo restarts an unstable simulation at 0, which reveals it


class Advance(NamedTuple):
    """Outcome of the substeps of one call: views, overwritten by the next call."""

    states: Array  # [n, T, S] after every substep
    sensors: Array  # [n, T, K] of the configuration in which each substep *started*
    unstable: Array  # [n] whether the simulation broke down


class Simulations:
    """The states of `num` simulations, and a pool of threads that advances any of them.

    A state is MuJoCo's full physics state: time, positions, velocities, activations. The solver
    starts without memory in every call. The outcome is therefore a function of the states alone,
    independent of previous calls, of their order and of threads.
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
        # a pool of one thread only adds the cost of passing the work on
        num_pool = num_threads if num_threads > 1 else 0
        self._data = [mujoco.MjData(model) for _ in range(max(num_pool, 1))]
        self._pool: Rollout | None = Rollout(nthread=num_pool)
        self._start = np.zeros(state_size)
        mujoco.mj_getState(model, self._data[0], self._start, full)
        self._start[0] = CLOCK_START
        self.states[:] = self._start

    def place(self, rows: Array, qpos: Array, qvel: Array) -> None:
        """Restart these rows with positions [n, nq] and velocities [n, nv]."""
        self.states[rows] = self._start
        self.states[rows, self.qpos] = qpos
        self.states[rows, self.qvel] = qvel

    def advance(self, rows: Array | None, controls: Array) -> Advance:
        """Advance these rows (None: all) by `frame_skip` substeps.

        Controls are [n, frame_skip or 1, U]. A row that becomes unstable keeps its state; the
        returned states and sensors of that row are meaningless.
        """
        before = self.states if rows is None else self.states[rows]
        num = len(before)
        if controls.shape[1] == 1:
            controls = controls.repeat(self.frame_skip, axis=1)
        # sums are fast to test, and decide whether every number must be tested
        tame = np.vdot(controls, controls) <= mujoco.mjMAXVAL**2
        after, sensors = self._after[:num], self._sensors[:num]
        self._rollout(before, controls, after, sensors)
        end = after[:, -1]
        unstable = end[:, 0] < CLOCK_START
        if not (tame and math.isfinite(end.sum())):
            unstable |= ~np.isfinite(end).all(axis=1)
            # MuJoCo replaces such controls by zeros and only warns
            unstable |= (np.abs(controls) > mujoco.mjMAXVAL).any(axis=(1, 2))
        if np.count_nonzero(unstable):
            end = np.where(unstable[:, None], before, end)
        self.states[slice(None) if rows is None else rows] = end
        return Advance(after, sensors, unstable)

    def load(self, row: int, data: mujoco.MjData) -> None:
        """Write one simulation into `data`, with all quantities that follow from its state."""
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
            raise RuntimeError("the simulations are closed; make new ones")
        self._pool.rollout(
            self._models[: len(before)],
            self._data,
            before,
            controls,
            control_spec=self._control_spec,
            nstep=self.frame_skip,
            state=after,
            sensordata=sensors,
            skip_checks=True,
            chunk_size=-(-len(before) // (CHUNKS_PER_THREAD * len(self._data))),
        )
