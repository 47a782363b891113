"""The picture shows the mass where it is, the wall with its gate, the trail and a crash."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from selfpaced.environments import point_mass_picture as picture
from selfpaced.environments.base import DrawsStates
from selfpaced.environments.point_mass import PointMass, PointMassState
from selfpaced.errors import SelfpacedError
from selfpaced.integrations.jax_adapter import JaxAdapter
from selfpaced.registry import PROBLEMS

WIDE = [0.0, 2.0, 0.0]


def draw(*positions, context=WIDE, terminated=False):
    path = [
        PointMassState(np.float32(position), np.zeros(2), np.float32(context), time)
        for time, position in enumerate(positions)
    ]
    return PointMass().draw(path, terminated)


def pixels_of(image, colour, tolerance=2):
    """Return rows and columns of the pixels of this colour."""
    return np.nonzero((np.abs(image.astype(int) - colour) <= tolerance).all(axis=2))


def centre_of(image, colour):
    """Return the mean position in the arena of the pixels of this colour."""
    rows, columns = pixels_of(image, colour)
    unit = 400 / 8.7  # pixels
    return (columns.mean() + 0.5) / unit - 4.35, 4.35 - (rows.mean() + 0.5) / unit


def test_a_picture_is_a_square_of_rgb_bytes():
    assert isinstance(PointMass(), DrawsStates)
    assert PointMass().picture_size == (400, 400)
    image = draw((0, 3))
    assert image.shape == (400, 400, 3)
    assert image.dtype == np.uint8


@pytest.mark.parametrize("position", [(0, 3), (-3.5, 2), (1.25, -0.5), (4, -4)])
def test_the_mass_is_where_it_should_be(position):
    image = draw(position)
    np.testing.assert_allclose(centre_of(image, picture.MASS_COLOUR), position, atol=0.03)
    row, column = picture.pixel_of(*position)
    np.testing.assert_array_equal(image[row, column], picture.MASS_COLOUR)


@pytest.mark.parametrize("position", [(-4, 4), (4, 4), (4, -4), (-4, -4)])
def test_the_mass_fits_into_the_picture_even_in_a_corner(position):
    inside, corner = (pixels_of(draw(at), picture.MASS_COLOUR) for at in [(2, 2), position])
    assert abs(len(inside[0]) - len(corner[0])) < 12


def test_the_wall_is_open_at_the_gate_and_closed_elsewhere():
    image = draw((0, 3), context=[1.0, 2.0, 0.0])
    row = image[picture.pixel_of(0, 0)[0]].astype(int)
    wall = (np.abs(row - picture.WALL) <= 2).all(axis=1)
    at = (np.arange(400) + 0.5) / 400 * 8.7 - 4.35
    assert wall[((at > -3.95) & (at < -0.05)) | ((at > 2.05) & (at < 3.95))].all()
    assert not wall[(at > 0.05) & (at < 1.95)].any()


def test_a_gate_as_wide_as_the_arena_leaves_no_wall():
    assert len(pixels_of(draw((0, 3), context=[0.0, 8.0, 0.0]), picture.WALL)[0]) == 0


def test_the_ground_turns_from_ice_to_sand_with_friction():
    corner = picture.pixel_of(-3.5, -3.5)
    assert tuple(draw((0, 3), context=[0, 2, 0])[corner]) == picture.ICE
    assert tuple(draw((0, 3), context=[0, 2, 4])[corner]) == picture.SAND


def test_the_trail_shows_where_the_mass_has_been():
    moved, appeared = draw((-3, 2), (3, 2)), draw((3, 2))
    rows, columns = np.nonzero((moved != appeared).any(axis=2))
    row, first = picture.pixel_of(-3, 2)
    assert abs(rows - row).max() <= 3
    assert abs(columns.min() - first) <= 3
    assert columns.max() < picture.pixel_of(3, 2)[1]


def test_a_crash_looks_different():
    image = draw((1, 1), (2, 0), terminated=True)
    assert len(pixels_of(image, picture.MASS_COLOUR)[0]) == 0
    np.testing.assert_allclose(centre_of(image, picture.CRASHED_COLOUR), (2, 0), atol=0.03)


def test_drawing_leaves_the_cached_arena_unchanged():
    first = draw((2, 2))
    draw((-2, 2), (-2, -2))
    np.testing.assert_array_equal(draw((2, 2)), first)


@pytest.mark.parametrize("name", ["point-mass-3d", "point-mass-2d"])
def test_the_adapter_draws_only_its_current_episode(name):
    adapter = JaxAdapter(name, render_mode="rgb_array")
    context = WIDE[: adapter.problem.contexts.size]
    with pytest.raises(SelfpacedError, match="before the first reset"):
        adapter.render()
    adapter.reset(seed=0, options={"context": context})
    fresh = adapter.render()
    for _ in range(4):
        observation = adapter.step([5.0, 1.0])[0]
    image = adapter.render()
    where = centre_of(image, picture.MASS_COLOUR)
    np.testing.assert_allclose(where, (observation[0], observation[2]), atol=0.03)
    adapter.reset(options={"context": context})
    np.testing.assert_array_equal(adapter.render(), fresh)


def test_without_a_render_mode_render_warns_and_returns_none():
    adapter = JaxAdapter("point-mass-3d")
    adapter.reset(seed=0)
    with pytest.warns(UserWarning, match='render_mode="rgb_array"'):
        assert adapter.render() is None


@dataclass(frozen=True)
class Undrawn:
    """A point mass without a picture."""

    observation_size = 7
    action_low, action_high = (-10.0, -10.0), (10.0, 10.0)
    noise_size = 20
    min_episode_steps, max_episode_steps = 1, 100

    def reset(self, key, context):
        return PointMass().reset(key, context)

    def step(self, noise, state, action):
        return PointMass().step(noise, state, action)


def test_an_environment_without_a_picture_is_refused_for_rendering_only():
    problem = replace(PROBLEMS["point-mass-3d"], name="undrawn", environment=Undrawn())
    JaxAdapter(problem).reset(seed=0)
    message = "rendering is not implemented for 'undrawn'; omit render_mode"
    with pytest.raises(SelfpacedError, match=message):
        JaxAdapter(problem, render_mode="rgb_array")
