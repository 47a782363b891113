"""How settings check themselves: say what was wanted, what came, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class SelfpacedError(ValueError):
    """Something that the user can put right; the message says how."""


def require(condition: bool, message: str) -> None:
    """Raise a SelfpacedError with this message unless the condition holds."""
    if not condition:
        raise SelfpacedError(message)


def require_positive(settings: Any, *names: str, none_allowed: bool = False) -> None:
    """Every named field must be a finite number above zero."""
    for name in names:
        value = getattr(settings, name)
        if value is None and none_allowed:
            continue
        require(
            isinstance(value, int | float) and math.isfinite(value) and value > 0,
            f"{name} must be positive, got {value}{_default(settings, name)}",
        )


def require_not_negative(settings: Any, *names: str) -> None:
    """Every named field must be a finite number, zero or above."""
    for name in names:
        value = getattr(settings, name)
        require(
            isinstance(value, int | float) and math.isfinite(value) and value >= 0,
            f"{name} must not be negative, got {value}{_default(settings, name)}",
        )


def require_choice(what: str, value: str, choices: Iterable[str]) -> None:
    """The value must be one of the choices; a near miss is pointed out."""
    known = list(choices)
    near = get_close_matches(value, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    require(value in known, f"unknown {what} {value!r}: {hint}known are {', '.join(known)}")


def _default(settings: Any, name: str) -> str:
    default = type(settings).__dataclass_fields__[name].default
    return f" (the default is {default})" if isinstance(default, int | float) else ""
