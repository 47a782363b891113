"""Checks of settings: `<name> must be <condition>, got <value>; <remedy>`."""

from __future__ import annotations

import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import SequenceMatcher
from importlib import import_module
from types import ModuleType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    SupportsFloat,
    TypeGuard,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from selfpaced.errors import MissingPartError, SelfpacedError, require

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_NUMBERS = int | float | np.integer | np.floating


def is_real(value: object) -> TypeGuard[SupportsFloat]:
    """Return whether `float` keeps all of a value; of complex NumPy numbers it drops a part."""
    if isinstance(value, _NUMBERS):  # many times as fast as to ask a protocol, in every step
        return True
    shown: Any = value
    return isinstance(value, SupportsFloat) and np.ndim(shown) == 0 and not np.iscomplexobj(shown)


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
    if value not in known:
        listed, hint = ", ".join(known), suggestion(value, known)
        raise SelfpacedError(f"{what} must be one of {listed}, got {value!r}{hint}")


def suggestion(value: str, choices: Iterable[str]) -> str:
    """Return the end of a message that names the most similar choice, empty if none is close.

    What names have in common up to a dot, as in `teacher.zeta`, does not make them similar.

    Examples:
        >>> from selfpaced.validation import suggestion
        >>> suggestion("--teacher.zetta", ("--teacher.zeta", "--learner.hidden"))
        "; did you mean '--teacher.zeta'?"
        >>> suggestion("--teacher.zeta", ("--teacher.buffer-size", "--learner.time-outs"))
        ''
    """
    own = value.rpartition(".")[2]
    similarity = {
        name: SequenceMatcher(None, own, name.rpartition(".")[2]).ratio() for name in choices
    }
    best = max(similarity.values(), default=0.0)
    near = [repr(name) for name in similarity if similarity[name] == best > 0.5]
    return f"; did you mean {' or '.join(near)}?" if near else ""


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

    Examples:
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


def require_members(
    what: str, content: object, required: Mapping[str, Any], optional: Mapping[str, Any]
) -> dict[str, Any]:
    """Require a JSON object whose members have these types, and return it.

    Examples:
        >>> from selfpaced.validation import require_members
        >>> require_members("note", {"iteration": 3}, {"iteration": int}, {})
        {'iteration': 3}
    """
    require(isinstance(content, dict), f"{what} must be a JSON object, got {_shown(content)}")
    assert isinstance(content, dict)
    lacking = [name for name in required if name not in content]
    require(
        not lacking,
        f"{what} must have {' and '.join(sorted(required))}, got no {' and no '.join(lacking)}; "
        "was it written by selfpaced?",
    )
    for name, hint in {**required, **optional}.items():
        require(
            name not in content or has_type(content[name], hint),
            f"{name} in {what} must be {_spoken(hint)}, got {_shown(content.get(name))}; restore "
            "the file, or run again",
        )
    return content


def require_setting_types(kind: type[DataclassInstance], settings: Mapping[str, object]) -> None:
    """Require that values from a file have the types of the fields that they are for."""
    hints = get_type_hints(kind)
    for name, value in settings.items():
        hint = hints.get(name, object)
        require(
            has_type(value, hint),
            f"{name} of {kind.__name__} must be {_spoken(hint)}, got {_shown(value)}",
        )


def has_type(value: object, hint: Any) -> bool:
    """Return whether a value has a type; types that JSON cannot hold are not checked.

    Examples:
        >>> from selfpaced.validation import has_type
        >>> has_type(2, float), has_type(True, int), has_type((1, "a"), tuple[int, ...])
        (True, False, False)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return has_type(value, arguments[0])
    if origin is Literal:
        return value in arguments
    if origin in (Union, types.UnionType):
        return any(has_type(value, one) for one in arguments)
    if origin in (tuple, list):
        if not isinstance(value, tuple | list):
            return False
        if origin is list or arguments[-1:] == (...,):
            return all(has_type(one, arguments[0]) for one in value)
        return len(value) == len(arguments) and all(map(has_type, value, arguments))
    if origin is dict:
        return isinstance(value, dict) and all(has_type(v, arguments[1]) for v in value.values())
    if hint in (None, types.NoneType):
        return value is None
    if hint is float:
        return isinstance(value, _NUMBERS) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    return not isinstance(hint, type) or hint not in (bool, str, dict) or isinstance(value, hint)


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text",
          dict: "a JSON object", types.NoneType: "null"}  # fmt: skip
_PLURALS = {int: "whole numbers", float: "numbers", str: "texts"}


def _spoken(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_spoken(one) for one in get_args(hint))
    if get_origin(hint) in (tuple, list):
        inner = [one for one in get_args(hint) if one is not ...]
        if set(inner) <= set(_PLURALS) and len(inner) == 1:
            return f"a list of {_PLURALS[inner[0]]}"
        return "a list of " + ", ".join(f"({_spoken(one)})" for one in inner)
    return _WORDS.get(hint) or str(hint)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _default(settings: DataclassInstance, name: str) -> str:
    default = next(field.default for field in fields(settings) if field.name == name)
    return f"; the default is {default}" if isinstance(default, int | float) else ""
