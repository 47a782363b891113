from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from selfpaced import SPDL, ContextSpace, Episodes, Gaussian, SelfpacedError
from selfpaced.registry import PROBLEMS
from selfpaced.training.teaching import TeacherBlock

POINT_MASS_3D = PROBLEMS["point-mass-3d"].contexts
POINT_MASS_2D = PROBLEMS["point-mass-2d"].contexts
RNG = np.random.default_rng(0)
TEACHER = SPDL(
    pacing="tradeoff", zeta=1.4, alpha_offset=3, update_offset=2, std_lower_bound=(0.2, 0.1875, 0.1)
)


def episodes_for(state, num=40, value=lambda context: context[:, 0], mean_return=5.0, seed=0):
    contexts = TEACHER.sample(np.random.default_rng(seed), POINT_MASS_3D, state, num)
    return Episodes(
        context=contexts,
        first_observation=contexts,
        discounted_return=np.full(num, mean_return),
        value=value(contexts),
        success=np.zeros(num, bool),
        length=np.full(num, 100),
    )


def taught(teacher, iterations, **episodes):
    """Return the states, the initial one first, and the metrics of successive updates."""
    state = teacher.init(RNG, POINT_MASS_3D)
    states, history = [state], []
    for seed in range(iterations):
        ended = episodes_for(state, seed=seed, **episodes)
        state, metrics = teacher.update(RNG, POINT_MASS_3D, state, ended)
        states.append(state)
        history.append(metrics)
    return states, history


@pytest.mark.parametrize(
    ("contexts", "bound", "threshold", "least"),
    [
        (POINT_MASS_3D, (0.2, 0.1875, 0.1), 8000.0, 57),
        (POINT_MASS_2D, (0.2, 0.1875), 8000.0, 46),
        (
            ContextSpace(  # ball catching
                names=("phi", "r", "d_x"),
                lower=(0.392699, 0.6, 0.75),
                upper=(1.570796, 1.1, 4.0),
                initial=Gaussian.diagonal((0.68, 0.9, 0.85), np.sqrt((1e-3, 1e-3, 0.1))),
                target=Gaussian.diagonal((1.060288, 0.85, 2.375), np.sqrt((0.2 * np.pi, 0.15, 1))),
            ),
            None,
            0.0,
            20,
        ),
    ],
)
def test_the_least_number_of_updates_to_the_target_is_the_computed_one(
    contexts, bound, threshold, least
):
    teacher = SPDL(pacing="tradeoff", std_lower_bound=bound, kl_threshold=threshold)
    state = teacher.init(RNG, contexts)
    assert abs(teacher.least_updates(contexts, state) - least) <= 1
    assert teacher.least_updates(contexts, state, give_up_after=10) == 11


def test_nothing_moves_before_the_offset():
    states, history = taught(TEACHER, 3)
    for state in states[1:3]:
        np.testing.assert_array_equal(state.mean, states[0].mean)
    assert "teacher/alpha" not in history[1]
    assert (states[3].mean != states[0].mean).any()


def test_the_target_pulls_from_update_n_alpha_on():
    _, history = taught(TEACHER, 6)
    alphas = [metrics["teacher/alpha"] for metrics in history[2:]]
    assert alphas[:2] == [0.0, 0.0]
    assert min(alphas[2:]) > 0.0


def test_alpha_keeps_the_pull_in_proportion_to_the_mean_return():
    states, history = taught(TEACHER, 5, mean_return=3.0)
    kl = TEACHER.gaussian(POINT_MASS_3D, states[4]).kl(POINT_MASS_3D.target)
    assert history[4]["teacher/alpha"] == pytest.approx(1.4 * 3.0 / kl)


