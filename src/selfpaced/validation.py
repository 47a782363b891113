"""How settings check themselves: say what was wanted, what came, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from selfpaced.errors import SelfpacedError, require

_NUMBERS = int | float | np.integer | np.floating


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


def require_std_bound(
    bound: tuple[float, ...] | None, names: tuple[str, ...] | None = None
) -> None:
    """Lower bounds of standard deviations: positive, and one for each of the named components."""
    if bound is None:
        return
    require(
        all(std > 0 for std in bound),
        f"std_lower_bound must be positive numbers, one per context component, got {bound}",
    )
    if names is not None:
        require(
            len(bound) == len(names),
            f"std_lower_bound must have one number for each of {', '.join(names)}, got {bound}",
        )


def _default(settings: Any, name: str) -> str:
    default = type(settings).__dataclass_fields__[name].default
    return f" (the default is {default})" if isinstance(default, int | float) else ""
