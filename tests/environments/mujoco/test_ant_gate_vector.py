"""The vector environment of ants: rows, seeds, ends of episodes, states, errors."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from selfpaced.environments.ant_gate import ANT_GATE_CONTEXTS, AntGate
from selfpaced.environments.mujoco.ant_gate import MAX_SPEED
from selfpaced.errors import SelfpacedError
from selfpaced.integrations.host_adapter import HostAdapter
from selfpaced.problems import Problem
from tests.environments.mujoco.ants import WIDE, change, contexts_for, make, walk


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_time_limit_truncates_and_a_fall_in_the_last_step_terminates():
    ants = make(2, max_episode_steps=3)
    ants.reset(seed=0, options={"context": [WIDE] * 2})
    for _ in range(2):
        _, _, terminated, truncated, _ = ants.step(np.zeros((2, 8)))
        assert not (terminated | truncated).any()
    change(ants, 1, height=1.5)
    _, _, terminated, truncated, _ = ants.step(np.zeros((2, 8)))
    np.testing.assert_array_equal(terminated, [False, True])
    np.testing.assert_array_equal(truncated, [True, False])


def test_a_row_whose_episode_is_over_does_not_change_until_it_is_reset():
    ants = make(2)
    ants.reset(seed=0, options={"context": [WIDE] * 2})
    change(ants, 0, height=2.0)
    ended, *_ = ants.step(np.zeros((2, 8)))
    for _ in range(3):
        observation, reward, terminated, truncated, _ = ants.step(np.ones((2, 8)))
        np.testing.assert_array_equal(observation[0], ended[0])
        assert (reward[0], terminated[0], truncated[0]) == (0.0, True, False)
        assert not terminated[1]
    kept = observation[1]
    mask = np.array([True, False])
    observation, info = ants.reset(seed=5, options={"context": [[-8, 3]] * 2, "reset_mask": mask})
    np.testing.assert_array_equal(observation[1], kept)
    np.testing.assert_array_equal(info["context"], [[-8, 3], WIDE])
    assert not ants.step(np.zeros((2, 8)))[2].any()


def test_a_row_depends_on_its_own_seed_and_context_alone():
    contexts = contexts_for(6)
    many, one = make(6, num_threads=2), make()
    many.reset(seed=[7, 1, None, 42, 3, 3], options={"context": contexts})
    observations, rewards, *_ = walk(many, 20)
    one.reset(seed=42, options={"context": contexts[[3]]})
    rng = np.random.default_rng(0)
    for time in range(20):
        observation, reward, *_ = one.step(rng.standard_normal((6, 8))[[3]])
        np.testing.assert_array_equal(observation[0], observations[time, 3])
        assert reward[0] == rewards[time, 3]


def test_a_saved_state_continues_bit_identically_in_the_same_or_another_vector():
    ants, twin = make(5), make(5, num_threads=2)
    ants.reset(seed=1, options={"context": contexts_for(5)})
    walk(ants, 30)
    change(ants, 2, height=3.0)
    walk(ants, 1)  # one row is over
    state = ants.get_state()
    expected, drawn = walk(ants, 20), ants.reset()
    twin.set_state(state)
    assert_same(walk(twin, 20), expected)
    np.testing.assert_array_equal(twin.reset()[0], drawn[0])
    ants.set_state(state)
    assert_same(walk(ants, 20), expected)


@pytest.mark.parametrize("speed", [1.5 * MAX_SPEED, 1e5, 1e12, np.nan])
def test_an_unstable_row_ends_alone(speed):
    ants, others = make(3), make(3)
    for one in (ants, others):
        first, _ = one.reset(seed=0, options={"context": contexts_for(3)})
    change(ants, 1, vx=speed)
    observation, reward, terminated, truncated, info = ants.step(np.zeros((3, 8)))
    expected, *_ = others.step(np.zeros((3, 8)))
    np.testing.assert_array_equal(info["unstable"], [False, True, False])
    np.testing.assert_array_equal(terminated, [False, True, False])
    assert not truncated.any()
    assert reward[1] == 0.0
    np.testing.assert_array_equal(observation[1], first[1])
    np.testing.assert_array_equal(observation[[0, 2]], expected[[0, 2]])
    mask = np.array([False, True, False])
    ants.reset(seed=0, options={"context": contexts_for(3), "reset_mask": mask})
    assert not ants.step(np.zeros((3, 8)))[4]["unstable"].any()


def test_without_a_context_every_row_draws_one_from_the_target():
    ants = make(300)
    drawn = ants.reset(seed=0)[1]["context"]
    assert ANT_GATE_CONTEXTS.contains(drawn).all()
    assert drawn[:, 0].mean() == pytest.approx(-8, abs=0.003)
    assert drawn[:, 0].std() == pytest.approx(0.01, rel=0.15)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([[0.0, 2.0]], r"'gate_width' must lie in \[3, 13\], got 2"),
        ([[np.nan, 5.0]], "'gate_position' must lie in"),
        ([0.0, 5.0], r"must have shape \(1, 2\) \(gate_position, gate_width\)"),
    ],
)
def test_bad_contexts_are_refused_and_change_nothing(context, message):
    ants = make()
    ants.reset(seed=0)
    state = ants.get_state()
    with pytest.raises(SelfpacedError, match=message):
        ants.reset(seed=1, options={"context": context})
    assert_same(ants.get_state().values(), state.values())


def test_no_row_resets_by_itself():
    assert make().metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.DISABLED
    assert make().metadata["render_fps"] == 20


def test_gymnasiums_checker_finds_no_mistakes_in_a_single_ant():
    adapter = HostAdapter(Problem("ant", "an ant", AntGate(), ANT_GATE_CONTEXTS, 0.995))
    known = ("minimum value is -infinity", "maximum value is infinity")  # true of any robot
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(adapter, skip_render_check=True)
    adapter.close()
    messages = [str(warning.message) for warning in caught]
    assert [text for text in messages if not any(part in text for part in known)] == []


def test_the_adapter_of_an_ant_reports_its_x_position():
    adapter = HostAdapter(Problem("ant", "an ant", AntGate(), ANT_GATE_CONTEXTS, 0.995))
    adapter.reset(seed=0)
    observation, _, _, _, info = adapter.step(np.zeros(8))
    adapter.close()
    assert info["x_position"] == observation[0]
    assert type(info["unstable"]) is bool
