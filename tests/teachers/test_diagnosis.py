"""What teachers warn of: each sign has a known course of synthetic episodes that shows it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from selfpaced import (
    ADR,
    ALPGMM,
    CURROT,
    DORAEMON,
    GRADIENT,
    SPDL,
    ContextSpace,
    Episodes,
    Gaussian,
    GoalGAN,
    Learnability,
    Staircase,
)
from selfpaced.teachers.diagnosis import LONG_WAIT, RECENT

CONTEXTS = ContextSpace(
    names=("mass", "torque"),
    lower=(0.5, 0.5),
    upper=(3.0, 8.0),
    initial=Gaussian.diagonal((1.0, 6.0), (0.2, 1.0)),
    target=Gaussian.diagonal((2.0, 1.8), (0.05, 0.05)),
)
TRADEOFF = SPDL(pacing="tradeoff", zeta=1.4, update_offset=2, alpha_offset=5)
MASTERY = SPDL(pacing="mastery", update_offset=2)


def constant(number):
    return lambda contexts: np.full(len(contexts), number)


def nearly_always(contexts):
    return np.arange(len(contexts)) > 0


def trained(teacher, num_iterations, num=60, returns=20.0, value=None, success=True, state=None):
    """Return the state after updates from episodes; numbers, or functions of their contexts."""
    stream = np.random.default_rng(1)
    state = teacher.init(stream, CONTEXTS) if state is None else state
    columns = [returns, returns if value is None else value, success]
    for _ in range(num_iterations):
        drawn = teacher.sample(stream, CONTEXTS, state, num)
        ended = [each if callable(each) else constant(each) for each in columns]
        outcome = [each(drawn) for each in ended]
        length = np.full(num, 200)
        state, _ = teacher.update(stream, CONTEXTS, state, Episodes(drawn, drawn, *outcome, length))
    return state


def advice(teacher, state, num_remaining=1000):
    return teacher.advice(CONTEXTS, state, num_remaining)


def kind(text):
    return re.sub(r"\d+", "", text)


@pytest.mark.parametrize("teacher", [TRADEOFF, MASTERY], ids=lambda teacher: teacher.pacing)
@pytest.mark.parametrize("num_iterations", [0, 3, 30, 100])
def test_a_curriculum_that_works_causes_no_warning(teacher, num_iterations):
    state = trained(teacher, num_iterations, success=nearly_always)
    assert advice(teacher, state) == ()
    if num_iterations == 100:
        assert teacher.gaussian(CONTEXTS, state).kl(CONTEXTS.target) < 0.1


# pacing by the trade-off


def test_few_episodes_per_update_are_named_with_how_many_would_do():
    state = trained(TRADEOFF, 6, num=14)
    (text,) = advice(TRADEOFF, state)
    assert text.startswith("14 episodes per update are few for the 5 parameters of the Gaussian")
    assert "about 15 would do" in text
    assert advice(TRADEOFF, trained(TRADEOFF, 6, num=15)) == ()


def test_a_window_or_a_bound_that_acts_makes_up_for_few_episodes():
    for better in (
        replace(TRADEOFF, window=15),
        replace(TRADEOFF, std_lower_bound=(0.1, 0.1), kl_threshold=100.0),
    ):
        assert advice(better, trained(better, 6, num=10)) == ()


def test_few_episodes_do_not_matter_at_the_target():
    assert advice(TRADEOFF, trained(TRADEOFF, 100, num=10)) == ()


def test_a_collapsed_std_is_given_for_every_component():
    noise = np.random.default_rng(3)
    teacher = replace(TRADEOFF, zeta=0.01)
    values = lambda contexts: 20.0 + 0.3 * noise.normal(size=len(contexts))  # noqa: E731
    state = trained(teacher, 600, num=5, value=values)
    assert (teacher.gaussian(CONTEXTS, state).std < (0.02, 0.05)).any()
    texts = advice(teacher, state, num_remaining=1)
    assert re.match(
        r"the std of the contexts has fallen to \d+\.\d % \(mass\), \d+\.\d % \(torque\) of its "
        r"start while the KL to the target is \d+: the contexts cannot move on; likely cause: few "
        r"episodes",
        texts[0],
    )
    assert not any("hardly move" in text or "cannot reach" in text for text in texts)


@pytest.mark.parametrize(
    ("mean", "std", "is_collapsed"),
    [
        ((1.0, 6.0), (0.2, 0.009), True),  # 0.9 % of its start, far from the target
        ((1.0, 6.0), (0.2, 0.04), True),  # narrower than the target, 4 % of its start
        ((1.0, 6.0), (0.2, 0.15), False),
        ((1.0, 6.0), (0.04, 0.5), False),  # narrower than the target, but a fifth of its start
        ((2.0, 1.8), (0.05, 0.05), False),  # the target
        ((2.0, 1.8), (0.05, 0.0004), True),  # 0.8 % of the target's
    ],
)
def test_a_std_is_collapsed_if_it_is_too_small_to_travel_or_to_cover_the_target(
    mean, std, is_collapsed
):
    state = trained(TRADEOFF, 10)._replace(mean=np.array(mean), cholesky=np.diag(std))
    texts = advice(TRADEOFF, state)
    assert any("the std of the contexts has fallen" in text for text in texts) is is_collapsed


def test_contexts_that_hardly_move_although_episodes_succeed_are_reported_with_both_kls():
    teacher = replace(TRADEOFF, zeta=0.01)
    values = lambda contexts: 20.0 + contexts[:, 1]  # noqa: E731
    state = trained(teacher, 10 + RECENT, value=values)
    (text,) = advice(teacher, state)
    before, now = state.progress.kl_to_target[[0, -1]]
    assert text.startswith("contexts hardly move although 100 % of the latest episodes succeed")
    assert f"was {before:.0f} and is {now:.0f} after 20 iterations" in text
    assert "raise zeta" in text
    fails = trained(teacher, 10 + RECENT, value=values, success=False)
    assert advice(teacher, fails) == ()


def test_negative_returns_are_the_cause_and_not_the_number_of_iterations():
    state = trained(TRADEOFF, 30, returns=-5.0)
    (text,) = advice(TRADEOFF, state, num_remaining=1)
    assert text.startswith("the mean return is negative, so alpha stays zero")
    assert "add a constant to the reward" in text


def test_a_bound_that_never_acts_is_reported_from_the_start():
    teacher = replace(TRADEOFF, std_lower_bound=(0.1, 0.1))
    (text,) = advice(teacher, trained(teacher, 0))
    assert text == (
        "std_lower_bound has no effect: it acts while the KL to the target is above kl_threshold "
        "8000, and the KL starts at 3930.6; lower kl_threshold, or omit std_lower_bound"
    )
    acting = replace(teacher, kl_threshold=100.0)
    assert advice(acting, trained(acting, 0)) == ()
    from_target = replace(teacher, start="target")  # the KL grows first
    assert advice(from_target, trained(from_target, 0)) == ()


def test_a_bound_that_is_never_released_is_the_cause_and_not_the_number_of_iterations():
    teacher = replace(TRADEOFF, std_lower_bound=(0.2, 0.2), kl_threshold=5.0)
    (text,) = advice(teacher, trained(teacher, 0), num_remaining=5)
    # twice 0.5 * (16 - 1 - log 16)
    assert (
        "with it the KL is at least 12.2, and it acts until the KL is below kl_threshold 5" in text
    )


def test_successes_that_fade_on_the_way_are_reported():
    state = trained(TRADEOFF, 60, success=lambda contexts: contexts[:, 1] > 3.5)
    (text,) = advice(TRADEOFF, state)
    peak, kl = 100 * state.progress.peak_success, state.progress.peak_kl
    assert text.startswith(
        f"successes fade while contexts move: {peak:.0f} % of the episodes succeeded at a KL to "
        f"the target of {kl:.0f}, 0 % succeed at 0; likely cause: contexts move faster"
    )
    assert "lower zeta" in text


# pacing by mastery


def test_few_episodes_for_mastery_are_named_with_how_many_would_do():
    (text,) = advice(MASTERY, trained(MASTERY, 10, num=3))
    assert text.startswith(
        "30 episodes in 10 iterations are few: mastery is estimated from at least 40"
    )
    assert "collect at least 4 per iteration" in text
    assert advice(MASTERY, trained(MASTERY, 10, num=4)) == ()


def test_iterations_without_any_episode_are_few_episodes():
    state, stream = MASTERY.init(None, CONTEXTS), np.random.default_rng(0)
    for _ in range(5):
        state, _ = MASTERY.update(stream, CONTEXTS, state, Episodes([], [], [], [], [], []))
    (text,) = advice(MASTERY, state)
    assert text.startswith("0 episodes in 5 iterations are few")


def test_a_long_wait_below_the_level_names_share_and_level():
    def half(contexts):
        return np.arange(len(contexts)) % 2 == 0

    wait = {"returns": lambda contexts: 1.0 * half(contexts), "success": half}
    state = trained(MASTERY, LONG_WAIT + 1, **wait)
    assert advice(MASTERY, state) == ()
    (text,) = advice(MASTERY, trained(MASTERY, 1, state=state, **wait), num_remaining=1)
    assert text.startswith("contexts have not approached the target for 50 updates: 50 % of the")
    assert "mastery_level is 70 %" in text


def test_a_long_wait_without_any_success_is_blamed_on_returns_that_cannot_be_compared():
    def cost(contexts):
        return -10.0 * np.abs(contexts[:, 1] - 6.0)  # as good as can be, and lower on the way

    state = trained(MASTERY, LONG_WAIT + 20, returns=cost, success=False)
    _, text = sorted(advice(MASTERY, state), key=len)
    assert text.startswith("contexts have not approached the target for")
    assert "likely cause: without success, returns of all contexts are measured by one" in text
    assert "report success" in text


def test_a_success_that_is_never_true_is_called_not_reported_or_never_true():
    (text,) = advice(MASTERY, trained(MASTERY, 2, num=50, success=False))
    assert text.startswith(
        'none of 100 episodes succeeded: info["success"] is not reported or has never been true, '
        "so mastery is judged by returns alone"
    )
    assert advice(MASTERY, trained(MASTERY, 1, num=99, success=False)) == ()
    assert advice(TRADEOFF, trained(TRADEOFF, 10, success=False)) == ()  # it ignores success


def test_returns_that_count_as_mastered_without_success_are_reported():
    state = trained(MASTERY, RECENT, success=lambda contexts: np.arange(len(contexts)) == 0)
    (text,) = advice(MASTERY, state)
    assert text.startswith("100 % of the latest episodes are mastered by their returns, but 2 %")


def test_fading_successes_have_a_remedy_of_mastery():
    state = trained(MASTERY, 60, success=lambda contexts: contexts[:, 1] > 3.5)
    assert any("successes fade" in text and "raise mastery_level" in text
               for text in advice(MASTERY, state))  # fmt: skip


@pytest.mark.parametrize("teacher", [TRADEOFF, MASTERY], ids=lambda teacher: teacher.pacing)
def test_too_few_iterations_are_reported_only_if_they_were_too_few_from_the_start(teacher):
    start = trained(teacher, 0)
    (text,) = advice(teacher, start, num_remaining=10)
    assert text.startswith("10 remaining iterations cannot reach the target")
    progress = trained(teacher, 5, num=200, success=nearly_always).progress
    waited = start._replace(
        num_iterations=np.array(200), num_updates=np.array(198), progress=progress
    )
    assert advice(teacher, waited, num_remaining=10) == ()  # 210 iterations would have done


def test_texts_of_one_kind_differ_in_digits_only():
    few = [trained(MASTERY, num_iterations, num=3) for num_iterations in (7, 12)]
    assert len({kind(text) for state in few for text in advice(MASTERY, state)}) == 1
    wait = {
        "returns": lambda c: 1.0 * (np.arange(len(c)) < 7),
        "success": lambda c: np.arange(len(c)) < 1,
    }
    long = [trained(MASTERY, num_iterations, **wait) for num_iterations in (60, 110)]
    assert len({kind(text) for state in long for text in advice(MASTERY, state)}) == 1
    state = trained(TRADEOFF, 10)
    narrow = [
        state._replace(mean=np.array(mean), cholesky=np.diag(std))
        for mean, std in [((1.0, 6.0), (0.2, 0.009)), ((1.9, 2.5), (0.0001, 0.5))]
    ]
    assert len({kind(text) for state in narrow for text in advice(TRADEOFF, state)}) == 1
    scarce = [trained(TRADEOFF, 6, num=num) for num in (5, 11)]
    assert len({kind(text) for state in scarce for text in advice(TRADEOFF, state)}) == 1


# other teachers


LISTENERS = (
    ADR(), CURROT(signal="success"), DORAEMON(), GRADIENT(signal="success"), Learnability(),
    MASTERY, Staircase(),
)  # fmt: skip


@pytest.mark.parametrize("teacher", LISTENERS, ids=lambda teacher: type(teacher).__name__)
def test_success_that_is_never_or_always_true_is_reported(teacher):
    often = trained(teacher, 4, num=50, success=lambda drawn: np.arange(len(drawn)) < 30)
    for success, expected in [(False, "none of 200 episodes"), (True, "all 200 episodes")]:
        (text,) = advice(teacher, trained(teacher, 4, num=50, success=success))
        assert text.startswith(f'{expected} succeeded: info["success"] is ')
        assert advice(teacher, trained(teacher, 4, num=50, state=often, success=success)) == ()


def test_goal_gan_without_any_success_is_told_apart_from_contexts_that_are_too_hard():
    teacher = GoalGAN(pretrain=False, num_rollouts=20, num_iterations=1)
    (text,) = advice(teacher, trained(teacher, 2, num=50, success=False))
    assert text.startswith('none of 100 episodes succeeded: info["success"] is not reported')
    (text,) = advice(teacher, trained(teacher, 2, num=50, success=True))
    assert "100 % of the episodes succeed: start from harder contexts" in text


def test_goal_gan_with_too_few_labels_is_told_how_many_there_are():
    teacher = GoalGAN(pretrain=False, num_rollouts=200)
    state = trained(teacher, 2, num=20, success=lambda contexts: np.arange(len(contexts)) % 2 == 0)
    (text,) = advice(teacher, state, num_remaining=10)
    assert text.startswith("the generator will not be trained before the end: at 10.0 labelled")
    assert advice(teacher, state, num_remaining=20) == ()


def test_alp_gmm_says_how_many_episodes_there_are_per_iteration():
    teacher = ALPGMM(num_rollouts=100)
    (text,) = advice(teacher, trained(teacher, 2, num=5), num_remaining=10)
    assert "at 5.0 episodes per iteration there will be fewer than the 100 episodes" in text
