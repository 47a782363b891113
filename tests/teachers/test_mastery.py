"""Pacing by mastery: the closed-form steps, what counts as mastered, and where contexts go."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import SPDL, ContextSpace, Episodes, Gaussian
from selfpaced.teachers.mastery import MIN_EPISODES, RETREAT, MasteryMemory, estimate
from selfpaced.teachers.mastery_step import approach, retreat, with_least_std

P = Gaussian(np.array([0.0, 1.0]), np.array([[1.0, 0.0], [0.3, 0.5]]))
TARGET = Gaussian(np.array([3.0, -1.0]), np.array([[0.4, 0.0], [-0.1, 0.2]]))
CONTEXTS = ContextSpace(
    names=("easy", "hard"),
    lower=(-5.0, -5.0),
    upper=(5.0, 5.0),
    initial=Gaussian.diagonal((0.0, 0.0), (1.0, 0.5)),
    target=Gaussian.diagonal((3.0, 2.0), (0.1, 0.1)),
)
MASTERY = SPDL(pacing="mastery")


def rng(number=0):
    return np.random.default_rng(number)


def episodes(contexts, returns, success=False):
    num = len(contexts)
    return Episodes(
        context=contexts,
        first_observation=np.zeros((num, 1)),
        discounted_return=np.broadcast_to(np.asarray(returns, float), (num,)).copy(),
        value=np.zeros(num),
        success=np.broadcast_to(np.asarray(success), (num,)).copy(),
        length=np.full(num, 10),
    )


def train(teacher, contexts, num_updates, outcome, num=50):
    """Update a teacher with episodes whose returns and successes follow from their contexts."""
    state, rows, stream = teacher.init(rng(), contexts), [], rng(1)
    for _ in range(num_updates):
        drawn = teacher.sample(stream, contexts, state, num)
        state, metrics = teacher.update(stream, contexts, state, episodes(drawn, *outcome(drawn)))
        rows.append(metrics)
    return state, rows


def whitened_mean(old, new):
    return np.linalg.solve(old.cholesky, new.mean - old.mean)


# the steps


@pytest.mark.parametrize("units", [(1e-4, 1e5), (1e6, 1e-6)])
def test_units_of_the_components_do_not_matter(units):
    scale = np.array(units)

    def in_units(gaussian):
        return Gaussian(scale * gaussian.mean, scale[:, None] * gaussian.cholesky)

    contexts, slope = rng().normal((1.0, 2.0), (0.3, 0.1), (50, 2)), np.array([1.0, 0.5])
    steps = {
        "approach": (
            approach(P, TARGET, slope, 0.0, 0.05),
            approach(in_units(P), in_units(TARGET), slope, 0.0, 0.05),
        ),
        "retreat": (retreat(P, contexts, 0.05), retreat(in_units(P), scale * contexts, 0.05)),
    }
    for plain, scaled in steps.values():
        assert in_units(plain).kl(scaled) == pytest.approx(0.0, abs=1e-8)
    for teacher in (MASTERY, replace(MASTERY, covariance="diagonal")):
        least = [
            teacher.least_updates(space, teacher.init(rng(), space))
            for space in (
                CONTEXTS,
                replace(
                    CONTEXTS,
                    lower=tuple(scale * CONTEXTS.lower),
                    upper=tuple(scale * CONTEXTS.upper),
                    initial=in_units(CONTEXTS.initial),
                    target=in_units(CONTEXTS.target),
                ),
            )
        ]
        assert least[0] == least[1] < 100


def learned(skill, returns):
    """Return a learner that solves what is up to `skill` standard deviations from the start."""

    def outcome(drawn):
        solved = np.linalg.norm(drawn / (1.0, 0.5), axis=1) < skill
        return returns(drawn, solved), solved

    return outcome


@pytest.mark.parametrize(
    "returns",
    [
        lambda drawn, solved: 1.0 * solved,
        lambda drawn, solved: -np.where(solved, 10.0 + 10.0 * np.abs(drawn[:, 0]), 100.0),
        lambda drawn, solved: 1000.0 + solved,
        lambda drawn, solved: solved * np.exp(rng(2).normal(0.0, 1.5, len(drawn))),
        lambda drawn, solved: solved * (1.0 + 5.0 * np.abs(drawn[:, 0])),
    ],
    ids=["sparse", "falling and negative", "nearly constant", "heavy tails", "rising"],
)
def test_with_success_contexts_arrive_whatever_the_returns(returns):
    _, rows = train(MASTERY, CONTEXTS, 100, learned(7.0, returns))
    assert rows[-1]["teacher/kl_to_target"] < 0.1


def test_without_success_returns_that_fall_on_the_way_stop_the_contexts():
    def outcome(drawn):
        return -10.0 * np.linalg.norm(drawn, axis=1), False

    _, rows = train(MASTERY, CONTEXTS, 100, outcome)
    assert rows[-1]["teacher/kl_to_target"] > 10.0


def test_without_a_constraint_a_step_uses_the_whole_trust_region():
    new = approach(P, TARGET, np.zeros(2), 1.0, 0.05)
    assert new.kl(P) == pytest.approx(0.05, rel=1e-4)
    assert new.kl(TARGET) < P.kl(TARGET)


def test_in_one_dimension_a_step_is_the_known_geometric_mixture():
    old, target = Gaussian.diagonal((0.0,), (1.0,)), Gaussian.diagonal((3.0,), (0.5,))
    new = approach(old, target, np.zeros(1), 1.0, 0.05)
    # precision (4 + λ) / (1 + λ), mean 12 / (4 + λ), for the λ with KL(new ‖ old) = 0.05
    multiplier = 12.0 / new.mean[0] - 4.0
    assert new.std[0] ** -2 == pytest.approx((4.0 + multiplier) / (1.0 + multiplier), rel=1e-6)


def test_a_target_inside_the_trust_region_is_reached_exactly():
    near = Gaussian(P.mean + 0.01, P.cholesky * 1.01)
    new = approach(P, near, np.zeros(2), 1.0, 0.05)
    assert new.kl(near) < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_no_feasible_gaussian_is_nearer_to_the_target(seed):
    stream = rng(seed)
    slope, slack = stream.normal(size=2), stream.uniform(0.0, 0.3)
    best = approach(P, TARGET, slope, slack, 0.05)
    assert best.kl(P) <= 0.05 * (1 + 1e-4)
    assert slack + slope @ whitened_mean(P, best) >= -1e-6
    for _ in range(300):
        noise = 0.02 * stream.normal(size=5)
        other = Gaussian(
            best.mean + noise[:2],
            best.cholesky * np.exp(np.array([[noise[2], 0.0], [0.0, noise[3]]]))
            + np.array([[0.0, 0.0], [noise[4], 0.0]]),
        )
        if other.kl(P) <= 0.05 and slack + slope @ whitened_mean(P, other) >= 0.0:
            assert other.kl(TARGET) >= best.kl(TARGET) - 1e-6


def test_a_constraint_that_binds_holds_with_equality():
    towards = whitened_mean(P, TARGET)
    slope = -towards / np.linalg.norm(towards)  # the target is where competence is lowest
    new = approach(P, TARGET, slope, 0.1, 0.05)
    assert 0.1 + slope @ whitened_mean(P, new) == pytest.approx(0.0, abs=1e-6)


def test_a_retreat_moves_to_the_contexts_within_the_trust_region():
    there = Gaussian.diagonal((-2.0, 0.0), (0.2, 0.2)).sample(rng(), 500)
    new = retreat(P, there, 0.05)
    assert P.kl(new) == pytest.approx(0.05, rel=1e-2)
    assert np.linalg.norm(new.mean - (-2.0, 0.0)) < np.linalg.norm(P.mean - (-2.0, 0.0))


def test_repeated_retreats_end_where_the_contexts_are():
    there, current = Gaussian.diagonal((-2.0, 0.0), (0.2, 0.2)).sample(rng(), 500), P
    for _ in range(200):
        current = retreat(current, there, 0.05)
    np.testing.assert_allclose(current.mean, there.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(current.std, there.std(axis=0), rtol=1e-2)


def test_small_standard_deviations_are_raised_and_correlations_stay():
    raised = with_least_std(P, np.array([2.0, 0.1]))
    np.testing.assert_allclose(raised.std, (2.0, P.std[1]))
    correlation = [g.covariance[0, 1] / g.std.prod() for g in (P, raised)]
    assert correlation[0] == pytest.approx(correlation[1])


# what counts as mastered


def remember(returns, success=False, is_untrained=False):
    contexts = rng().normal(size=(len(returns), 2))
    return MasteryMemory.empty(2).remember(1, episodes(contexts, returns, success), is_untrained)


def test_a_success_is_mastered_whatever_its_return():
    memory = remember([0.0] * 50 + [10.0] * 50, success=[True] * 10 + [False] * 90)
    assert memory.mastered.tolist() == [True] * 10 + [False] * 40 + [True] * 50


def test_without_success_the_middle_between_poor_and_good_returns_decides():
    memory = remember(np.linspace(-100.0, 0.0, 101))
    # poor: the 10 % quantile, -90; good: the mean of the five best, -2
    assert memory.threshold == pytest.approx(-46.0)


def test_returns_of_the_untrained_policy_raise_the_threshold_only_so_far():
    memory = remember(np.linspace(-100.0, 0.0, 101), is_untrained=True)
    assert memory.threshold == pytest.approx(-90.0 + 0.75 * 88.0)


def test_returns_that_hardly_differ_are_all_mastered():
    assert remember(5.0 + 0.01 * rng().normal(size=100)).mastered.all()


def test_old_episodes_are_forgotten_unless_there_are_too_few():
    memory, contexts = MasteryMemory.empty(2), np.zeros((10, 2))
    for iteration in range(1, 31):
        memory = memory.remember(iteration, episodes(contexts, 1.0), is_untrained=False)
    assert memory.iteration.min() == 21
    few = MasteryMemory.empty(2)
    for iteration in range(1, 61):
        few = few.remember(iteration, episodes(contexts[:1], 1.0), is_untrained=False)
    assert len(few.iteration) == MIN_EPISODES


def test_the_estimated_share_is_that_of_a_linear_function_of_the_context():
    stream = rng()
    contexts = P.sample(stream, 20_000)
    white = np.linalg.solve(P.cholesky, (contexts - P.mean).T).T
    mastered = stream.uniform(size=len(contexts)) < 0.6 + white @ (0.1, -0.05)
    memory = MasteryMemory.empty(2)._replace(
        context=contexts, success=mastered, discounted_return=np.full(len(contexts), -1.0),
        poor_return=np.array(0.0), good_return=np.array(1.0),
    )  # fmt: skip
    share, slope = estimate(memory, P)
    assert share == pytest.approx(0.6, abs=0.02)
    np.testing.assert_allclose(slope, (0.1, -0.05), atol=0.02)


# where contexts go


def test_a_learner_that_masters_everything_arrives_in_the_least_number_of_updates():
    state = MASTERY.init(rng(), CONTEXTS)
    least = MASTERY.least_updates(CONTEXTS, state)
    assert least < 100
    _, rows = train(MASTERY, CONTEXTS, MASTERY.update_offset + least, lambda drawn: (1.0, True))
    assert rows[-1]["teacher/kl_to_target"] < 0.1 < rows[-2]["teacher/kl_to_target"]


def test_a_learner_that_masters_nothing_stays_at_the_start():
    state, rows = train(
        MASTERY, CONTEXTS, 30, lambda drawn: (rng(3).uniform(size=len(drawn)) ** 8, False)
    )
    assert all(row.get("teacher/direction", 0.0) <= 0.0 for row in rows)
    assert np.linalg.norm(state.mean) < 1.0


def test_contexts_wait_where_the_mastered_share_is_the_level():
    def outcome(drawn):  # mastered with a probability that falls from 1 to 0 along the way
        progress = np.clip(drawn[:, 0] / 3.0, 0.0, 1.0)
        return 1.0 * (rng(4).uniform(size=len(drawn)) > progress), False

    state, _ = train(MASTERY, CONTEXTS, 400, lambda drawn: outcome(drawn), num=100)
    progress = np.clip(CONTEXTS.clip(MASTERY.gaussian(CONTEXTS, state).sample(rng(), 4000)), 0, 3)
    assert RETREAT - 0.1 < 1.0 - progress[:, 0].mean() / 3.0 < 0.9


def test_from_the_target_contexts_first_move_back_to_what_is_mastered():
    from_target = replace(MASTERY, start="target")
    wide = replace(CONTEXTS, target=Gaussian.diagonal((0.0, 0.0), (2.0, 2.0)))
    state, _ = train(
        from_target,
        wide,
        60,
        lambda drawn: (1.0 * (drawn < -1.0).all(axis=1), (drawn < -1.0).all(axis=1)),
        num=100,
    )
    assert (state.mean < -0.8).all()


def test_contexts_that_have_mastered_the_target_stay_there_when_the_learner_fails():
    state, _ = train(MASTERY, CONTEXTS, 150, lambda drawn: (drawn[:, 0], True))
    assert MASTERY.gaussian(CONTEXTS, state).kl(CONTEXTS.target) < 0.1
    for _ in range(20):
        drawn = MASTERY.sample(rng(), CONTEXTS, state, 50)
        state, metrics = MASTERY.update(rng(), CONTEXTS, state, episodes(drawn, -10.0))
    assert metrics["teacher/mastered"] < RETREAT
    assert metrics["teacher/kl_to_target"] < 0.1


@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 0.0), (1.0, -50.0), (0.01, 0.02)])
def test_the_scale_and_the_sign_of_returns_do_not_matter(scale, shift):
    def outcome(drawn):
        return 10.0 * (drawn[:, 0] < 1.0) + drawn[:, 1], False

    plain, _ = train(MASTERY, CONTEXTS, 40, outcome)
    scaled, _ = train(
        MASTERY, CONTEXTS, 40, lambda drawn: (scale * outcome(drawn)[0] + shift, False)
    )
    np.testing.assert_allclose(plain.mean, scaled.mean, rtol=1e-6)


def test_ten_dimensions_with_nearly_flat_returns_arrive_within_seventy_updates():
    size = 10
    pinned = np.r_[0.01, np.full(size - 1, 0.5)]
    contexts = ContextSpace(
        names=tuple(f"c{number}" for number in range(size)),
        lower=(-3.0,) * size,
        upper=(3.0,) * size,
        initial=Gaussian.diagonal(np.zeros(size), pinned),
        target=Gaussian.diagonal(np.r_[0.0, np.ones(size - 1)], np.r_[0.01, np.full(9, 0.1)]),
    )
    stream = rng(5)
    _, rows = train(
        MASTERY, contexts, 70, lambda drawn: (5.0 + 0.1 * stream.normal(size=20), False), num=20
    )
    assert rows[-1]["teacher/kl_to_target"] < 0.1


def test_the_settings_of_mastery_are_checked():
    with pytest.raises(ValueError, match="pacing must be one of tradeoff, mastery"):
        SPDL(pacing="hope")
    with pytest.raises(ValueError, match=r"mastery_level must lie in \[0.4, 1\], got 0.1"):
        SPDL(pacing="mastery", mastery_level=0.1)