def test_spdl_never_moves_further_than_max_kl():
    states, history = taught(TEACHER, 30)
    for before, after, metrics in zip(states, states[1:], history, strict=False):
        moved = TEACHER.gaussian(POINT_MASS_3D, before).kl(TEACHER.gaussian(POINT_MASS_3D, after))
        assert moved <= 0.05 + 1e-6
        if "teacher/kl_moved" in metrics:
            assert metrics["teacher/kl_moved"] == pytest.approx(moved, abs=1e-6)


def test_without_a_pull_the_contexts_go_where_the_value_is():
    states, _ = taught(replace(TEACHER, alpha_offset=1000), 20, value=lambda c: c[:, 0])
    assert states[-1].mean[0] > states[0].mean[0] + 1.0


def test_with_equal_values_everywhere_the_pull_leads_to_the_target():
    states, history = taught(TEACHER, 120, value=lambda c: np.full(len(c), 5.0))
    assert history[-1]["teacher/kl_to_target"] < 0.1
    np.testing.assert_allclose(states[-1].mean, POINT_MASS_3D.target.mean, atol=0.01)


def test_the_standard_deviation_stays_above_its_bound_while_the_target_is_far():
    wide = (0.5, 0.5, 0.3)  # at the target this is still further away than the threshold
    teacher = replace(TEACHER, std_lower_bound=wide)
    states, history = taught(teacher, 60, value=lambda c: np.full(len(c), 5.0))
    for state in states:
        assert (np.diag(state.cholesky) >= np.array(wide) - 1e-9).all()
    assert history[-1]["teacher/bounds_active"] == 3


def test_the_bound_is_released_once_the_target_is_near():
    states, _ = taught(TEACHER, 80, value=lambda c: np.full(len(c), 5.0))
    assert (np.diag(states[-1].cholesky) < 0.01).all()


def test_an_iteration_without_a_finished_episode_changes_no_distribution():
    states, _ = taught(TEACHER, 5)
    empty = Episodes(*(np.zeros((0, 3)),) * 2, *(np.zeros(0),) * 4)
    after, metrics = TEACHER.update(RNG, POINT_MASS_3D, states[-1], empty)
    np.testing.assert_array_equal(after.mean, states[-1].mean)
    assert metrics["teacher/kl_to_target"] > 0


def test_metrics_show_whether_to_trust_the_update():
    _, history = taught(TEACHER, 5)
    metrics = history[-1]
    assert metrics["teacher/accepted"] == 1.0
    assert 0 < metrics["teacher/effective_samples"] <= 40
    assert 0 <= metrics["teacher/clipped_share"] <= 1
    assert metrics["teacher/trust_region_active"] == 1.0


def test_a_negative_mean_return_keeps_alpha_at_zero_and_causes_a_warning():
    states, history = taught(TEACHER, 5, mean_return=-1.0)
    assert history[-1]["teacher/alpha"] == 0.0
    advice = TEACHER.advice(POINT_MASS_3D, states[-1], 1000)
    assert any("mean return is negative" in text for text in advice)


def test_too_few_iterations_cause_a_warning_and_enough_do_not():
    state = TEACHER.init(RNG, POINT_MASS_3D)
    advice = TEACHER.advice(POINT_MASS_3D, state, 50)
    assert any("cannot reach the target" in text for text in advice)
    assert TEACHER.advice(POINT_MASS_3D, state, 200) == ()


@pytest.mark.parametrize(
    ("num_iterations", "num_updates", "num_remaining", "beginning"),
    [
        (0, 0, 50, "50 remaining iterations cannot reach the target: it has weight in at most 46 "
         "of them, too few with max_kl 0.05; train longer"),  # 2 + 3 - 1 without a pull
        (7, 5, 5, "5 remaining iterations cannot reach the target: it has weight in at most 5 of"),
        (7, 5, 1, "1 remaining iterations cannot reach the target: it has weight in at most 1 of"),
        (0, 0, 4, "4 remaining iterations cannot reach the target: it has weight in at most 0 of"),
        (0, 0, 1, "1 remaining iterations cannot reach the target: it has weight in at most 0 of"),
    ],
)  # fmt: skip
def test_the_warning_counts_the_iterations_in_which_the_target_pulls(
    num_iterations, num_updates, num_remaining, beginning
):
    state = TEACHER.init(RNG, POINT_MASS_3D)._replace(
        num_iterations=np.array(num_iterations), num_updates=np.array(num_updates)
    )
    (text,) = TEACHER.advice(POINT_MASS_3D, state, num_remaining)
    assert text.startswith(beginning)


