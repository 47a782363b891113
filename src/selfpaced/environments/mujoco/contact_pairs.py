"""Contacts of a small robot as a list of pairs, in place of a search among all bodies.

In every step, MuJoCo sorts the bodies along an axis to find those that are near each other. With
few shapes, looking at each pair that can touch takes less time and gives the same contacts.
Pairs take over the softness of contacts from their shapes; all shapes must have the same friction,
dimension, margin and mixing weight.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from selfpaced.records import Array

if TYPE_CHECKING:
    import mujoco


def list_pairs(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Return the model with its contacts as pairs, in the order in which MuJoCo finds them."""
    for index, geom in enumerate(spec.geoms):
        geom.name = geom.name or f"geom{index}"
    model = spec.compile()
    names = [model.geom(index).name for index in range(model.ngeom)]
    for first, second in combinations(range(model.ngeom), 2):
        if _can_touch(model, first, second):
            spec.add_pair(
                geomname1=names[first],
                geomname2=names[second],
                solref=_mixed_reference(*model.geom_solref[[first, second]]),
                solimp=model.geom_solimp[[first, second]].mean(axis=0),
            )
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0  # nothing is left to be searched for
    return spec.compile()


def _mixed_reference(one: Array, other: Array) -> Array:
    """Mix as MuJoCo does: the mean of times and damping ratios, the minimum if one is direct."""
    is_standard = one[0] > 0 and other[0] > 0
    mixed: Array = 0.5 * (one + other) if is_standard else np.minimum(one, other)
    return mixed


def _can_touch(model: mujoco.MjModel, *geoms: int) -> bool:
    """Apply MuJoCo's rules: masks, and no contact within a body or with its parent."""
    first, second = geoms
    kinds, partners = model.geom_contype, model.geom_conaffinity
    if not (kinds[first] & partners[second] or kinds[second] & partners[first]):
        return False
    one, other = (model.body_weldid[model.geom_bodyid[geom]] for geom in geoms)
    if one == other:
        return False
    above_one, above_other = (model.body_weldid[model.body_parentid[body]] for body in (one, other))
    is_family = one == above_other or other == above_one
    return not (is_family and one and other)  # the world is nobody's parent
