"""Errors that a user can correct."""

from __future__ import annotations


class SelfpacedError(ValueError):
    """Raised for mistakes that a user can correct; the message names the remedy.

    Example:
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

    Example:
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
