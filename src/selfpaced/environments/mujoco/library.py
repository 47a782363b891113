"""Import of MuJoCo, an optional dependency, with three changed defaults.

The changes apply only where no other choice has been made:

- pictures are drawn with EGL, which needs no screen (`MUJOCO_GL`, read by MuJoCo on import),
- warnings go to Python's `logging` instead of a file in the working directory; the environments
  report unstable simulations themselves,
- parts of a step are not timed: reading the clock takes a seventh of the time of a small robot.

Where OpenGL does not work, MuJoCo is imported without it: only rendering raises an error then.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from selfpaced.errors import MissingPartError
from selfpaced.validation import require_extra

if TYPE_CHECKING:
    import mujoco

graphics_failures: list[str] = []  # reasons why rendering does not work
_log = logging.getLogger("selfpaced.mujoco")


def require_mujoco() -> None:
    """Import MuJoCo.

    Raises:
        MissingPartError: MuJoCo is not installed.
    """
    if "MUJOCO_GL" not in os.environ and "mujoco" not in sys.modules and _has_egl():
        os.environ["MUJOCO_GL"] = "egl"
    try:
        mujoco = require_extra("mujoco", "mujoco", "this problem")
    except MissingPartError:
        raise
    except Exception as error:  # raised by the graphics library, of any type
        graphics_failures.append(f"MUJOCO_GL={os.environ.get('MUJOCO_GL', '')}: {error}")
        os.environ["MUJOCO_GL"] = "disable"
        for name in [name for name in sys.modules if name.partition(".")[0] == "mujoco"]:
            del sys.modules[name]  # half imported
        mujoco = require_extra("mujoco", "mujoco", "this problem")
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_log_warning)
    if mujoco.get_mjcb_time() is None:
        _stop_timers(Path(str(mujoco.__file__)).parent)


def load_model(name: str) -> mujoco.MjModel:
    """Compile one of the MJCF files in `environments/mujoco/models`."""
    return load_spec(name).compile()


def load_spec(name: str) -> mujoco.MjSpec:
    """Read one of the MJCF files in `environments/mujoco/models`."""
    require_mujoco()
    import mujoco

    folder = resources.files("selfpaced.environments.mujoco") / "models"
    return mujoco.MjSpec.from_string((folder / name).read_text(encoding="utf-8"))


def _has_egl() -> bool:
    # with MUJOCO_GL=egl and no such library, the import of MuJoCo fails
    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    return True


def _stop_timers(folder: Path) -> None:
    """Remove the clock of `mjData.timer`; the Python package can replace it, but not remove it."""
    for path in folder.glob("libmujoco*"):
        with suppress(OSError, ValueError):  # no such library or symbol: the clock stays
            ctypes.c_void_p.in_dll(ctypes.CDLL(str(path)), "mjcb_time").value = None


def _log_warning(message: str) -> None:
    _log.info(message.strip())
