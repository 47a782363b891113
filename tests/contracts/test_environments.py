"""Contract of every environment: each registered problem, and a Gymnasium environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import jax
import numpy as np
import pytest
from gymnasium.utils.seeding import np_random

from selfpaced import PROBLEMS, Problem, SelfpacedError
from selfpaced.environments.base import HasPicture, SavesState
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.errors import MissingPartError
from selfpaced.integrations.host_adapter import HostAdapter
from selfpaced.integrations.jax_adapter import JaxAdapter

NUM = 24  # rows
SETTINGS = (("render_mode", "rgb_array"),)
GYMNASIUM = replace(
    PROBLEMS["point-mass-2d"],
    name="gymnasium",
    environment=GymnasiumEnvironment("selfpaced/PointMass2D-v0", SETTINGS, time_limit=100),
)
EVERY_PROBLEM = {**PROBLEMS, "gymnasium": GYMNASIUM}
HOSTED = [name for name, problem in EVERY_PROBLEM.items() if problem.is_hosted]
IN_JAX = [name for name in EVERY_PROBLEM if name not in HOSTED]


class Played(NamedTuple):
    """T steps of N rows; in JAX, the steps after the end of an episode are meaningless."""

    observation: np.ndarray  # [T + 1, N, O]
    reward: np.ndarray  # [T, N]
    terminated: np.ndarray  # [T, N]
    truncated: np.ndarray  # [T, N]


@dataclass(frozen=True)
class WithoutLibrary:
    """Settings of a simulator that is not installed."""

    def make(self, num_envs, num_threads=1):
        raise MissingPartError("this problem requires a library; install it")


def require_parts(environment) -> None:
    """Skip the test where an optional dependency is missing; in CI, where none may be, fail."""
    try:
        environment.make(1).close()
    except MissingPartError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))


def load(name: str) -> Problem:
    """Return a problem, if all that it requires is installed."""
    problem = EVERY_PROBLEM[name]
    if problem.is_hosted:
        require_parts(problem.host_environment)
    return problem


@pytest.fixture(params=EVERY_PROBLEM, name="problem")
def _problem(request):
    return load(request.param)


@pytest.fixture(params=HOSTED, name="hosted")
def _hosted(request):
    return load(request.param)


@pytest.fixture(params=IN_JAX, name="in_jax")
def _in_jax(request):
    return load(request.param)


@pytest.mark.parametrize(("variable", "kind"), [("", pytest.skip), ("true", pytest.fail)])
def test_a_missing_library_skips_a_test_and_fails_it_in_ci(monkeypatch, variable, kind):
    monkeypatch.setenv("CI", variable)
    with pytest.raises(kind.Exception, match="requires a library"):
        require_parts(WithoutLibrary())


def limited(problem, limit):
    """Return the problem with another time limit."""
    names = [field.name for field in fields(problem.environment)]
    name = "max_episode_steps" if "max_episode_steps" in names else "time_limit"
    return replace(problem, environment=replace(problem.environment, **{name: limit}))


def some_contexts(problem, num=NUM):
    return problem.contexts.sample_target(np.random.default_rng(0), num)


def wild_actions(problem, num_steps, scale=1.0):
    """Return random extreme actions [T, N, A]: constant in even rows, for 5 steps in odd rows."""
    rng = np.random.default_rng(1)
    low, high = problem.spec.action_low, problem.spec.action_high
    drawn = np.where(rng.random((-(-num_steps // 5), NUM, len(low))) < 0.5, low, high)
    drawn[:, ::2] = drawn[:1, ::2]
    return scale * np.repeat(drawn, 5, axis=0)[:num_steps]


def play(problem, actions, contexts=None, seeds=range(NUM)):
    contexts = some_contexts(problem) if contexts is None else contexts
    run = play_on_host if problem.is_hosted else play_in_jax
    observations, steps = run(problem, actions, contexts, list(seeds))
    return Played(
        np.array(observations), *(np.array(column) for column in zip(*steps, strict=True))
    )


def play_on_host(problem, actions, contexts, seeds):
    vector = problem.host_environment.make(len(contexts))
    observation, _ = vector.reset(seed=seeds, options={"context": contexts})
    observations, steps = [observation.copy()], []
    for action in actions:
        observation, *outcome, _ = vector.step(action)
        observations.append(observation.copy())
        steps.append(outcome)
    vector.close()
    return observations, steps


def play_in_jax(problem, actions, contexts, seeds):
    environment = problem.jax_environment
    keys = jax.vmap(jax.random.key)(np.array(seeds, np.uint32))
    noise = [np.random.default_rng(seed) for seed in seeds]
    observation, state = jax.vmap(environment.reset)(keys, contexts.astype(np.float32))
    step = jax.jit(jax.vmap(environment.step))
    observations, steps = [observation], []
    for action in actions.astype(np.float32):
        drawn = np.stack([rng.standard_normal(environment.noise_size, np.float32) for rng in noise])
        after = step(drawn, state, action)
        state = after.state
        observations.append(after.observation)
        steps.append((after.reward, after.terminated, after.truncated))
    return observations, steps


def adapt(problem, render_mode=None):
    return (HostAdapter if problem.is_hosted else JaxAdapter)(problem, render_mode)


def assert_same(first, second):
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sizes_bounds_and_lengths_fit_together(problem):
    environment, played = problem.environment, play(problem, wild_actions(problem, 1))
    assert played.observation.shape == (2, NUM, environment.observation_size)
    assert played.reward.shape == played.terminated.shape == played.truncated.shape == (1, NUM)
    low, high = np.array(environment.action_low), np.array(environment.action_high)
    assert (low < high).all()
    assert 1 <= environment.min_episode_steps <= environment.max_episode_steps


def test_rows_that_differ_in_their_context_alone_differ(problem):
    low, high = problem.contexts.box
    contexts = np.stack([low, low, high])
    still = np.zeros((1, 3, len(problem.spec.action_low)))
    first = play(problem, still, contexts, seeds=[7, 7, 7]).observation
    np.testing.assert_array_equal(first[:, 0], first[:, 1])
    assert (first[:, 0] != first[:, 2]).any()


def test_no_step_is_both_terminated_and_truncated(problem):
    played = play(problem, wild_actions(problem, 150))
    assert not (played.terminated & played.truncated).any()
    assert (played.terminated | played.truncated).any()


def test_the_time_limit_truncates(problem):
    still = np.zeros((3, NUM, len(problem.spec.action_low)))
    played = play(limited(problem, 3), still)
    assert not played.terminated.any()
    np.testing.assert_array_equal(played.truncated.all(axis=1), [False, False, True])
    np.testing.assert_array_equal(played.truncated.any(axis=1), [False, False, True])


def test_an_episode_that_ends_in_the_last_step_is_terminated_and_not_truncated(problem):
    terminated = play(problem, wild_actions(problem, 150)).terminated
    length = int(np.argmax(terminated.any(axis=1))) + 1  # of the first episode that ends
    assert terminated[length - 1].any()
    played = play(limited(problem, length), wild_actions(problem, length))
    np.testing.assert_array_equal(played.terminated[-1], terminated[length - 1])
    np.testing.assert_array_equal(played.truncated[-1], ~terminated[length - 1])


def test_no_episode_is_shorter_than_min_episode_steps(problem):
    num = problem.environment.min_episode_steps - 1
    played = play(problem, wild_actions(problem, max(num, 1)))
    assert not (played.terminated | played.truncated)[:num].any()


def test_the_same_seed_gives_the_same_episode_bit_for_bit(problem):
    actions = wild_actions(problem, 40, scale=0.5)
    assert_same(play(problem, actions), play(problem, actions))


def test_a_row_does_not_depend_on_the_rows_beside_it(hosted):
    actions, contexts = wild_actions(hosted, 40, scale=0.5), some_contexts(hosted)
    together = play(hosted, actions, contexts)
    alone = play(hosted, actions[:, [5]], contexts[[5]], seeds=[5])
    assert_same([column[:, [5]] for column in together], list(alone))


def test_a_saved_vector_continues_bit_identically(hosted):
    vector, twin = (hosted.host_environment.make(NUM) for _ in range(2))
    if not isinstance(vector, SavesState):  # then neither half of the ability is there
        assert not hasattr(vector, "get_state")
        assert not hasattr(vector, "set_state")
        return
    actions = wild_actions(hosted, 60)
    vector.reset(seed=3, options={"context": some_contexts(hosted)})
    for action in actions[:30]:
        vector.step(action)
    state = {name: array.copy() for name, array in vector.get_state().items()}
    expected = [vector.step(action) for action in actions[30:]]
    for other in (vector, twin):
        other.set_state(state)
        assert_same([other.step(action) for action in actions[30:]], expected)
        other.close()


def test_a_state_in_jax_survives_a_round_trip_through_numpy(in_jax):
    environment = in_jax.jax_environment
    context = some_contexts(in_jax, 1)[0].astype(np.float32)
    _, state = environment.reset(jax.random.key(0), context)
    noise = np.ones(environment.noise_size, np.float32)
    action = np.array(environment.action_high, np.float32)
    step = jax.jit(environment.step)
    for _ in range(3):
        copied = jax.tree.map(np.array, state)
        assert jax.tree.structure(copied) == jax.tree.structure(state)
        after = step(noise, state, action)
        assert_same(step(noise, copied, action), after)
        state = after.state


def test_a_row_whose_episode_is_over_does_not_change_until_it_is_reset(hosted):
    vector = limited(hosted, 2).host_environment.make(NUM)
    contexts, actions = some_contexts(hosted), wild_actions(hosted, 4)
    vector.reset(seed=0, options={"context": contexts})
    vector.step(actions[0])
    last = vector.step(actions[1])[0].copy()
    state = vector.get_state() if isinstance(vector, SavesState) else {}
    observation, reward, terminated, truncated, _ = vector.step(actions[2])
    np.testing.assert_array_equal(observation, last)
    np.testing.assert_array_equal(reward, 0.0)
    assert terminated.all()
    assert not truncated.any()
    if isinstance(vector, SavesState):
        assert_same(vector.get_state(), state)
    mask = np.arange(NUM) == 2
    vector.reset(seed=[9] * NUM, options={"context": contexts, "reset_mask": mask})
    observation, _, terminated, _, _ = vector.step(actions[3])
    np.testing.assert_array_equal(observation[~mask], last[~mask])
    np.testing.assert_array_equal(terminated, ~mask)
    vector.close()


def test_the_adapter_shows_the_spaces_and_the_context(problem):
    adapter = adapt(problem)
    spec = problem.spec
    assert adapter.observation_space.shape == (spec.observation_size,)
    np.testing.assert_allclose(adapter.action_space.low, spec.action_low, rtol=1e-6)
    np.testing.assert_allclose(adapter.action_space.high, spec.action_high, rtol=1e-6)
    for context in some_contexts(problem, 3):
        _, info = adapter.reset(options={"context": context})
        np.testing.assert_array_equal(info["context"], context)
        *_, info = adapter.step(np.zeros(spec.action_size))
        np.testing.assert_array_equal(info["context"], context)
    adapter.close()


def test_the_adapter_of_a_host_environment_plays_the_episode_of_a_vector_of_one(hosted):
    context, actions = some_contexts(hosted, 1), wild_actions(hosted, 30, scale=0.5)[:, 0]
    adapter = adapt(hosted)
    observation, _ = adapter.reset(seed=4, options={"context": context[0]})
    seed = int(np_random(4)[0].integers(2**31))
    expected = play(hosted, actions[:, None], context, seeds=[seed])
    np.testing.assert_array_equal(observation, expected.observation[0, 0])
    for time, action in enumerate(actions):
        outcome = adapter.step(action)[:4]
        assert_same(outcome[0], expected.observation[time + 1, 0])
        assert outcome[1:] == tuple(column[time, 0] for column in expected[1:])
        if outcome[2] or outcome[3]:
            break
    adapter.close()


def test_the_adapter_of_a_jax_environment_plays_the_episode_of_the_environment(in_jax):
    environment = in_jax.jax_environment
    context, actions = some_contexts(in_jax, 1)[0], wild_actions(in_jax, 30, scale=0.5)[:, 0]
    adapter = adapt(in_jax)
    observation, _ = adapter.reset(seed=4, options={"context": context})
    rng, _ = np_random(4)
    key = jax.random.key(rng.integers(2**32, dtype=np.uint32))
    expected, state = environment.reset(key, context.astype(np.float32))
    np.testing.assert_array_equal(observation, expected)
    step = jax.jit(environment.step)
    for action in actions.astype(np.float32):
        outcome = adapter.step(action)
        after = step(rng.standard_normal(environment.noise_size, np.float32), state, action)
        np.testing.assert_allclose(outcome[0], after.observation, atol=1e-5)
        assert outcome[1] == pytest.approx(float(after.reward), abs=1e-5)
        flags = (bool(after.terminated), bool(after.truncated), bool(after.success))
        assert (outcome[2], outcome[3], outcome[4]["success"]) == flags
        state = after.state
        if outcome[2] or outcome[3]:
            break


def test_every_environment_can_be_drawn(problem):
    width, height = problem.environment.picture_size
    assert isinstance(problem.environment, HasPicture)
    assert min(width, height) >= 16
    adapter = adapt(problem, render_mode="rgb_array")
    adapter.reset(seed=0)
    try:
        picture = adapter.render()
    except SelfpacedError as error:
        pytest.skip(str(error))  # no OpenGL
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
    adapter.close()
