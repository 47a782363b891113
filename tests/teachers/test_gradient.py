"""GRADIENT: stages on the geodesic to the target."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import GRADIENT, SelfpacedError
from tests.teachers.spaces import LINE, SQUARE, play


def test_every_good_chunk_is_a_step_and_others_are_none():
    teacher = GRADIENT(step=0.2, num_particles=1, num_rollouts=10, threshold=0.5, start="initial")
    states = play(teacher, LINE, lambda drawn: np.ones(len(drawn)), 6, num=10)
    places = [state.particles[0, 0] for state in states]
    np.testing.assert_allclose(places, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    states = play(teacher, LINE, lambda drawn: np.zeros(len(drawn)), 6, num=10)
    assert states[-1].share == 0


def test_it_waits_where_outcomes_fall_below_the_threshold():
    teacher = GRADIENT(step=0.2, num_particles=5, num_rollouts=10, threshold=0.5, start="initial")
    states = play(teacher, LINE, lambda drawn: drawn[:, 0] < 0.5, 20, num=10)
    assert states[-1].share == pytest.approx(0.6)


def test_half_of_the_particles_end_in_each_mode():
    teacher = GRADIENT(step=0.2, threshold=0.5)
    last = play(teacher, SQUARE, lambda drawn: np.ones(len(drawn)), 10)[-1].particles
    assert (last[:, 0] > 0).sum() == 50
    np.testing.assert_allclose(np.abs(last[:, 0]), 3.0, atol=0.05)


def test_several_chunks_of_an_iteration_are_several_stages():
    teacher = GRADIENT(step=0.1, num_rollouts=10, threshold=0.5)
    states = play(teacher, SQUARE, lambda drawn: np.ones(len(drawn)), 2, num=25)
    assert [float(state.share) for state in states] == pytest.approx([0.0, 0.2, 0.5])


def test_too_few_iterations_are_reported():
    teacher = GRADIENT(step=0.1, threshold=0.5)
    state = play(teacher, SQUARE, lambda drawn: np.zeros(len(drawn)), 2, num=20)[-1]
    (text,) = teacher.advice(SQUARE, state, 5)
    assert text.startswith("5 remaining iterations cannot reach the target: 10 stages are needed")
    assert teacher.advice(SQUARE, state, 10) == ()


def test_a_step_beyond_the_target_is_refused():
    with pytest.raises(SelfpacedError, match=r"step must lie in \(0, 1\]"):
        replace(GRADIENT(), step=1.5)
