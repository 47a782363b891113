"""Errors that a user can put right."""

from __future__ import annotations


class SelfpacedError(ValueError):
    """Something that the user can put right; the message says how."""


class MissingPartError(SelfpacedError):
    """Something optional is not installed; what does not need it goes on."""


def require(condition: bool, message: str) -> None:
    """Raise a SelfpacedError with this message unless the condition holds."""
    if not condition:
        raise SelfpacedError(message)
