"""Contexts issued are contexts seen in vectors that take one context per row."""

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from selfpaced import Curriculum, CurriculumRows, Random, SelfpacedError
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from tests.integrations.counting import CONTEXTS, Counting


@pytest.fixture(name="rows")
def _rows(monkeypatch):
    import gymnasium

    gymnasium.register("Counting-v0", Counting, max_episode_steps=10)
    curriculum = Curriculum(Random(), CONTEXTS, seed=1)
    rows = CurriculumRows(GymnasiumEnvironment("Counting-v0").make(3), curriculum, discount=0.5)
    yield rows
    rows.close()
    del gymnasium.registry["Counting-v0"]


def test_contexts_are_used_in_the_order_of_their_draws_and_recorded_once(rows) -> None:
    issued, sample = [], rows.curriculum.sample
    recorded, record = [], rows.curriculum.record

    def remember_issued(num):
        drawn = sample(num)
        issued.extend(drawn.tolist())
        return drawn

    def remember_recorded(context, *outcome):
        recorded.append((*context.tolist(), *outcome[:3]))
        record(context, *outcome)

    rows.curriculum.sample, rows.curriculum.record = remember_issued, remember_recorded

    rows.reset(seed=1)
    for _ in range(60):
        *_, terminated, truncated, _ = rows.step(np.zeros((3, 1)))
        ended = terminated | truncated
        if ended.any():
            rows.reset(options={"reset_mask": ended})
    seen = [copy.unwrapped.seen for copy in rows.env.unwrapped.envs]
    starts = [context for row in seen for context in row]
    assert sorted(starts) == sorted(issued)
    assert len(recorded) == len(issued) - 3  # those in flight
    for length, _, discounted_return, steps, _ in recorded:
        assert steps == round(length)
        assert discounted_return == 2.0 - 2.0 ** (1 - steps)


def test_a_row_whose_episode_is_over_is_recorded_once(rows) -> None:
    rows.reset(seed=1)
    for _ in range(20):
        rows.step(np.zeros((3, 1)))
    assert rows.curriculum.num_recorded == 3


def test_a_vector_that_resets_by_itself_is_refused() -> None:
    with pytest.raises(SelfpacedError, match="use CurriculumVectorEnv"):
        CurriculumRows(SyncVectorEnv([Counting] * 2), Curriculum(Random(), CONTEXTS))
