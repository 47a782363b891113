"""PLR: ranks, staleness, and what the buffer keeps."""

import numpy as np
import pytest

from selfpaced import PLR
from selfpaced.teachers.plr import PLRState
from tests.teachers.spaces import SQUARE, episodes, rng


def buffer(num=100, staleness=0.0):
    scores = np.arange(float(num))[::-1]
    return PLRState(SQUARE.sample_uniform(rng(), num), scores, scores, np.full(num, staleness))


@pytest.mark.parametrize(
    ("temperature", "expected"), [(0.45, (0.679, 0.145, 0.059)), (0.15, (0.990, 0.010, 0.001))]
)
def test_probabilities_fall_with_the_rank_of_the_score(temperature, expected):
    teacher = PLR(temperature=temperature, staleness=0.0)
    np.testing.assert_allclose(teacher.probabilities(buffer())[:3], expected, atol=6e-4)


def test_stale_contexts_are_played_again():
    state = buffer(4)._replace(staleness=np.array([0.0, 0.0, 1.0, 3.0]))
    np.testing.assert_allclose(PLR(staleness=1.0).probabilities(state), [0, 0, 0.25, 0.75])
    np.testing.assert_allclose(PLR(staleness=1.0).probabilities(buffer(4)), [0.25] * 4)


def test_the_score_is_the_gap_between_the_best_return_and_the_value():
    teacher, context = PLR(), np.array([[1.0, 2.0]])
    state = teacher.init(rng(), SQUARE)
    for reached, value, score in ((3.0, 1.0, 2.0), (2.0, 1.5, 1.5), (4.0, 5.0, 0.0)):
        played = episodes(context.astype(np.float32), reached, value=value)
        state, _ = teacher.update(rng(), SQUARE, state, played)
        assert state.score.tolist() == [score]
    assert state.best_return.tolist() == [4.0]


def test_the_lowest_score_is_replaced_by_a_higher_one():
    teacher = PLR(buffer_size=3)
    contexts = SQUARE.sample_uniform(rng(), 5)
    state = teacher.init(rng(), SQUARE)
    state, _ = teacher.update(
        rng(), SQUARE, state, episodes(contexts, [1.0, 2.0, 3.0, 0.5, 2.5], value=0.0)
    )
    assert sorted(state.score) == [2.0, 2.5, 3.0]
    assert state.staleness.max() == 3.0
    assert state.staleness.min() == 0.0


def test_the_share_of_replays_is_p_replay():
    teacher, state = PLR(p_replay=0.85), buffer(5)
    drawn = teacher.sample(rng(), SQUARE, state, 2000)
    known = (drawn[:, None] == state.context).all(axis=2).any(axis=1)
    assert known.mean() == pytest.approx(0.85, abs=0.03)
