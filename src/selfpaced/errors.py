"""Errors that a user can correct."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path

_LIBRARIES = ("selfpaced", "jax", "gymnasium", "numpy")  # that call a user's code


class SelfpacedError(ValueError):
    """Raised for mistakes that a user can correct; the message names the remedy.

    Examples:
        >>> from selfpaced import SPDL, SelfpacedError
        >>> try:
        ...     SPDL(max_kl=-1.0)
        ... except SelfpacedError as error:
        ...     print(error)
        max_kl must be positive, got -1.0; the default is 0.05
    """


class MissingPartError(SelfpacedError):
    """Raised if an optional dependency is missing; features that do not use it still work."""


class SelfpacedWarning(UserWarning):
    """Warns of settings that keep a curriculum from working, outside the command line.

    Examples:
        >>> import warnings
        >>> from selfpaced import SelfpacedWarning
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", SelfpacedWarning)  # stop instead of going on
    """


class InterruptedRunError(Exception):
    """Raised after Ctrl-C or SIGTERM; everything up to then is saved."""


def require(condition: bool, message: str) -> None:
    """Raise a `SelfpacedError` with this message unless the condition holds."""
    if not condition:
        raise SelfpacedError(message)


def describe_exception(error: BaseException) -> str:
    """Return type, first line and place of an exception in a user's code."""
    lines = str(error).strip().splitlines()
    message = f": {lines[0]}" if lines else ""
    return f"{type(error).__name__}{message}{users_place(error)}"


def users_place(error: BaseException | None) -> str:
    """Return the deepest line outside the libraries that run it, empty if there is none."""
    if error is None:
        return ""
    places = traceback.extract_tb(error.__traceback__)
    own = [place for place in places if is_users_file(place.filename)]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def is_users_file(file: str) -> bool:
    """Return whether code belongs neither to this library, nor to one below it, nor to Python."""
    modules = [sys.modules[name] for name in _LIBRARIES if name in sys.modules]
    folders = tuple(f"{Path(str(each.__file__)).parent}{os.sep}" for each in modules)
    is_standard = file.startswith(sysconfig.get_paths()["stdlib"]) and "site-packages" not in file
    return not (file.startswith(("<", *folders)) or is_standard)
