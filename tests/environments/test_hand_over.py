"""How a context reaches an environment, and how it becomes part of the observation."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

from selfpaced import SelfpacedError
from selfpaced.environments.hand_over import AppendedContext, require_hand_over, reset_in_context
from selfpaced.environments.watched_options import WatchedOptions

CONTEXT = np.array([2.0, 0.5])


class Recorder(gymnasium.Env):
    """Records the options of its resets."""

    observation_space = Box(-1.0, 1.0, (2,))
    action_space = Box(-1.0, 1.0, (1,))

    def __init__(self):
        self.seen = []

    def reset(self, *, seed=None, options=None):
        self.seen.append(options)
        return np.zeros(2, np.float32), {}


class Deaf(Recorder):
    """Has no options."""

    def reset(self, seed=None):
        return np.zeros(2, np.float32), {}


def test_options_carry_the_context_and_what_else_is_given():
    env = Recorder()
    reset_in_context(env, "options", CONTEXT, seed=1, options={"speed": 3})
    assert env.seen[0]["speed"] == 3
    np.testing.assert_array_equal(env.seen[0]["context"], CONTEXT)


def test_attributes_are_set_before_the_reset_behind_all_wrappers():
    env = gymnasium.make("Pendulum-v1")
    reset_in_context(env, ("m", "l"), CONTEXT, seed=1)
    assert (env.unwrapped.m, env.unwrapped.l) == (2.0, 0.5)


def test_a_function_gets_environment_and_context_before_the_reset():
    calls, env = [], Recorder()
    reset_in_context(env, lambda *given: calls.append((given, len(env.seen))), CONTEXT)
    [((given_env, context), num_resets)] = calls
    assert given_env is env
    assert context is CONTEXT
    assert num_resets == 0
    assert env.seen == [None]


def test_an_environment_without_options_takes_contexts_in_the_other_ways():
    env = Deaf()
    env.mass = 1.0
    reset_in_context(env, ("mass",), CONTEXT[:1])
    assert env.mass == 2.0
    reset_in_context(env, lambda environment, context: None, CONTEXT)


@pytest.mark.parametrize(
    ("hand_over", "message"),
    [
        (("m", "lenght"), r"attribute of PendulumEnv must be one of .*, got 'lenght'"),
        (("m", "max_torqe"), "did you mean 'max_torque'"),
        (("m", "render"), "'render' must be an attribute .* holds a number, got method; hand"),
        (("m",), "one attribute for each of 2 context components, got 1: m"),
        (3, "hand_over must be 'options', a tuple of attribute names or a function"),
    ],
)
def test_a_way_that_does_not_work_is_refused_beforehand_and_at_the_reset(hand_over, message):
    env = gymnasium.make("Pendulum-v1")
    with pytest.raises(SelfpacedError, match=message):
        require_hand_over(env, hand_over, 2)
    with pytest.raises(SelfpacedError, match=message):
        reset_in_context(env, hand_over, CONTEXT)


def test_options_need_a_reset_that_takes_them():
    require_hand_over(Recorder(), "options", 2)
    with pytest.raises(SelfpacedError, match=r"reset of Deaf must take options .*; hand the cont"):
        require_hand_over(Deaf(), "options", 2)


@pytest.mark.parametrize(
    ("scaled", "appended", "high"), [(False, [4.0, 1.0], [4.0, 2.0]), (True, [1.0, 0.0], [1.0] * 2)]
)
def test_the_context_is_appended_inside_the_bounds_of_the_new_space(scaled, appended, high):
    context = AppendedContext((0.0, 0.0), (4.0, 2.0), scaled)
    space = context.space(Box(-8.0, 8.0, (1,)))
    assert space.high.tolist() == [8.0, *high]
    observation = context.observation(np.array([5.0], np.float32), [4.0, 1.0])
    assert observation.tolist() == [5.0, *appended]
    assert space.contains(observation)


def test_the_context_becomes_an_entry_of_a_dictionary():
    context = AppendedContext((0.0,), (4.0,))
    plain = Dict({"joints": Box(-1.0, 1.0, (2,))})
    space = context.space(plain)
    observation = context.observation({"joints": np.zeros(2, np.float32)}, [3.0])
    assert space.contains(observation)
    assert observation["context"].tolist() == [3.0]
    with pytest.raises(SelfpacedError, match="must have no entry 'context'"):
        context.space(space)


def test_a_space_that_is_not_flat_is_refused():
    with pytest.raises(SelfpacedError, match=r"must be a Box of one dimension or a Dict .*Flatten"):
        AppendedContext((0.0,), (4.0,)).space(Box(0.0, 1.0, (2, 2)))


@pytest.mark.parametrize(
    "read",
    [
        lambda options: options["context"],
        lambda options: options.get("context"),
        lambda options: options.pop("context"),
        lambda options: "context" in options,
        lambda options: dict(options)["context"],
        lambda options: {**options}["context"],
        lambda options: options.copy()["context"],
        lambda options: list(options.items()),
        lambda options: list(options.values()),
    ],
)
def test_watched_options_note_every_way_to_read_the_context(read):
    options = WatchedOptions(context=np.ones(1), low=0.0)
    assert not options.is_read
    read(options)
    assert options.is_read


def test_watched_options_do_not_note_other_options():
    options = WatchedOptions(context=np.ones(1), low=0.0)
    assert options["low"] == options.get("low") == options.pop("low") == 0.0
    assert "high" not in options
    assert not options.is_read
