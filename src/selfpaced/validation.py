"""Checks of settings: `<name> must be <condition>, got <value>; <remedy>`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from difflib import SequenceMatcher
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from selfpaced.errors import MissingPartError, SelfpacedError, require

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_NUMBERS = int | float | np.integer | np.floating


def require_picture_size(width: int, height: int) -> None:
    """Require a size that is visible and that graphics drivers can draw."""
    require(
        min(width, height) >= 16 and max(width, height) <= 4096,
        f"width and height must be between 16 and 4096 pixels, got {width} and {height}",
    )


def require_positive(settings: DataclassInstance, *names: str, none_allowed: bool = False) -> None:
    """Require that every named field is a finite number above zero."""
    for name in names:
        value = getattr(settings, name)
        if value is None and none_allowed:
            continue
        require(
            bool(isinstance(value, _NUMBERS) and math.isfinite(value) and value > 0),
            f"{name} must be positive, got {value!r}{_default(settings, name)}",
        )


def require_not_negative(settings: DataclassInstance, *names: str) -> None:
    """Require that every named field is a finite number, zero or above."""
    for name in names:
        value = getattr(settings, name)
        require(
            bool(isinstance(value, _NUMBERS) and math.isfinite(value) and value >= 0),
            f"{name} must be non-negative, got {value!r}{_default(settings, name)}",
        )


def require_whole(settings: DataclassInstance, *names: str) -> None:
    """Require that every named field is an integer."""
    for name in names:
        value = getattr(settings, name)
        require(
            isinstance(value, int | np.integer),
            f"{name} must be a whole number, got {value!r}{_default(settings, name)}",
        )


def require_setting_pairs(settings: DataclassInstance, *names: str) -> None:
    """Require that every named field is a tuple of pairs: a name and a hashable value."""
    for name in names:
        value = getattr(settings, name)
        try:
            hash(value)
            dict(value)
        except (TypeError, ValueError):
            raise SelfpacedError(
                f"{name} must be pairs of a name and a hashable value, as "
                f"(('gravity', 9.8), ('size', (2, 3))), got {value!r}"
            ) from None


def require_layers(settings: DataclassInstance, *names: str, at_least: int = 0) -> None:
    """Require that every named field is a tuple of sizes of at least so many hidden layers."""
    for name in names:
        sizes = getattr(settings, name)
        require(
            isinstance(sizes, tuple)
            and len(sizes) >= at_least
            and all(isinstance(units, int | np.integer) and units > 0 for units in sizes),
            f"{name} must be a tuple of positive layer sizes, got {sizes!r}; for example (64, 64)",
        )


def require_choice(what: str, value: str, choices: Iterable[str]) -> None:
    """Require one of the choices; the message suggests the most similar one."""
    known = list(choices)
    if value in known:
        return
    similarity = {name: SequenceMatcher(None, value, name).ratio() for name in known}
    best = max(similarity.values(), default=0.0)
    near = [repr(name) for name in known if similarity[name] == best > 0.4]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise SelfpacedError(f"{what} must be one of {', '.join(known)}, got {value!r}{hint}")


def require_std_bound(
    bound: tuple[float, ...] | None, names: tuple[str, ...] | None = None
) -> None:
    """Require positive lower bounds of standard deviations, one per named component."""
    if bound is None:
        return
    require(
        all(std > 0 for std in bound),
        f"std_lower_bound must be positive in every component, got {bound}; None disables it",
    )
    if names is not None:
        require(
            len(bound) == len(names),
            f"std_lower_bound must be one number for each of {', '.join(names)}, got {bound}; "
            "None disables it",
        )


def require_extra(extra: str, module: str, purpose: str) -> ModuleType:
    """Import an optional dependency that `pip install 'selfpaced[extra]'` installs.

    Args:
        extra: name of the extra in the package's metadata.
        module: what to import.
        purpose: what needs it, the first words of the message.

    Raises:
        MissingPartError: it cannot be imported; the message has the command that installs it.

    Example:
        >>> from selfpaced.validation import require_extra
        >>> require_extra("sb3", "math", "CurriculumCallback").pi
        3.141592653589793
        >>> require_extra("sb3", "absent", "CurriculumCallback")
        Traceback (most recent call last):
        ...
        selfpaced.errors.MissingPartError: CurriculumCallback requires absent, which cannot be \
imported (No module named 'absent'); run pip install 'selfpaced[sb3]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPartError(
            f"{purpose} requires {module}, which cannot be imported ({error}); "
            f"run pip install 'selfpaced[{extra}]'"
        ) from error


def _default(settings: DataclassInstance, name: str) -> str:
    default = next(field.default for field in fields(settings) if field.name == name)
    return f"; the default is {default}" if isinstance(default, int | float) else ""
