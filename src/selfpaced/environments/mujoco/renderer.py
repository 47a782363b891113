"""Pictures of a MuJoCo model, for machines with and without a screen."""

from __future__ import annotations

import mujoco
import numpy as np

from selfpaced.environments.mujoco.library import graphics_failures
from selfpaced.errors import SelfpacedError
from selfpaced.records import Array
from selfpaced.validation import require_picture_size

CAMERA = "picture"  # every model of ours has a camera of this name


class Photographer:
    """Draws whatever is in `data`."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        require_picture_size(width, height)
        self.size = width, height
        self.data = mujoco.MjData(model)
        # room for the largest picture that anybody asked for; otherwise MuJoCo refuses
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        # a graphics library that has failed may end the whole process when it is tried again
        if not graphics_failures:
            try:
                self._renderer = mujoco.Renderer(model, height=height, width=width)
            except Exception as error:  # every OpenGL library fails in its own way
                graphics_failures.append(str(error))
        if graphics_failures:
            raise SelfpacedError(
                f"pictures need OpenGL, which does not work here ({graphics_failures[0]}); install "
                "EGL (Debian and Ubuntu: libegl1 and libgl1-mesa-dri) and set MUJOCO_GL=egl before "
                "mujoco is imported; everything else works without it"
            )

    def picture(self) -> Array:
        """Return uint8 [height, width, 3]; `data` must be up to date with its positions."""
        self._renderer.update_scene(self.data, CAMERA)
        return np.array(self._renderer.render())

    def close(self) -> None:
        """Give back what the graphics driver holds."""
        self._renderer.close()
