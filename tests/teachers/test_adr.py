"""ADR: bounds, queues and borders."""

import numpy as np
import pytest

from selfpaced import ADR, SelfpacedError
from tests.teachers.spaces import SQUARE, episodes, play, rng

TEACHER = ADR(step=0.1, queue_size=10)


def test_the_box_starts_at_the_mean_of_the_initial_distribution():
    state = TEACHER.init(rng(), SQUARE)
    np.testing.assert_allclose(SQUARE.from_unit(state.box), [[0.0, 7.0]] * 2, atol=0.05)


def test_bounds_move_out_to_the_border_where_everything_succeeds():
    last = play(TEACHER, SQUARE, lambda drawn: np.ones(len(drawn)), 60)[-1]
    np.testing.assert_allclose(last.box, [[0, 0], [1, 1]])


def test_bounds_move_in_to_each_other_where_nothing_succeeds():
    wide = TEACHER.init(rng(), SQUARE)._replace(box=np.array([[0.2, 0.2], [0.8, 0.8]]))
    last = play(TEACHER, SQUARE, lambda drawn: np.zeros(len(drawn)), 60, state=wide)[-1]
    np.testing.assert_allclose(last.box[0], last.box[1])


def test_a_bound_moves_after_a_full_queue_and_not_before():
    state = TEACHER.init(rng(), SQUARE)._replace(box=np.array([[0.4, 0.4], [0.6, 0.6]]))
    at_bound = SQUARE.from_unit(np.tile([[0.6, 0.5]], (10, 1)))
    nine, _ = TEACHER.update(rng(), SQUARE, state, episodes(at_bound[:9], 1.0))
    np.testing.assert_array_equal(nine.box, state.box)
    ten, _ = TEACHER.update(rng(), SQUARE, nine, episodes(at_bound[:1].astype(np.float32), 1.0))
    np.testing.assert_allclose(ten.box, [[0.4, 0.4], [0.7, 0.6]])


def test_bounds_find_the_border_of_what_can_be_mastered():
    last = play(TEACHER, SQUARE, lambda drawn: drawn[:, 1] > 4.0, 200)[-1]
    lower = SQUARE.from_unit(last.box[:1])[0]
    assert lower[0] == pytest.approx(-4.0)
    assert lower[1] == pytest.approx(4.0, abs=0.8)


def test_a_missing_success_signal_is_reported():
    last = play(TEACHER, SQUARE, lambda drawn: np.zeros(len(drawn)), 5)[-1]
    assert "does not grow" in TEACHER.advice(SQUARE, last, 100)[0]


def test_thresholds_must_be_in_order():
    with pytest.raises(SelfpacedError, match="low must be below high"):
        ADR(low=0.8, high=0.2)
