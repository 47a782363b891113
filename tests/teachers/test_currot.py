"""CURROT: exact moves, the rules of its buffer, modes that are kept, and obstacles."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import CURROT, Samples, SelfpacedError
from selfpaced.teachers.kernel_regression import regress
from selfpaced.teachers.outcome import Outcomes
from selfpaced.teachers.success_buffer import SuccessBuffer
from tests.teachers.spaces import LINE, SQUARE, play, rng

TEACHER = CURROT(threshold=0.5, radius=0.7)
TARGETS = np.zeros((4, 1))


def outcomes(*values):
    return Outcomes(np.arange(float(len(values)))[:, None], np.array(values, float))


def test_the_kernel_regression_weighs_by_distance():
    estimate = regress(np.zeros((1, 1)), np.array([[0.0], [0.3]]), np.array([1.0, 0.0]), 0.21)
    assert estimate[0] == pytest.approx(0.735052, abs=1e-6)


def test_far_from_all_data_the_ten_nearest_count():
    data = np.linspace(0.0, 1.0, 30)[:, None]
    near, far = regress(np.array([[0.0], [50.0]]), data, data[:, 0] > 0.6, 0.01)
    assert near == 0.0
    assert far == 1.0


@pytest.mark.parametrize("bandwidth", [0.02, 0.5])  # few data within reach, or nearly all
def test_the_kernel_regression_is_that_of_its_definition(bandwidth):
    data, queries = rng().random((300, 2)), rng().random((40, 2))
    values = data[:, 0] + data[:, 1] ** 2
    distance = np.linalg.norm(queries[:, None] - data, axis=2)
    weights = np.exp(-0.5 * (distance / bandwidth) ** 2) * (distance <= 3 * bandwidth)
    expected = weights @ values / weights.sum(axis=1)
    np.testing.assert_allclose(regress(queries, data, values, bandwidth), expected, rtol=1e-9)


def test_where_everything_is_easy_a_particle_moves_straight_by_the_radius():
    contexts = replace(SQUARE, target=Samples(np.array([[3.0, 1.0]])))
    states = play(TEACHER, contexts, lambda drawn: np.ones(len(drawn)), 16, num=20)
    first = next(index for index, state in enumerate(states) if state.is_moving)
    goal = np.array([3.0, 1.0])
    for before, after in zip(states[first:], states[first + 1 :], strict=False):
        distance = np.linalg.norm(goal - before.particles, axis=1)
        moved = np.linalg.norm(after.particles - before.particles, axis=1)
        np.testing.assert_allclose(moved, np.minimum(0.7, distance), atol=1e-9)
    np.testing.assert_allclose(states[-1].particles, np.tile(goal, (100, 1)), atol=1e-9)


def test_the_bimodal_target_is_reached_in_twelve_updates_with_half_of_the_particles_per_mode():
    states = play(TEACHER, SQUARE, lambda drawn: np.ones(len(drawn)), 13, num=20)
    last = states[-1].particles
    assert ((last[:, 0] > 0).sum(), (last[:, 0] < 0).sum()) == (50, 50)
    np.testing.assert_allclose(np.abs(last[:, 0]), 3.0, atol=0.05)


def test_particles_stop_in_front_of_contexts_that_are_too_hard():
    states = play(TEACHER, SQUARE, lambda drawn: drawn[:, 1] > 4.0, 40, num=20)
    assert states[-1].is_moving
    assert np.quantile(states[-1].particles[:, 1], 0.1) > 3.0
    assert np.abs(states[-1].particles[:, 0]).mean() > 2.0  # as near as they can


def test_the_order_in_which_candidates_are_tried_does_not_matter(monkeypatch):
    def particles():
        return play(TEACHER, SQUARE, lambda drawn: drawn[:, 1] > 4.0, 20, num=20)[-1].particles

    in_order = particles()
    monkeypatch.setattr("selfpaced.teachers.currot.FIRST_TRIED", ())  # all at once
    np.testing.assert_allclose(in_order, particles(), atol=1e-9)


def test_nothing_moves_while_it_waits():
    waiting = replace(TEACHER, wait=True)
    states = play(waiting, SQUARE, lambda drawn: np.zeros(len(drawn)), 10)
    np.testing.assert_array_equal(states[-1].particles, states[0].particles)
    following = play(TEACHER, SQUARE, lambda drawn: drawn[:, 1] / 20.0, 10)  # below 0.5
    assert following[-1].particles[:, 1].mean() > 6.0  # where returns are highest


def test_scales_of_returns_and_contexts_do_not_matter_without_settings():
    teacher = CURROT()
    stretched = replace(
        SQUARE, lower=(-40.0, 0.5), upper=(40.0, 8.0), target=Samples(np.array([[30.0, 0.6]])),
    )  # fmt: skip
    plain = replace(SQUARE, target=Samples(np.array([[3.0, 0.6]])))
    one = play(teacher, plain, lambda drawn: drawn[:, 1] > 3.0, 8)[-1]
    other = play(teacher, stretched, lambda drawn: 100 * (drawn[:, 1] > 3.0) - 300.0, 8)[-1]
    np.testing.assert_allclose(other.particles, one.particles * (10.0, 1.0), atol=1e-6)


def test_the_radius_is_above_the_noise_of_the_target():
    assert CURROT().init(rng(), LINE).radius == pytest.approx(0.05)
    assert CURROT().init(rng(), SQUARE).radius == pytest.approx(0.05 * np.sqrt(2))
    everywhere = replace(SQUARE, target=Samples(SQUARE.sample_uniform(rng(), 5000)))
    assert CURROT().init(rng(), everywhere).radius > 0.08


def test_before_the_threshold_the_buffer_keeps_the_better_half():
    buffer = SuccessBuffer.empty(1)
    buffer, failed = buffer.after(outcomes(1, 2, 3, 4), 3.5, 4, TARGETS)
    assert buffer.episodes.outcome.tolist() == [1, 2, 3, 4]
    assert failed.num == 0
    buffer, failed = buffer.after(outcomes(0, 3, 5), 3.5, 4, TARGETS)  # median 3
    assert buffer.episodes.outcome.tolist() == [3, 3, 4, 5]
    assert failed.outcome.tolist() == [0]
    assert not buffer.is_reached
    buffer, _ = buffer.after(outcomes(5, 5), 3.5, 4, TARGETS)  # the median before was 4
    assert buffer.is_reached


def test_above_the_threshold_the_buffer_keeps_what_is_nearest_to_the_target():
    buffer = SuccessBuffer(outcomes(5, 1, 5, 5), np.array(True), np.array(0.0))
    buffer, failed = buffer.after(outcomes(4, 2), 3.5, 4, TARGETS)
    assert sorted(buffer.episodes.outcome) == [4, 5, 5, 5]  # the poor one is replaced
    assert failed.outcome.tolist() == [2]
    new = Outcomes(np.array([[0.1], [9.0], [0.0]]), np.array([4.0, 4.5, 2.0]))
    buffer, others = buffer.after(new, 3.5, 4, TARGETS)
    assert sorted(buffer.episodes.context[:, 0]) == [0.0, 0.0, 0.1, 2.0]
    assert others.outcome.tolist() == [4.5, 2]  # a good one that is too far is not lost


def test_a_full_buffer_below_the_threshold_passes_on_only_new_episodes():
    buffer = SuccessBuffer(outcomes(1, 2, 3, 4), np.array(False), np.array(0.0))
    buffer, others = buffer.after(outcomes(3, 3, 3, 5, 0), 9.0, 4, TARGETS)
    assert buffer.episodes.outcome.tolist() == [3, 3, 4, 5]
    assert others.outcome.tolist() == [3, 0]


def test_entries_below_the_threshold_are_drawn_with_more_noise():
    box = np.array([[-100.0], [100.0]])
    good = SuccessBuffer(Outcomes(np.zeros((9, 1)), np.full(9, 5.0)), np.array(True), np.array(0.0))
    poor = good._replace(episodes=Outcomes(np.zeros((9, 1)), np.full(9, 2.5)))
    assert good.draw(rng(), 4000, 5.0, 0.7, box).std() == pytest.approx(0.0035, rel=0.05)
    assert poor.draw(rng(), 4000, 5.0, 0.7, box).std() == pytest.approx(25.0, rel=0.05)


def advice(teacher, state, num_remaining=1000):
    return teacher.advice(SQUARE, state, num_remaining)


def test_too_few_iterations_are_reported():
    state = play(TEACHER, SQUARE, lambda drawn: np.zeros(len(drawn)), 2, num=20)[-1]
    assert any("3 remaining iterations cannot" in text for text in advice(TEACHER, state, 3))
    assert not advice(TEACHER, state, 30)


def test_returns_that_hardly_differ_are_reported_if_they_have_to_give_the_threshold():
    for teacher, num_warnings in [(CURROT(), 1), (CURROT(threshold=0.5), 0)]:
        equal = play(teacher, SQUARE, lambda drawn: np.ones(len(drawn)), 3)[-1]
        texts = advice(teacher, equal)
        assert len(texts) == num_warnings
        assert all(text.startswith("the returns of 120 episodes differ by less") for text in texts)


def test_a_chunk_must_be_smaller_than_the_number_of_particles():
    with pytest.raises(SelfpacedError, match="num_rollouts must be below num_particles"):
        CURROT(num_particles=20, num_rollouts=20)
