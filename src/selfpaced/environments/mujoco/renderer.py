"""Pictures of a MuJoCo model, on machines with and without a screen."""

from __future__ import annotations

import mujoco
import numpy as np

from selfpaced.environments.mujoco.library import graphics_failures
from selfpaced.errors import SelfpacedError
from selfpaced.records import Array
from selfpaced.validation import require_picture_size

CAMERA = "picture"  # name of the camera in every model


class Renderer:
    """Draws the simulation in `data`."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        require_picture_size(width, height)
        self.size = width, height
        self.data = mujoco.MjData(model)
        # MuJoCo refuses pictures that are larger than its off-screen buffer
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        # a second try after a failure can end the whole process with some graphics libraries
        if not graphics_failures:
            try:
                self._renderer = mujoco.Renderer(model, height=height, width=width)
            except Exception as error:  # OpenGL libraries raise errors of any type
                graphics_failures.append(str(error))
        if graphics_failures:
            raise SelfpacedError(
                f"rendering requires OpenGL, which does not work here ({graphics_failures[0]}); "
                "install EGL (Debian and Ubuntu: libegl1 and libgl1-mesa-dri) and set "
                "MUJOCO_GL=egl before mujoco is imported; everything else works without it"
            )

    def picture(self) -> Array:
        """Return uint8 [height, width, 3]; positions that follow from `data` must be up to date."""
        self._renderer.update_scene(self.data, CAMERA)
        return np.array(self._renderer.render())

    def close(self) -> None:
        """Release the resources of the graphics driver."""
        self._renderer.close()
