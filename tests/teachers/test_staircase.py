"""Staircase: exact numbers of updates, equilibria, modes, and invariance to units."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import Samples, Staircase
from tests.teachers.spaces import LINE, SQUARE, episodes, play, rng

TEACHER = Staircase(num_particles=64)


def constant(success, num_updates, state=None):
    """Return states after updates in which the competence of all particles is exactly 0 or 1."""
    state = TEACHER.init(rng(), LINE) if state is None else state
    states = [state]
    for number in range(num_updates):
        drawn = TEACHER.sample(rng(number), LINE, state, 4000)
        state, _ = TEACHER.update(rng(number), LINE, state, episodes(drawn, float(success)))
        states.append(state)
    return states


def test_where_everything_is_mastered_particles_arrive_after_seventeen_updates():
    places = [state.place.min() for state in constant(True, 18)]
    assert places[16] < 1.0
    assert places[18] == 1.0  # a prior of one episode slows the first steps a little


def test_where_nothing_is_mastered_particles_return_after_eight_updates():
    arrived = constant(True, 19)[-1]
    places = [state.place.max() for state in constant(False, 8, arrived)]
    assert places[0] == 1.0
    assert places[7] > 0.0
    assert places[8] == 0.0


def test_particles_settle_where_seventy_percent_is_mastered():
    def outcome(drawn):
        return rng(int(1e6 * drawn[0, 0])).random(len(drawn)) < 1.0 - drawn[:, 0]

    last = play(TEACHER, LINE, outcome, 60, num=200)[-1]
    assert last.place.mean() == pytest.approx(0.3, abs=0.12)


def test_half_of_the_particles_arrive_in_each_mode():
    last = play(TEACHER, SQUARE, lambda drawn: np.ones(len(drawn)), 40)[-1]
    final = TEACHER.particles(SQUARE, last)
    np.testing.assert_allclose(np.abs(final[:, 0]), 3.0, atol=0.05)
    assert (final[:, 0] > 0).mean() == pytest.approx(0.5, abs=0.15)


def test_units_of_contexts_and_returns_do_not_matter():
    stretched = replace(
        SQUARE, lower=(-40.0, 0.5), upper=(40.0, 8.0),
        initial=Samples(np.array([[0.0, 7.0]])), target=Samples(np.array([[30.0, 0.6]])),
    )  # fmt: skip
    plain = replace(
        SQUARE, initial=Samples(np.array([[0.0, 7.0]])), target=Samples(np.array([[3.0, 0.6]]))
    )

    def returns(drawn):
        return np.where(drawn[:, 1] > 3.0, 1.0, 0.0)

    one = play(TEACHER, plain, returns, 10)[-1]
    other = play(TEACHER, stretched, returns, 10)[-1]
    np.testing.assert_allclose(other.place, one.place, atol=1e-9)


def test_particles_that_fail_at_their_start_begin_where_it_is_easy():
    hard = replace(SQUARE, initial=SQUARE.target)
    last = play(TEACHER, hard, lambda drawn: drawn[:, 1] > 0.6, 30)[-1]
    assert len(last.start) == 64
    assert SQUARE.contains(TEACHER.particles(SQUARE, last)).all()


def test_too_few_iterations_are_reported():
    state = TEACHER.init(rng(), LINE)
    assert "at least 17 are needed" in TEACHER.advice(LINE, state, 10)[0]
    assert TEACHER.advice(LINE, state, 17) == ()
