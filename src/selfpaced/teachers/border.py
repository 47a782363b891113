"""Checks of what a teacher returns: contexts and updates enter the library here."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Metrics
from selfpaced.teachers.base import AnyTeacher, MayLeaveBox

T = TypeVar("T")


def may_leave_box(teacher: AnyTeacher) -> bool:
    """Return whether a teacher may sample contexts outside the box."""
    return isinstance(teacher, MayLeaveBox) and not teacher.stays_in_box


def checked_sample(teacher: AnyTeacher, contexts: ContextSpace, drawn: Array, num: int) -> Array:
    """Return what `teacher.sample` has returned.

    Raises:
        SelfpacedError: it is not an array [num, C], or a context is not finite or outside the box.
    """
    name, shape = type(teacher).__name__, (num, contexts.size)
    is_array = isinstance(drawn, np.ndarray) and drawn.shape == shape
    require(
        is_array,
        f"{name}.sample must return an array of shape {shape}, got "
        f"{drawn.shape if isinstance(drawn, np.ndarray) else type(drawn).__name__}",
    )
    inside = contexts.contains(drawn)
    if inside.all():  # NaN is not inside
        return drawn
    bad = np.flatnonzero(~np.isfinite(drawn).all(axis=1))
    require(
        not len(bad),
        f"{name}.sample must return finite contexts, got {drawn[bad[:1]].tolist()}",
    )
    if may_leave_box(teacher):
        return drawn
    outside = np.flatnonzero(~inside)
    require(
        not len(outside),
        f"{name}.sample must return contexts in the box, got {drawn[outside[:1]].tolist()}; "
        "use contexts.clip",
    )
    return drawn


def checked_update(teacher: AnyTeacher, updated: tuple[T, Metrics]) -> tuple[T, Metrics]:
    """Return what `teacher.update` has returned.

    Raises:
        SelfpacedError: it is not a pair of a state and a dictionary of metrics.
    """
    require(
        isinstance(updated, tuple) and len(updated) == 2 and isinstance(updated[1], dict),
        f"{type(teacher).__name__}.update must return its state and a dictionary of "
        f"metrics, got {type(updated).__name__}",
    )
    return updated
