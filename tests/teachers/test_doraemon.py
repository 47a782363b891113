"""DORAEMON: Betas with known KL and numbers of updates, and contexts that are too hard."""

import numpy as np
import pytest

from selfpaced import DORAEMON, ContextSpace, Uniform
from selfpaced.teachers.beta_step import kl, kl_to_uniform, log_density, succeed, widen
from tests.teachers.spaces import SQUARE, play, rng

NARROW = np.full((2, 1), 100.0)


def middle(teacher, size):
    box = Uniform((0.0,) * size, (1.0,) * size)
    contexts = ContextSpace(tuple("abc"[:size]), box.lower, box.upper, box, box)
    return teacher.init(rng(), contexts)._replace(parameters=np.full((2, size), 100.0))


def test_the_kl_to_the_uniform_distribution():
    assert kl_to_uniform(NARROW) == pytest.approx(1.92588, abs=1e-5)
    assert kl_to_uniform(np.ones((2, 3))) == pytest.approx(0.0, abs=1e-12)


def test_the_kl_agrees_with_samples():
    old, new = np.array([[3.0], [5.0]]), np.array([[2.0], [6.0]])
    drawn = rng().beta(*old, (200_000, 1))
    sampled = (log_density(old, drawn) - log_density(new, drawn)).mean()
    assert kl(old, new) == pytest.approx(sampled, abs=0.005)


@pytest.mark.parametrize(
    ("max_kl", "num_updates"), [(0.1, (7, 10, 13)), (0.05, (10, 15, 18)), (0.01, (24, 34, 41))]
)
def test_least_updates_to_the_uniform_distribution(max_kl, num_updates):
    teacher = DORAEMON(max_kl=max_kl)
    found = tuple(teacher.least_updates(middle(teacher, size)) for size in (1, 2, 3))
    assert found == num_updates


def test_a_step_keeps_both_constraints_and_widens():
    unit = rng().beta(*NARROW, (400, 1))
    success = (unit[:, 0] < 0.52).astype(float)
    new = widen(NARROW, NARROW, unit, success, 0.5, 0.1)
    weights = np.exp(log_density(new, unit) - log_density(NARROW, unit))
    assert kl(NARROW, new) <= 0.1 + 1e-6
    assert (weights * success).mean() >= 0.5 - 1e-6
    assert kl_to_uniform(new) < kl_to_uniform(NARROW)


def test_a_step_back_moves_to_successes():
    unit = rng().beta(*NARROW, (400, 1))
    new = succeed(NARROW, unit, (unit[:, 0] < 0.45).astype(float), 0.1)
    assert new[0, 0] / new.sum() < 0.49
    assert kl(NARROW, new) == pytest.approx(0.1, rel=0.01)


def test_contexts_widen_to_the_whole_box_or_to_the_border_of_what_succeeds():
    teacher = DORAEMON(max_kl=0.1, num_rollouts=100)
    everywhere = play(teacher, SQUARE, lambda drawn: np.ones(len(drawn)), 40, num=100)[-1]
    np.testing.assert_allclose(everywhere.parameters, 1.0, atol=0.05)
    limited = play(teacher, SQUARE, lambda drawn: drawn[:, 1] > 5.0, 60, num=100)[-1]
    drawn = teacher.sample(rng(), SQUARE, limited, 2000)
    assert (drawn[:, 1] > 5.0).mean() == pytest.approx(0.5, abs=0.12)
    assert drawn[:, 0].std() > 1.9  # uniform in the component that does not matter


def test_nothing_moves_before_the_level_is_reached_once():
    teacher = DORAEMON(num_rollouts=40)
    states = play(teacher, SQUARE, lambda drawn: np.zeros(len(drawn)), 5)
    np.testing.assert_array_equal(states[-1].parameters, states[0].parameters)
    assert "do not widen" in teacher.advice(SQUARE, states[-1], 1000)[0]
    good = play(teacher, SQUARE, lambda drawn: np.ones(len(drawn)), 2)[-1]
    assert "cannot reach the whole box" in teacher.advice(SQUARE, good, 3)[0]
    assert teacher.advice(SQUARE, good, 100) == ()
