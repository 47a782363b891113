"""Whatever is given as episodes is refused, or passed on as the same numbers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from selfpaced import ContextSpace, Episodes, Gaussian, SelfpacedError

UNIT = Gaussian.diagonal((0.5, 0.5), (0.1, 0.1))
CONTEXTS = ContextSpace(("one", "two"), (0.0, 0.0), (1.0, 1.0), UNIT, UNIT)
KINDS = arrays.boolean_dtypes() | arrays.integer_dtypes() | arrays.floating_dtypes()
ODD_KINDS = arrays.complex_number_dtypes() | arrays.unicode_string_dtypes(max_len=3)
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
COLUMNS = (
    arrays.arrays(KINDS | ODD_KINDS, SHAPES)
    | st.none()
    | st.text(max_size=3)
    | st.lists(st.none() | st.floats() | st.lists(st.floats(0, 1), max_size=3), max_size=3)
)
NUMBERS = st.floats(-1e6, 1e6)


@st.composite
def valid_episodes(draw):
    """Return episodes that can occur, of any number."""
    num = draw(st.integers(0, 6))

    def column(elements, *shape):
        return draw(arrays.arrays(float, (num, *shape), elements=elements))

    return Episodes(
        context=column(st.floats(0, 1), 2),
        first_observation=column(NUMBERS, 3),
        discounted_return=column(NUMBERS),
        value=column(NUMBERS),
        success=draw(arrays.arrays(bool, num)),
        length=draw(arrays.arrays(int, num, elements=st.integers(1, 1000))),
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(valid_episodes())
def test_valid_episodes_pass_unchanged(episodes):
    for before, after in zip(episodes, CONTEXTS.check_episodes(episodes), strict=True):
        np.testing.assert_array_equal(after, before)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(valid_episodes(), st.sampled_from(Episodes._fields), COLUMNS)
def test_any_column_is_refused_or_passes_unchanged(episodes, name, column):
    changed = episodes._replace(**{name: column})
    try:
        checked = CONTEXTS.check_episodes(changed)
    except SelfpacedError:
        return
    assert {len(part) for part in checked} == {checked.num}
    assert all(np.isfinite(part).all() for part in checked)
    assert CONTEXTS.contains(checked.context).all()
    np.testing.assert_array_equal(
        np.asarray(getattr(checked, name)).ravel(), np.asarray(column).ravel()
    )
