"""What holds for every box, scale and Gaussian of contexts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from selfpaced import ContextSpace, Gaussian, SelfpacedError

ANY = settings(max_examples=60, deadline=None, derandomize=True)
MAX_SIZE = 4
POINTS = arrays.arrays(
    float, st.tuples(st.integers(0, 5), st.just(MAX_SIZE)), elements=st.floats(allow_nan=False)
)


@st.composite
def spaces(draw):
    """Return a context space with any box and scales, and Gaussians inside."""
    size = draw(st.integers(1, MAX_SIZE))
    lower, upper, scales = [], [], []
    for _ in range(size):
        scale = draw(st.sampled_from(("linear", "log")))
        low = draw(st.floats(1e-6, 1e6) if scale == "log" else st.floats(-1e6, 1e6))
        lower.append(low)
        upper.append(low + max(abs(low), 1e-6) * draw(st.floats(1e-3, 1e3)))
        scales.append(scale)
    box = np.array([lower, upper])
    share = draw(st.floats(0, 1))
    mean = np.clip(box[0] + share * (box[1] - box[0]), *box)
    gaussian = Gaussian.diagonal(mean, draw(st.floats(1e-3, 1)) * (box[1] - box[0]))
    outside = draw(st.sampled_from(("clip", "redraw")))
    names = tuple(f"c{number}" for number in range(size))
    return ContextSpace(
        names, tuple(lower), tuple(upper), gaussian, gaussian, (), outside, tuple(scales)
    )


@st.composite
def gaussians(draw, size=2):
    """Return a Gaussian with any correlation."""
    factor = np.tril(draw(arrays.arrays(float, (size, size), elements=st.floats(-3, 3))))
    np.fill_diagonal(factor, draw(arrays.arrays(float, size, elements=st.floats(1e-2, 10))))
    return Gaussian(draw(arrays.arrays(float, size, elements=st.floats(-5, 5))), factor)


@ANY
@given(spaces(), POINTS)
def test_clipping_moves_into_the_box_and_leaves_what_is_there(contexts, points):
    clipped = contexts.clip(points[:, : contexts.size])
    assert contexts.contains(clipped).all()
    np.testing.assert_array_equal(contexts.clip(clipped), clipped)
    for context in clipped:
        np.testing.assert_array_equal(contexts.check(context), context)


@ANY
@given(spaces(), st.integers(0, 50), st.integers(0, 99))
def test_every_draw_lies_in_the_box(contexts, num, seed):
    for draw in (contexts.sample_initial, contexts.sample_target, contexts.sample_uniform):
        drawn = draw(np.random.default_rng(seed), num)
        assert drawn.shape == (num, contexts.size)
        assert contexts.contains(drawn).all()
        np.testing.assert_array_equal(drawn, draw(np.random.default_rng(seed), num))


@ANY
@given(spaces(), st.integers(0, 99))
def test_the_unit_box_and_back_is_the_identity(contexts, seed):
    drawn = contexts.sample_uniform(np.random.default_rng(seed), 20)
    unit = contexts.to_unit(drawn)
    assert unit.min() > -1e-6
    assert unit.max() < 1 + 1e-6
    width = contexts.box[1] - contexts.box[0]
    np.testing.assert_allclose(contexts.from_unit(unit) / width, drawn / width, atol=1e-9)


@ANY
@given(arrays.arrays(float, st.integers(0, 4), elements=st.floats()))
def test_a_context_is_accepted_only_if_it_lies_in_the_box(context):
    middle = Gaussian.diagonal((0.0, 0.0), (1.0, 1.0))
    contexts = ContextSpace(("a", "b"), (-1.0, -2.0), (1.0, 2.0), middle, middle)
    if context.shape == (2,) and contexts.contains(context):
        np.testing.assert_array_equal(contexts.check(context), context)
    else:
        with pytest.raises(SelfpacedError) as error:
            contexts.check(context)
        assert "\n" not in str(error.value)


@ANY
@given(gaussians(), gaussians())
def test_a_divergence_is_positive_and_zero_to_itself(one, two):
    assert one.kl(two) >= -1e-9
    assert one.kl(one) == pytest.approx(0.0, abs=1e-9)


@ANY
@given(gaussians(), arrays.arrays(float, (3, 2), elements=st.floats(-5, 5)))
def test_the_density_is_that_of_the_formula(gaussian, points):
    apart = points - gaussian.mean
    squares = np.einsum("ni,ij,nj->n", apart, np.linalg.inv(gaussian.covariance), apart)
    constant = np.log(np.linalg.det(2 * np.pi * gaussian.covariance))
    found = gaussian.log_density(points)
    np.testing.assert_allclose(found, -0.5 * (squares + constant), rtol=1e-4, atol=1e-4)
