"""Ants for the tests, and functions that move them."""

from __future__ import annotations

import numpy as np

from selfpaced.environments.ant_gate import ANT_GATE_CONTEXTS, AntGate

WIDE = [0.0, 13.0]  # a context without a wall in the way


def make(num=1, num_threads=1, **settings):
    return AntGate(**settings).make(num, num_threads)


def contexts_for(num, seed=0):
    low, high = ANT_GATE_CONTEXTS.lower, ANT_GATE_CONTEXTS.upper
    return np.random.default_rng(seed).uniform(low, high, (num, 2))


def change(ants, row=0, **columns):
    """Set x, y and height of an ant, or its velocity along them."""
    state = ants.get_state()
    places = {"x": 1, "y": 2, "height": 3, "vx": 16, "vy": 17, "vz": 18}
    for name, value in columns.items():
        state["simulation"][row, places[name]] = value
    ants.set_state(state)


def walk(ants, num_steps, seed=0):
    """Return every output of some random steps."""
    rng = np.random.default_rng(seed)
    shape = ants.action_space.shape
    steps = [ants.step(rng.standard_normal(shape)) for _ in range(num_steps)]
    *columns, infos = zip(*steps, strict=True)
    return [np.array(column) for column in columns] + [np.array([i["success"] for i in infos])]