def test_a_teacher_that_starts_at_the_target_gives_no_advice():
    teacher = replace(TEACHER, start="target", update_offset=5)
    state = teacher.init(np.random.default_rng(0), POINT_MASS_3D)
    assert teacher.advice(POINT_MASS_3D, state, 2) == ()  # fewer iterations than the offset


def test_both_directions_of_the_constraint_hold_their_own_bound():
    teacher = replace(TEACHER, constraint="new_old")
    states, _ = taught(teacher, 10)
    for before, after in pairwise(states):
        assert (
            teacher.gaussian(POINT_MASS_3D, after).kl(teacher.gaussian(POINT_MASS_3D, before))
            <= 0.05 + 1e-6
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_kl": -0.1}, "max_kl must be positive, got -0.1; the default is 0.05"),
        ({"zeta": float("nan")}, "zeta must be non-negative, got nan; the default is 1.4"),
        ({"constraint": "new_odl"}, "constraint must be one of .*; did you mean 'new_old'"),
        ({"start": "middle"}, "start must be one of initial, target, got 'middle'"),
        ({"window": 0}, "window must be positive, got 0"),
        ({"std_lower_bound": (0.1, 0.0, 0.1)}, "std_lower_bound must be positive in every"),
    ],
)
def test_impossible_settings_say_what_is_wrong(changes, message):
    with pytest.raises(SelfpacedError, match=message):
        replace(TEACHER, **changes)


def test_a_lower_bound_of_the_wrong_size_names_the_components():
    with pytest.raises(
        SelfpacedError, match="one number for each of gate_position, gate_width, got"
    ):
        TEACHER.init(RNG, POINT_MASS_2D)


def test_values_that_are_not_finite_are_refused():
    state = taught(TEACHER, 3)[0][-1]
    nans = episodes_for(state, value=lambda c: np.full(len(c), np.nan))
    with pytest.raises(SelfpacedError, match="value of the episodes must be finite, got nan in"):
        TEACHER.update(RNG, POINT_MASS_3D, state, nans)


def test_a_window_holds_the_latest_episodes_with_their_current_values():
    teacher = replace(TEACHER, window=60)
    states, history = taught(teacher, 4)
    state = states[-1]
    latest = np.concatenate([episodes_for(states[i], seed=i).context for i in (2, 3)])[-60:]
    np.testing.assert_array_equal(state.window.context, latest)
    np.testing.assert_array_equal(teacher.remembered(state), latest.astype(np.float32))
    values = np.arange(60.0)
    np.testing.assert_array_equal(teacher.revalued(state, values).window.value, values)
    assert 40 < history[-1]["teacher/effective_samples"] <= 60


@dataclass(frozen=True)
class Frozen:
    """A teacher that uses SPDL and never updates it."""

    spdl: SPDL

    def init(self, rng, contexts):
        return self.spdl.init(rng, contexts)

    def sample(self, rng, contexts, state, num):
        return self.spdl.sample(rng, contexts, state, num)

    def update(self, rng, contexts, state, episodes):
        return state, {"teacher/mine": 1.0}


def test_the_update_of_a_teacher_that_wraps_spdl_is_called():
    teachers = TeacherBlock(Frozen(TEACHER), POINT_MASS_3D, (1, 2))
    states = teachers.init()
    after, metrics = teachers.update(0, states, [episodes_for(states[0])] * 2, lambda _: [])
    assert metrics == [{"teacher/mine": 1.0}] * 2
    assert after == states
