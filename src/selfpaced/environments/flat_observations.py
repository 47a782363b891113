"""Observations of any space that Gymnasium can flatten, as vectors; images are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Tuple, flatten, flatten_space

from selfpaced.errors import require
from selfpaced.records import Array

IMAGE_SIZE = 2000  # entries from which a three-dimensional Box of bytes is an image


def flat_space(name: str, space: gymnasium.Space[Any]) -> Box:
    """Return the space of flattened observations, float32; a Box of one dimension stays as it is.

    Args:
        name: name of the environment, for messages.
        space: its observation space.

    Raises:
        SelfpacedError: the space contains images, or cannot be flattened.

    Examples:
        >>> from gymnasium.spaces import Box, Dict, Discrete
        >>> from selfpaced.environments.flat_observations import flat_space
        >>> flat_space("Mine-v0", Dict({"gear": Discrete(3), "grid": Box(0.0, 1.0, (2, 2))})).shape
        (7,)
    """
    for part in _parts(space):
        require(
            not _is_image(part),
            f"observation space of {name} must have no images, got {part}; train on images by "
            "Stable-Baselines3 with CurriculumCallback (pip install 'selfpaced[sb3]')",
        )
    if _is_vector(space):
        assert isinstance(space, Box)
        return space
    require(
        space.is_np_flattenable,
        f"observation space of {name} must be one that Gymnasium can flatten (Box, Discrete, Dict, "
        f"Tuple, ...), got {space}; register an environment that converts it",
    )
    flat = flatten_space(space)
    assert isinstance(flat, Box)
    return Box(flat.low.astype(np.float32), flat.high.astype(np.float32), dtype=np.float32)


def flat_observation(space: gymnasium.Space[Any], observation: Any) -> Array:
    """Return an observation of a space as a vector."""
    if _is_vector(space):
        return np.asarray(observation)
    return np.asarray(flatten(space, observation), np.float32)


def _parts(space: gymnasium.Space[Any]) -> list[gymnasium.Space[Any]]:
    """Return the spaces that a space is made of, at any depth."""
    inside: Iterable[gymnasium.Space[Any]] = ()
    if isinstance(space, Dict):
        inside = space.spaces.values()
    elif isinstance(space, Tuple):
        inside = space.spaces
    return [part for each in inside for part in _parts(each)] or [space]


def _is_vector(space: gymnasium.Space[Any]) -> bool:
    return isinstance(space, Box) and len(space.shape) == 1


def _is_image(space: gymnasium.Space[Any]) -> bool:
    if not isinstance(space, Box) or space.dtype != np.uint8 or len(space.shape) != 3:
        return False
    return int(np.prod(space.shape)) >= IMAGE_SIZE
