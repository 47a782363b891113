"""SPDL with a threshold: three cases with known optima, and its warnings."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from selfpaced import PROBLEMS, SPDL, ContextSpace, Gaussian, ThresholdSPDL
from tests.teachers.spaces import episodes, rng

START, TARGET = Gaussian.diagonal((0.0,), (1.0,)), Gaussian.diagonal((3.0,), (0.5,))
CONTEXTS = ContextSpace(("x",), (-50.0,), (50.0,), START, TARGET)
GRID = norm.ppf((np.arange(8000) + 0.5) / 8000)[:, None]
EPISODES = episodes(GRID, 5.0 - GRID[:, 0])  # so that J(q) = 5 - mean


def step(threshold, reached=False, **changes):
    teacher = ThresholdSPDL(threshold=threshold, update_offset=0, **changes)
    state = teacher.init(rng(), CONTEXTS)._replace(is_reached=np.array(reached))
    state, metrics = teacher.update(rng(), CONTEXTS, state, EPISODES)
    return teacher.gaussian(CONTEXTS, state), state, metrics


@pytest.mark.parametrize(
    ("threshold", "mean", "std", "kl"),
    [
        (-100.0, 0.317848, 1.005416, 15.211053),
        (4.8, 0.2, 0.864894, 16.128085),
        (4.9, 0.1, 0.824309, 17.179032),
        (4.99, 0.01, 0.812237, 18.214473),
    ],
)
def test_above_the_threshold_the_target_is_approached_as_far_as_it_allows(threshold, mean, std, kl):
    new, state, metrics = step(threshold)
    assert new.mean[0] == pytest.approx(mean, abs=1e-4)
    assert new.std[0] == pytest.approx(std, abs=1e-4)
    assert new.kl(TARGET) == pytest.approx(kl, abs=1e-3)
    assert START.kl(new) <= 0.05
    assert state.is_reached
    assert metrics["teacher/stays"] == 0


def test_below_the_threshold_the_value_is_improved_until_it_was_reached():
    new, state, _ = step(5.01)
    assert new.mean[0] < 0
    assert START.kl(new) == pytest.approx(0.05, rel=0.01)
    assert not state.is_reached


def test_after_a_collapse_contexts_stay():
    new, state, metrics = step(5.01, reached=True)
    assert new.kl(START) == 0
    assert state.is_reached
    assert metrics["teacher/stays"] == 1


def test_one_program_serves_however_many_of_the_seeds_move(compilations):
    teacher = ThresholdSPDL(threshold=4.8, update_offset=0)
    states = [teacher.init(rng(), CONTEXTS)] * 5
    few = EPISODES._replace(**{name: column[::200] for name, column in EPISODES._asdict().items()})
    poor = few._replace(value=few.value - 1.0)

    def update(*ended):
        moved = teacher.update_block([rng()] * 5, CONTEXTS, states, ended)
        return [float(state.mean[0]) for state, _ in moved]

    means = update(few, few, few, few, few)
    before = compilations.num
    assert update(few, poor, few, poor, poor)[2] == means[2]
    assert compilations.num == before


def test_the_signal_may_be_the_return():
    teacher = ThresholdSPDL(threshold=4.8, update_offset=0, signal="return")
    wrong_critic = EPISODES._replace(value=np.zeros(len(GRID)))
    state, _ = teacher.update(rng(), CONTEXTS, teacher.init(rng(), CONTEXTS), wrong_critic)
    assert state.mean[0] == pytest.approx(0.2, abs=1e-3)


def test_nothing_moves_before_the_offset():
    teacher = ThresholdSPDL(threshold=-100.0, update_offset=2)
    state = teacher.init(rng(), CONTEXTS)
    means = []
    for _ in range(3):
        state, _ = teacher.update(rng(), CONTEXTS, state, EPISODES)
        means.append(float(state.mean[0]))
    assert means[:2] == [0.0, 0.0]
    assert means[2] > 0.3


@pytest.mark.parametrize("problem", ["point-mass-3d", "point-mass-2d"])
def test_the_target_takes_as_many_updates_as_with_spdl(problem):
    contexts = PROBLEMS[problem].contexts
    bound = (0.2, 0.1875, 0.1)[: contexts.size]
    teacher = ThresholdSPDL(threshold=-1.0, update_offset=0, std_lower_bound=bound)
    state, num = teacher.init(rng(), contexts), 0
    while teacher.gaussian(contexts, state).kl(contexts.target) >= 0.1:
        drawn = teacher.sample(rng(num), contexts, state, 20)
        state, _ = teacher.update(rng(), contexts, state, episodes(drawn, 1.0))
        num += 1
    tradeoff = SPDL(pacing="tradeoff", std_lower_bound=bound)
    assert num == tradeoff.least_updates(contexts, tradeoff.init(rng(), contexts))


def test_thresholds_out_of_reach_and_collapses_are_reported():
    teacher = ThresholdSPDL(threshold=9.0)
    state = teacher.init(rng(), CONTEXTS)._replace(num_iterations=np.array(70))
    (text,) = teacher.advice(CONTEXTS, state, 100)
    assert "has not reached the threshold 9 in 65 updates" in text
    stuck = state._replace(is_reached=np.array(True), num_stays=np.array(60))
    (text,) = teacher.advice(CONTEXTS, stuck, 100)
    assert "have stayed in 60 of 65 updates" in text
    assert replace(teacher, threshold=0.0).advice(CONTEXTS, teacher.init(rng(), CONTEXTS), 9) == ()
