"""Compiled programs are kept between processes, so that the same shapes are compiled once."""

from __future__ import annotations

import os
import sys

from selfpaced.runs.storage import cache_folder


def compilation_settings() -> dict[str, str]:
    """Return the environment variables with which JAX keeps every program it compiles."""
    cache = cache_folder()
    if cache is None:
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(cache / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",  # a dozen small ones take a second
    }


def keep_compiled_programs() -> None:
    """Keep the programs of this process, too, if it uses JAX; the user's settings take precedence.

    They are settings of JAX here, because environment variables would reach other computers of a
    cluster.
    """
    if "jax" not in sys.modules:
        return
    import jax

    for name, value in compilation_settings().items():
        if name not in os.environ:
            jax.config.update(name.lower(), float(value) if name.endswith("_SECS") else value)
