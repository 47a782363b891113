"""Behaviour that all vector environments on MuJoCo share."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.environments.base import HostEnvironment, RendersRows, SavesState
from selfpaced.errors import SelfpacedError

EVERY_ROBOT = pytest.mark.parametrize("robot", [BallCatching, AntGate])
NUM = 4


def actions(vector, seed=0):
    """Yield the same sequence of actions every time."""
    rng = np.random.default_rng(seed)
    while True:
        yield rng.uniform(-1, 1, (vector.num_envs, len(vector.environment.action_low)))


def begin(robot, num=NUM, seed=0, num_threads=1, **settings):
    vector = robot(**settings).make(num, num_threads)
    vector.reset(seed=seed)
    return vector


def same(first, second):
    """Check bit-identity, also of dictionaries of arrays."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        first, second = first.values(), second.values()
    for one, other in zip(first, second, strict=True):
        if isinstance(one, dict):
            same(one, other)
        else:
            np.testing.assert_array_equal(one, other)


@EVERY_ROBOT
def test_it_is_a_host_environment_with_gymnasiums_spaces(robot):
    environment = robot()
    assert isinstance(environment, HostEnvironment)
    vector = begin(robot)
    assert isinstance(vector, RendersRows)
    assert isinstance(vector, SavesState)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    observation, info = vector.reset(seed=1)
    assert observation in vector.observation_space
    assert observation.shape == (NUM, environment.observation_size)
    assert info["context"].shape == (NUM, vector.contexts.size)
    np.testing.assert_allclose(vector.single_action_space.low, environment.action_low, rtol=1e-6)
    np.testing.assert_allclose(vector.single_action_space.high, environment.action_high, rtol=1e-6)
    observation, reward, terminated, truncated, info = vector.step(next(actions(vector)))
    assert observation in vector.observation_space
    assert (reward.dtype, reward.shape) == (np.float32, (NUM,))
    for flags in (terminated, truncated, info["success"], info["unstable"]):
        assert (flags.dtype, flags.shape) == (bool, (NUM,))


@EVERY_ROBOT
def test_only_masked_rows_are_reset_and_the_others_keep_their_observation(robot):
    vector = begin(robot)
    before = vector.step(next(actions(vector)))[0]
    mask = np.array([False, True, False, True])
    state = vector.get_state()
    contexts = np.full((NUM, vector.contexts.size), np.nan)  # ignored for the rows that go on
    contexts[mask] = vector.contexts.initial.mean
    after, info = vector.reset(seed=5, options={"reset_mask": mask, "context": contexts})
    np.testing.assert_array_equal(after[~mask], before[~mask])
    assert (after[mask] != before[mask]).any(axis=1).all()
    np.testing.assert_array_equal(info["context"][mask], contexts[mask])
    for name, array in vector.get_state().items():
        np.testing.assert_array_equal(array[~mask], state[name][~mask])


@EVERY_ROBOT
def test_a_row_depends_on_its_seed_and_actions_alone(robot):
    together = robot().make(NUM)
    contexts = together.contexts.clip(
        together.contexts.initial.sample(np.random.default_rng(0), NUM)
    )
    for options in ({"context": contexts}, {}):
        alone = robot().make(1)
        first, _ = together.reset(seed=[3, 11, 7, 2], options=options)
        own, _ = alone.reset(seed=[7], options={key: value[2:3] for key, value in options.items()})
        np.testing.assert_array_equal(first[2], own[0])
        for _, action in zip(range(30), actions(together), strict=False):
            np.testing.assert_array_equal(
                together.step(action)[0][2], alone.step(action[2:3])[0][0]
            )
    assert len(np.unique(first, axis=0)) == NUM


@EVERY_ROBOT
def test_an_integer_seeds_row_by_row_and_without_a_seed_every_reset_differs(robot):
    vector = robot().make(NUM)
    by_number, by_list = vector.reset(seed=9)[0], vector.reset(seed=[9, 10, 11, 12])[0]
    np.testing.assert_array_equal(by_number, by_list)
    later = [vector.reset()[0] for _ in range(3)]
    assert len(np.unique(np.concatenate([by_list, *later]), axis=0)) == 4 * NUM
    vector.reset(seed=9)
    same([vector.reset()[0] for _ in range(3)], later)  # resets after a seeded one are seeded, too
    unseeded = [robot().make(1).reset()[0] for _ in range(2)]
    assert (unseeded[0] != unseeded[1]).any()


@EVERY_ROBOT
def test_threads_change_nothing(robot):
    one, two = begin(robot, num=9), begin(robot, num=9, num_threads=2)
    for _, action in zip(range(60), actions(one), strict=False):
        same(one.step(action), two.step(action))
    two.close()


@EVERY_ROBOT
def test_a_saved_state_continues_bit_identically(robot):
    vector = begin(robot)
    stream = actions(vector)
    for _ in range(45):
        vector.step(next(stream))
    state = vector.get_state()
    twin = robot().make(NUM)
    twin.set_state(state)
    for _, action in zip(range(45), stream, strict=False):
        same(vector.step(action), twin.step(action))
        mask = vector.get_state()["ended"]
        if mask.any():  # without a seed: the random numbers are part of the state
            same(*(one.reset(options={"reset_mask": mask}) for one in (vector, twin)))
    same(vector.get_state(), twin.get_state())
    same(vector.reset(), twin.reset())
    vector.set_state(state)  # and back again in the same vector
    same(vector.get_state(), state)


