"""Observations as vectors."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, Tuple

from selfpaced import SelfpacedError
from selfpaced.environments.flat_observations import flat_observation, flat_space

NESTED = Dict({"gear": Discrete(3), "rest": Tuple((Box(-2.0, 2.0, (2, 2)), Box(0.0, 1.0, (1,))))})


@pytest.mark.parametrize(
    ("space", "observation", "flat"),
    [
        (Discrete(3), 1, [0, 1, 0]),
        (Box(-9.0, 9.0, (2, 2)), [[1, 2], [3, 4]], [1, 2, 3, 4]),
        (NESTED, {"gear": 2, "rest": ([[1, 0], [0, 1]], [0.5])}, [0, 0, 1, 1, 0, 0, 1, 0.5]),
        (Box(0, 255, (1, 2, 3), np.uint8), [[[1, 2, 3], [4, 5, 6]]], [1, 2, 3, 4, 5, 6]),
    ],
    ids=["discrete", "matrix", "nested", "small grid of bytes"],
)
def test_observations_become_vectors_of_their_flat_space(space, observation, flat):
    seen = flat_observation(space, observation)
    assert seen.tolist() == flat
    assert flat_space("Mine-v0", space).contains(seen)


def test_a_vector_stays_as_it_is():
    space, observation = Box(-1.0, 1.0, (3,), np.float64), np.zeros(3)
    assert flat_space("Mine-v0", space) is space
    assert flat_observation(space, observation) is observation


@pytest.mark.parametrize("inside", [False, True])
def test_images_are_left_to_stable_baselines3(inside):
    image = Box(0, 255, (84, 84, 3), np.uint8)
    space = Dict({"speed": Discrete(2), "camera": image}) if inside else image
    with pytest.raises(
        SelfpacedError, match=r"Mine-v0 must have no images, got Box\(.*CurriculumC"
    ):
        flat_space("Mine-v0", space)


def test_a_space_that_cannot_be_flattened_is_refused():
    space = Graph(node_space=Box(-1.0, 1.0, (3,)), edge_space=None)
    with pytest.raises(SelfpacedError, match="must be one that Gymnasium can flatten"):
        flat_space("Mine-v0", space)
