"""The device that JAX computes on: the CPU, unless `JAX_PLATFORMS` names another."""

from __future__ import annotations

import os

import jax

from selfpaced.errors import SelfpacedError

VARIABLE = "JAX_PLATFORMS"
_GUIDE = "https://docs.jax.dev/en/latest/installation.html"


def require_device() -> None:
    """Start JAX on the device of `JAX_PLATFORMS`.

    Raises:
        SelfpacedError: this computer does not have it, or JAX is installed without it.
    """
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # an assertion: a plugin without its device
        reason = str(error).partition("\n")[0] or "JAX finds no such device"
        raise SelfpacedError(
            f"{VARIABLE} must name a device of this computer, got "
            f"{os.environ.get(VARIABLE, '')!r} ({reason}); unset it to use the CPU, or install JAX "
            f"for the device: {_GUIDE}"
        ) from error