@EVERY_ROBOT
def test_returned_arrays_are_not_overwritten(robot):
    vector = begin(robot)
    stream = actions(vector)
    kept = [vector.reset(seed=0)[0], *vector.step(next(stream))[:4], vector.get_state()["steps"]]
    copies = [array.copy() for array in kept]
    vector.step(next(stream))
    same(kept, copies)


@EVERY_ROBOT
def test_the_time_limit_truncates_and_ended_rows_repeat(robot):
    vector = begin(robot, max_episode_steps=3)
    stream = actions(vector)
    for _ in range(2):
        _, _, terminated, truncated, _ = vector.step(next(stream))
        assert not (terminated | truncated).any()
    observation, _, terminated, truncated, _ = vector.step(next(stream))
    assert truncated.all()
    assert not terminated.any()
    vector.reset(options={"reset_mask": np.array([True, False, False, False])})
    again, reward, terminated, truncated, _ = vector.step(next(stream))
    np.testing.assert_array_equal(again[1:], observation[1:])
    np.testing.assert_array_equal(reward[1:], 0.0)
    assert reward[0] != 0
    assert terminated.tolist() == [False, True, True, True]
    assert not truncated.any()


@EVERY_ROBOT
@pytest.mark.parametrize("disaster", [np.nan, 1e11])
def test_an_unstable_row_ends_with_its_last_good_observation_and_the_others_go_on(robot, disaster):
    vector, untouched = begin(robot), begin(robot)
    state = vector.get_state()
    state["simulation"][2, vector.simulations.qvel.start] = disaster
    vector.set_state(state)
    last_good = state["observation"][2]
    action = next(actions(vector))
    observation, reward, terminated, truncated, info = vector.step(action)
    assert info["unstable"].tolist() == terminated.tolist() == [False, False, True, False]
    assert not truncated.any()
    assert not info["success"][2]
    assert reward[2] == 0
    np.testing.assert_array_equal(observation[2], last_good)
    others = [0, 1, 3]
    np.testing.assert_array_equal(observation[others], untouched.step(action)[0][others])
    # a reset repairs it
    vector.reset(seed=2, options={"reset_mask": np.array([False, False, True, False])})
    assert not vector.step(action)[4]["unstable"].any()


@EVERY_ROBOT
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda contexts: contexts[:2],
            r"contexts must have shape \(4, \d\).*got an array of shape",
        ),
        (
            lambda contexts: contexts[0],
            r"contexts must have shape \(4, \d\).*got an array of shape",
        ),
        (lambda contexts: None, "contexts must have shape"),
        (lambda contexts: contexts * [[1], [1], [np.nan], [1]], "must lie in .* got nan"),
        (lambda contexts: contexts * [[1], [1e3], [1], [1]], "must lie in"),
        (lambda contexts: [["left"]] * 4, "contexts must have shape .* got .*left"),
    ],
)
def test_bad_contexts_are_refused_and_change_nothing(robot, change, message):
    vector = begin(robot)
    state = vector.get_state()
    contexts = np.tile(np.array(vector.contexts.upper), (NUM, 1))
    with pytest.raises(SelfpacedError, match=message):
        vector.reset(seed=3, options={"context": change(contexts)})
    same(vector.get_state(), state)


@EVERY_ROBOT
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"options": {"contexts": 0}},
            "must be 'context' and 'reset_mask', got contexts",
        ),
        ({"options": {"reset_mask": np.ones(3, bool)}}, r"must be 4 booleans.*shape \(3,\)"),
        ({"options": {"reset_mask": np.ones(4)}}, "must be 4 booleans, got float64"),
        ({"seed": [1, 2]}, "one seed for each of 4 rows, got 2 seeds"),
        ({"seed": [1, None, -2, 3]}, "seed must lie in"),
    ],
)
def test_bad_masks_seeds_and_options_are_refused_and_change_nothing(robot, arguments, message):
    vector = begin(robot)
    state = vector.get_state()
    with pytest.raises(SelfpacedError, match=message):
        vector.reset(**arguments)
    same(vector.get_state(), state)


@EVERY_ROBOT
def test_bad_actions_are_refused_and_change_nothing(robot):
    vector = begin(robot)
    state = vector.get_state()
    good = next(actions(vector))
    bad = good.copy()
    bad[2, 1] = np.nan
    for action, message in (
        (good[:3], r"actions must have shape \(4, \d\), got an array of shape \(3, \d\)"),
        (good[:, :2], r"got an array of shape \(4, 2\)"),
        (bad, "must be finite, got .*nan.* in row 2"),
        ("left", "actions must have shape"),
    ):
        with pytest.raises(SelfpacedError, match=message):
            vector.step(action)
    same(vector.get_state(), state)


@EVERY_ROBOT
def test_a_step_before_the_first_reset_and_a_foreign_state_are_refused(robot):
    vector = robot().make(NUM)
    with pytest.raises(SelfpacedError, match="before the first reset"):
        vector.step(np.zeros((NUM, len(robot().action_low))))
    with pytest.raises(SelfpacedError, match="must have the arrays of 4 environments"):
        vector.set_state(begin(robot, num=3).get_state())


@EVERY_ROBOT
def test_a_closed_vector_is_refused(robot):
    vector = begin(robot)
    vector.close()
    for use in (
        vector.reset,
        lambda: vector.step(next(actions(vector))),
        lambda: vector.render_row(0),
    ):
        with pytest.raises(SelfpacedError, match="is closed; make a new one"):
            use()
