"""Checks of what a teacher returns: contexts and updates enter the library here."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Metrics
from selfpaced.teachers.base import AnyTeacher, MayLeaveBox
from selfpaced.validation import is_real

T = TypeVar("T")

MAX_DEPTH = 32  # of a state; a list that holds itself has no end


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
    require(
        drawn.dtype.kind in "biuf",
        f"{name}.sample must return real numbers, got an array of {drawn.dtype}",
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


def checked_init(teacher: AnyTeacher, state: T) -> T:
    """Return what `teacher.init` has returned, which must survive a checkpoint.

    Raises:
        SelfpacedError: a leaf is no array of numbers, or the state is nested too deeply.
    """
    name = type(teacher).__name__
    for place, leaf in _leaves(f"{name}.init", state).items():
        require(
            leaf.dtype.kind in "biuf",
            f"{name}.init must return a state of arrays of real numbers, got {leaf.dtype} in "
            f"state{place}; convert it with numpy.asarray",
        )
    return state


def checked_update(teacher: AnyTeacher, updated: tuple[T, Metrics]) -> tuple[T, Metrics]:
    """Return what `teacher.update` has returned.

    Raises:
        SelfpacedError: it is not a pair of a state and a dictionary of metrics, which are numbers.
    """
    require(
        isinstance(updated, tuple) and len(updated) == 2 and isinstance(updated[1], dict),
        f"{type(teacher).__name__}.update must return its state and a dictionary of "
        f"metrics, got {type(updated).__name__}",
    )
    for metric, value in updated[1].items():
        require(
            isinstance(metric, str) and is_real(value),
            f"{type(teacher).__name__}.update must return metrics that are numbers, got "
            f"{metric!r}: {_on_one_line(value)}",
        )
    return updated


def _on_one_line(value: object) -> str:
    return " ".join(f"{value!r:.100}".split())


def checked_state(teacher: AnyTeacher, before: T, after: T) -> T:
    """Return the state after an update, which must be restored from files like the one before.

    Raises:
        SelfpacedError: its structure is another one, a leaf is no array of numbers, or an array has
            another type. Shapes may change: a memory grows.
    """
    name = type(teacher).__name__
    method = f"{name}.update"
    old, new = _leaves(method, before), _leaves(method, after)
    require(
        old.keys() == new.keys() and type(before) is type(after),
        f"{method} must return a state with the structure of the one from init, "
        f"{_shown(before, old)}, got {_shown(after, new)}",
    )
    for place, leaf in new.items():
        require(
            leaf.dtype == old[place].dtype and leaf.dtype.kind in "biuf",
            f"{method} must keep the type of its state{place}, {old[place].dtype}, got "
            f"{leaf.dtype}; convert it with numpy.asarray",
        )
    return after


def _leaves(method: str, state: object, place: str = "", depth: int = 0) -> dict[str, Array]:
    """The arrays of a state by their place in it."""
    require(
        depth < MAX_DEPTH,
        f"{method} must return a state with fewer than {MAX_DEPTH} levels, got more; does a list "
        "hold itself?",
    )
    if state is None:
        return {}
    if isinstance(state, tuple | list):
        names = getattr(state, "_fields", range(len(state)))
        parts = {f"{place}.{name}": one for name, one in zip(names, state, strict=True)}
    elif isinstance(state, dict):
        parts = {f"{place}.{name}": one for name, one in state.items()}
    else:
        return {place: np.asarray(state)}
    return {
        name: leaf
        for key, one in parts.items()
        for name, leaf in _leaves(method, one, key, depth + 1).items()
    }


def _shown(state: object, leaves: dict[str, Array]) -> str:
    text = ", ".join(f"{place[1:] or 'array'}: {leaf.dtype}" for place, leaf in leaves.items())
    return f"{type(state).__name__}({text})"
