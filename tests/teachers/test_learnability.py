"""Learnability: the border between success and failure, near the target."""

import numpy as np
import pytest

from selfpaced import Learnability, SelfpacedError
from selfpaced.teachers.learnability import learnability
from tests.teachers.spaces import SQUARE, play, rng


def test_learnability_is_highest_where_half_of_the_episodes_succeed():
    played = SQUARE.sample_uniform(rng(), 1000)
    success = (rng(1).random(1000) < (played[:, 1] - 0.5) / 7.5).astype(float)
    pool = np.array([[0.0, 0.5], [0.0, 4.25], [0.0, 8.0]])
    low, middle, high = learnability(SQUARE, played, success, pool)
    assert middle > 0.2
    assert max(low, high) < 0.12


def test_the_best_contexts_lie_at_the_border_of_success():
    teacher = Learnability(target_weight=0.0)
    last = play(teacher, SQUARE, lambda drawn: drawn[:, 1] > 4.0, 15, num=100)[-1]
    assert np.abs(last.best[:, 1] - 4.0).mean() < 0.6


def test_with_a_target_weight_the_best_contexts_lie_near_the_target():
    far, near = (
        play(Learnability(target_weight=weight), SQUARE, lambda drawn: drawn[:, 1] > 4.0, 15)[-1]
        for weight in (0.0, 1.0)
    )
    assert np.abs(np.abs(near.best[:, 0]) - 3).mean() < np.abs(np.abs(far.best[:, 0]) - 3).mean()


def test_half_of_the_contexts_are_the_best():
    teacher = Learnability()
    state = play(teacher, SQUARE, lambda drawn: drawn[:, 1] > 4.0, 3)[-1]
    drawn = teacher.sample(rng(), SQUARE, state, 1000)
    best = (drawn[:, None] == state.best).all(axis=2).any(axis=1)
    assert best.mean() == pytest.approx(0.5, abs=0.08)


def test_more_best_contexts_than_candidates_are_refused():
    with pytest.raises(SelfpacedError, match="num_best must be at most pool_size"):
        Learnability(pool_size=10, num_best=20)
