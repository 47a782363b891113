"""The point mass with many gates: the gate that counts, the thick wall, and its targets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import SelfpacedError, neurips2020
from selfpaced.environments.point_mass_nd import ManyGatesState, PointMassND
from selfpaced.presets.point_mass_nd import point_mass_nd

NO_NOISE = jnp.zeros(20)


def step(position, velocity, gate=(0.0, 1.0, 2.0), action=(0.0, 0.0)):
    state = ManyGatesState(jnp.array(position), jnp.array(velocity), jnp.array(gate), jnp.int32(0))
    return PointMassND().step(NO_NOISE, state, jnp.array(action))


def test_the_farthest_position_and_the_smallest_widths_count():
    context = jnp.array([1.0, -3.0, 2.0, 4.0, 0.5, 1.0, 0.75, 3.0, 2.0])
    _, state = PointMassND(3).reset(jax.random.key(0), context)
    assert state.gate.tolist() == [-3.0, 0.5, 0.75]


@pytest.mark.parametrize(
    ("x", "crashes"), [(-0.99, False), (-1.01, True), (1.99, False), (2.01, True)]
)
def test_the_gap_reaches_from_its_left_to_its_right_width(x, crashes):
    assert bool(step((x, 1.0), (0.0, -8.0)).terminated) == crashes


def test_the_wall_is_one_thick():
    assert not step((3.0, 0.9), (0.0, -3.9)).terminated
    crash = step((3.0, 0.9), (0.0, -4.1))
    assert crash.terminated
    assert float(crash.state.position[1]) == pytest.approx(0.5, abs=0.01)
    assert not crash.state.velocity.any()
    assert step((1.9, 0.0), (2.0, 0.0)).terminated  # sideways, inside the gap


def test_without_a_wall_in_the_way_it_moves_as_the_point_mass():
    after = step((0.0, 3.0), (1.0, 0.0), action=(10.0, 0.0)).state
    np.testing.assert_allclose(after.velocity, (1.0 + 1.5, 0.0), atol=1e-5)
    np.testing.assert_allclose(after.position, (0.1 + 15.0 * 0.01**2 * 45, 3.0), atol=1e-5)


@pytest.mark.parametrize("size", [3, 6, 48])
def test_targets_are_all_on_one_side(size):
    rng, num = np.random.default_rng(0), size // 3
    both = point_mass_nd(size, bimodal=True).contexts.sample_target(rng, 200)
    one = point_mass_nd(size).contexts.sample_target(rng, 50)
    np.testing.assert_allclose(np.abs(both[:, :num]), 3.0, atol=0.01)
    assert (np.sign(both[:, :num]) == np.sign(both[:, :1])).all()
    assert (both[:, 0] > 0).mean() == pytest.approx(0.5, abs=0.1)
    np.testing.assert_allclose(one[:, num:], 0.26, atol=0.01)
    assert (one[:, 0] > 0).all()


def test_the_radius_of_currot_is_five_percent_of_the_diagonal():
    experiment = neurips2020("point-mass-6d-bimodal")
    assert experiment.method.teacher.radius == 0.68
    assert experiment.method.learner.shared_trunk


def test_a_size_that_three_does_not_divide_is_refused():
    with pytest.raises(SelfpacedError, match="multiple of 3, got 2; for 2 components use"):
        point_mass_nd(2)
