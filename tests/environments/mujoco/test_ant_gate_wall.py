"""The wall of the ant's problem: no ant gets through, over or around it, except by the gate."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco.rollout import Rollout

from selfpaced.environments.ant_gate import ANT_GATE_CONTEXTS, AntGate
from selfpaced.environments.mujoco.ant_gate import (
    FRAME_SKIP,
    HIGHEST,
    LOWEST,
    MAX_SPEED,
    WALL,
    wall_positions,
)
from selfpaced.environments.mujoco.library import load_model

MODEL = load_model("ant_gate.xml")
TORSO = MODEL.body("torso").id
WALLS = [MODEL.geom(name).id for name in ("wall_below", "wall_above")]
ANT = [geom for geom in range(MODEL.ngeom) if MODEL.body_rootid[MODEL.geom_bodyid[geom]] == TORSO]
SPEC = sum(
    getattr(mujoco.mjtState, f"mjSTATE_{name}").value
    for name in ("CTRL", "XFRC_APPLIED", "MOCAP_POS")
)
ROOM = 0.2  # from the torso's centre to the wall's end; its radius is 0.25, contacts are soft


def some_contexts(rng, num):
    """Return contexts from all over the box, with its corners."""
    low, high = ANT_GATE_CONTEXTS.lower, ANT_GATE_CONTEXTS.upper
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(2, 4).T
    return np.concatenate([corners, rng.uniform(low, high, (num - 4, 2))])


def push(rng, contexts, y, speed=0.0, force=(0.0, 0.0, 0.0), num_substeps=200, x=(0.0, 1.5)):
    """Return paths [N, T, 3] of ants under random torques, from random places and postures."""
    num = len(contexts)
    start = np.zeros((num, 1 + MODEL.nq + MODEL.nv))
    qpos, qvel = start[:, 1 : 1 + MODEL.nq], start[:, 1 + MODEL.nq :]
    qpos[:, 0], qpos[:, 1] = rng.uniform(*x, num), y
    qpos[:, 2] = rng.uniform(0.5, 0.9, num)
    turn = rng.uniform(0, np.pi, num)
    qpos[:, 3], qpos[:, 6] = np.cos(turn), np.sin(turn)
    qpos[:, 8::2] = rng.uniform(0.6, 1.1, (num, 4))
    qvel[:, 0] = speed
    forces = np.zeros((num, MODEL.nbody, 6))
    forces[:, TORSO, :3] = force
    parts = [np.zeros((num, 8)), forces.reshape(num, -1), wall_positions(contexts)]
    controls = np.repeat(np.concatenate(parts, axis=1)[:, None], num_substeps, axis=1)
    controls[:, :, :8] = rng.uniform(-1, 1, (num, num_substeps, 8))
    with Rollout(nthread=0) as pool:
        states, _ = pool.rollout(MODEL, mujoco.MjData(MODEL), start, controls, control_spec=SPEC)
    return states[:, :, 1:4]


def alive(paths):
    """Return whether the episode goes on at each substep; actions end after FRAME_SKIP substeps."""
    heights = paths[:, FRAME_SKIP - 1 :: FRAME_SKIP, 2]
    fine = np.logical_and.accumulate((heights >= LOWEST) & (heights <= HIGHEST), axis=1)
    begun = np.concatenate([np.ones((len(paths), 1), bool), fine[:, :-1]], axis=1)
    return np.repeat(begun, FRAME_SKIP, axis=1)  # the action that ends it included


def crossings(paths, contexts):
    """Return the distances of torsos from the nearer end of the wall when they cross it."""
    before, after = paths[:, :-1], paths[:, 1:]
    crosses = (before[:, :, 0] < WALL) & (after[:, :, 0] >= WALL) & alive(paths)[:, 1:]
    row, time = np.nonzero(crosses)
    before, after = before[row, time], after[row, time]
    share = (WALL - before[:, 0]) / (after[:, 0] - before[:, 0])
    y = before[:, 1] + share * (after[:, 1] - before[:, 1])
    return 0.5 * contexts[row, 1] - np.abs(y - contexts[row, 0])


def passes(paths):
    return ((paths[:, :, 0] > 3.5) & alive(paths)).any(axis=1)


def contacts(data):
    return {tuple(sorted(pair)) for pair in data.contact.geom.tolist()}


def test_both_halves_of_the_wall_and_the_floor_meet_every_part_of_the_ant():
    assert len(ANT) == 13
    floor = MODEL.geom("floor").id
    data = mujoco.MjData(MODEL)
    for part in ANT:
        mujoco.mj_resetData(MODEL, data)
        mujoco.mj_forward(MODEL, data)
        x, y, z = data.geom_xpos[part]
        data.qpos[2] -= z  # this part into the floor, and both halves of the wall upon it
        data.mocap_pos[:] = [[x, y + 0.1, 0], [x, y - 0.1, 0]]
        mujoco.mj_forward(MODEL, data)
        for solid in (floor, *WALLS):
            assert tuple(sorted((part, solid))) in contacts(data)


def test_the_ant_never_meets_itself_and_the_walls_never_each_other():
    data = mujoco.MjData(MODEL)
    data.qpos[8::2] = 3.0  # shins folded upon the thighs
    data.mocap_pos[:] = [[3, 1, 0], [3, -1, 0]]
    mujoco.mj_forward(MODEL, data)
    for first, second in contacts(data):
        assert (first in ANT) != (second in ANT)


def test_the_gap_is_the_gate():
    data = mujoco.MjData(MODEL)
    for position, width in some_contexts(np.random.default_rng(0), 20):
        data.mocap_pos[:] = wall_positions(np.array([[position, width]])).reshape(2, 3)
        mujoco.mj_forward(MODEL, data)
        centre, size = data.geom_xpos[WALLS], MODEL.geom_size[WALLS]
        assert centre[0, 1] + size[0, 1] == pytest.approx(position - width / 2)
        assert centre[1, 1] - size[1, 1] == pytest.approx(position + width / 2)
        np.testing.assert_allclose(centre[:, 0], WALL)


@pytest.mark.parametrize("speed", [4.0, 10.0, 20.0, MAX_SPEED])
def test_no_ant_is_fast_enough_to_get_through_the_wall(speed):
    rng = np.random.default_rng(int(speed))
    contexts = some_contexts(rng, 120)
    side = np.where(np.arange(120) % 2, 1, -1)
    reach = np.where(np.arange(120) % 3, rng.uniform(-0.3, 1.0, 120), rng.uniform(1, 20, 120))
    y = contexts[:, 0] + side * (0.5 * contexts[:, 1] + reach)
    paths = push(rng, contexts, y, speed)
    assert paths[:, :, 0].max() > 2.5  # the ants did reach the wall
    assert crossings(paths, contexts).min(initial=1.0) > ROOM
    assert not passes(paths)[reach > 1].any()


@pytest.mark.parametrize("force", [10.0, 30.0, 100.0, 400.0])
def test_no_ant_is_pushed_through_the_wall(force):
    rng = np.random.default_rng(int(force))
    contexts = some_contexts(rng, 60)
    side = np.where(np.arange(60) % 2, 1, -1)
    y = contexts[:, 0] + side * (0.5 * contexts[:, 1] + rng.uniform(0.5, 15, 60))
    paths = push(rng, contexts, y, force=(force, 0.0, 0.0), num_substeps=300)
    assert crossings(paths, contexts).min(initial=1.0) > ROOM
    # a sphere of radius 0.25 and a wall that begins at 2.9, with a margin of 0.02
    assert np.median(paths[:, -1, 0]) == pytest.approx(2.63, abs=0.02)


def test_no_ant_climbs_over_the_wall_even_if_it_weighs_almost_nothing():
    rng = np.random.default_rng(0)
    contexts = some_contexts(rng, 40)
    y = contexts[:, 0] + 0.5 * contexts[:, 1] + rng.uniform(3, 10, 40)
    weight = 9.81 * MODEL.body_subtreemass[TORSO]
    paths = push(rng, contexts, y, force=(5.0, 0.0, 0.95 * weight), num_substeps=600, x=(1.5, 1.8))
    assert not len(crossings(paths, contexts))
    assert MODEL.geom_pos[WALLS[0], 2] + MODEL.geom_size[WALLS[0], 2] > HIGHEST + 0.25


def test_no_ant_is_fast_enough_to_walk_around_the_wall():
    furthest_gate = ANT_GATE_CONTEXTS.upper[0] + 0.5 * ANT_GATE_CONTEXTS.upper[1]
    way = 2 * MODEL.geom_size[WALLS, 1].min() - furthest_gate
    duration = AntGate().max_episode_steps * FRAME_SKIP * MODEL.opt.timestep
    assert way / duration > 15.0  # m/s; random torques reach 4


@pytest.mark.parametrize("width", [3.0, 13.0])
def test_every_ant_that_is_pushed_at_the_middle_of_the_gate_passes_it(width):
    rng = np.random.default_rng(0)
    contexts = np.stack([np.linspace(-10, 10, 21), np.full(21, width)], axis=1)
    paths = push(rng, contexts, contexts[:, 0], force=(6.0, 0.0, 0.0), num_substeps=400)
    assert (paths[:, :, 0].max(axis=1) > 3.5).all()
    assert passes(paths).mean() > 0.8  # some stumble
