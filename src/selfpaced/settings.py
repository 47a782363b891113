"""How settings check themselves: say what was wanted, what came, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

import numpy as np

_NUMBERS = int | float | np.integer | np.floating


class SelfpacedError(ValueError):
    """Something that the user can put right; the message says how."""


class MissingPartError(SelfpacedError):
    """Something optional is not installed; what does not need it goes on."""


def require(condition: bool, message: str) -> None:
    """Raise a SelfpacedError with this message unless the condition holds."""
    if not condition:
        raise SelfpacedError(message)


def require_picture_size(width: int, height: int) -> None:
    """Neither nothing to see, nor more than graphics drivers can draw."""
    require(
        min(width, height) >= 16 and max(width, height) <= 4096,
        f"width and height must be between 16 and 4096 pixels, got {width} and {height}",
    )


def require_positive(settings: Any, *names: str, none_allowed: bool = False) -> None:
    """Every named field must be a finite number above zero."""
    for name in names:
        value = getattr(settings, name)
        if value is None and none_allowed:
            continue
        require(
            bool(isinstance(value, _NUMBERS) and math.isfinite(value) and value > 0),
            f"{name} must be positive, got {value!r}{_default(settings, name)}",
        )


def require_not_negative(settings: Any, *names: str) -> None:
    """Every named field must be a finite number, zero or above."""
    for name in names:
        value = getattr(settings, name)
        require(
            bool(isinstance(value, _NUMBERS) and math.isfinite(value) and value >= 0),
            f"{name} must not be negative, got {value!r}{_default(settings, name)}",
        )


def require_whole(settings: Any, *names: str) -> None:
    """Every named field must be an integer."""
    for name in names:
        value = getattr(settings, name)
        require(
            isinstance(value, int | np.integer), f"{name} must be a whole number, got {value!r}"
        )


def require_layers(settings: Any, *names: str, at_least: int = 0) -> None:
    """Every named field must be a tuple with the units of so many hidden layers or more."""
    for name in names:
        sizes = getattr(settings, name)
        require(
            isinstance(sizes, tuple)
            and len(sizes) >= at_least
            and all(isinstance(units, int | np.integer) and units > 0 for units in sizes),
            f"{name} wants positive layer sizes, as (64, 64), got {sizes!r}",
        )


def require_choice(what: str, value: str, choices: Iterable[str]) -> None:
    """The value must be one of the choices; a near miss is pointed out."""
    known = list(choices)
    if value in known:
        return
    likeness = {name: SequenceMatcher(None, value, name).ratio() for name in known}
    best = max(likeness.values(), default=0.0)
    near = [repr(name) for name in known if likeness[name] == best > 0.4]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise SelfpacedError(f"unknown {what} {value!r}: {hint}known are {', '.join(known)}")


def _default(settings: Any, name: str) -> str:
    default = type(settings).__dataclass_fields__[name].default
    return f" (the default is {default})" if isinstance(default, int | float) else ""
