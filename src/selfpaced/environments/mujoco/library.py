"""MuJoCo is optional: how it is imported, and what is said where it is missing.

Two habits of MuJoCo are changed on the way, both only where nobody else has decided on them.
Pictures are drawn with EGL, which needs no screen (`MUJOCO_GL`, which MuJoCo reads once, when it is
imported). And its warnings go to Python's `logging` instead of to a file in the working directory;
our environments report an unstable simulation themselves.

Where OpenGL does not work, MuJoCo can be made to do without: only pictures are refused then.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from importlib import resources
from typing import Any

from selfpaced.errors import MissingPartError

graphics_failures: list[str] = []  # why there are no pictures, for whoever wants one
_log = logging.getLogger("selfpaced.mujoco")


def require_mujoco() -> None:
    """Import MuJoCo, or say how to get it."""
    if "MUJOCO_GL" not in os.environ and "mujoco" not in sys.modules and _has_egl():
        os.environ["MUJOCO_GL"] = "egl"
    try:
        import mujoco
    except ImportError as error:
        raise MissingPartError(
            f"this problem is simulated by MuJoCo, which cannot be imported ({error}): "
            "pip install 'selfpaced[mujoco]'"
        ) from error
    except Exception as error:  # it loads a graphics library, and each fails in its own way
        graphics_failures.append(f"MUJOCO_GL={os.environ.get('MUJOCO_GL', '')}: {error}")
        os.environ["MUJOCO_GL"] = "disable"
        for name in [name for name in sys.modules if name.partition(".")[0] == "mujoco"]:
            del sys.modules[name]  # half of it is there
        import mujoco
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_pass_on)


def load_model(name: str) -> Any:
    """Compile one of the MJCF files in `environments/models`."""
    require_mujoco()
    import mujoco

    folder = resources.files("selfpaced.environments.mujoco") / "models"
    return mujoco.MjModel.from_xml_string((folder / name).read_text(encoding="utf-8"))


def _has_egl() -> bool:
    # asked for first: with a missing library MuJoCo could not be imported at all
    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    return True


def _pass_on(message: str) -> None:
    _log.info(message.strip())
