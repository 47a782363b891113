"""Pictures for loggers: contexts are where they belong."""

import io

import numpy as np
import pytest
from PIL import Image

from selfpaced import PROBLEMS, ContextSpace, Gaussian
from selfpaced.reports.context_picture import ContextPicture

MIDDLE = Gaussian(np.array([0.5]), np.array([[0.1]]))
LINE = ContextSpace(("a",), (0.0,), (1.0,), MIDDLE, MIDDLE)


def pixels(content):
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def is_blue(picture):
    return (picture[..., 2] > 140) & (picture[..., 0] < 60)


@pytest.mark.parametrize("name", ["point-mass-2d", "point-mass-3d", "ball-catching"])
def test_a_picture_has_a_panel_per_pair_of_components(name):
    contexts = PROBLEMS[name].contexts
    picture = ContextPicture(contexts)
    middle = contexts.box.mean(axis=0)[None]
    found = is_blue(pixels(picture.png({"samples": middle}, "seed 1")))
    assert found.shape[::-1] == picture.size
    columns = np.flatnonzero(found.any(axis=0))
    num_dots = 1 + int((np.diff(columns) > 20).sum())
    assert num_dots == {2: 1, 3: 3}[contexts.size]


def test_dots_move_with_the_contexts():
    contexts = PROBLEMS["point-mass-2d"].contexts
    picture, (low, high) = ContextPicture(contexts), contexts.box
    places = []
    for share in (0.25, 0.75):
        found = is_blue(pixels(picture.png({"samples": (low + share * (high - low))[None]}, "")))
        places.append(np.argwhere(found).mean(axis=0))
    (top, left), (other_top, other_left) = places
    assert other_left > left + 50
    assert other_top < top - 50  # pixels are counted from above


def test_a_gaussian_is_an_outline_and_one_component_a_strip():
    contexts = PROBLEMS["point-mass-2d"].contexts
    picture, middle = ContextPicture(contexts), contexts.box.mean(axis=0)
    rows = {"samples": middle[None], "mean": middle, "cholesky": np.eye(2)}
    with_outline, without = (
        pixels(picture.png(one, "")).sum() for one in (rows, {"samples": middle[None]})
    )
    assert with_outline < without  # more ink
    strip = ContextPicture(LINE).png({"samples": np.array([[0.1], [0.5]])}, "seed 1")
    assert is_blue(pixels(strip)).any()
