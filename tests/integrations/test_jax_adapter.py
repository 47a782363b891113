"""The adapter of problems in JAX: the environment's dynamics, Gymnasium's rules, clear errors."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from selfpaced.environments.point_mass import PointMass
from selfpaced.errors import SelfpacedError
from selfpaced.integrations.jax_adapter import JaxAdapter
from selfpaced.integrations.registration import GYMNASIUM_IDS, register_environments
from selfpaced.registry import PROBLEMS
from tests.probes import DiscreteProbe, probe_problem

EVERY_ID = pytest.mark.parametrize("name", [name for name in GYMNASIUM_IDS if "PointMass" in name])
DOWN = np.array([0.0, -10.0], np.float32)
REST = np.zeros(2, np.float32)
NARROW = [2.5, 0.5, 0.0]


@pytest.fixture(autouse=True)
def _registered():
    register_environments()


def point_mass(**changes):
    """Return an adapter of the point mass with other settings."""
    problem = PROBLEMS["point-mass-3d"]
    return JaxAdapter(replace(problem, environment=PointMass(**changes)))


def finish_episode(adapter, action):
    """Repeat one action until the episode ends; return all steps."""
    steps = [adapter.step(action)]
    while not (steps[-1][2] or steps[-1][3]):
        steps.append(adapter.step(action))
    return steps


@EVERY_ID
def test_adapter_and_environment_agree_on_the_same_noise(name):
    adapter = gymnasium.make(name).unwrapped
    environment, contexts = adapter.problem.environment, adapter.problem.contexts
    step = jax.jit(environment.step)
    rng = np.random.default_rng(0)
    for seed in range(5):
        context = rng.uniform(contexts.lower, contexts.upper)
        # gates from as wide as the arena to half of it, where the box allows it
        wide = [index for index, name in enumerate(contexts.names) if "width" in name]
        context[wide] = np.minimum(8.0 - seed, np.asarray(contexts.upper)[wide])
        observation, _ = adapter.reset(seed=seed, options={"context": context})
        normals = copy.deepcopy(adapter.np_random)
        expected, state = environment.reset(jax.random.key(0), context.astype(np.float32))
        np.testing.assert_array_equal(observation, expected)
        ended = False
        while not ended:
            action = rng.uniform(-12, 10, 2).astype(np.float32)
            observation, reward, terminated, truncated, info = adapter.step(action)
            noise = normals.standard_normal(environment.noise_size, dtype=np.float32)
            after = step(noise, state, action)
            np.testing.assert_allclose(observation, after.observation, atol=1e-5)
            assert reward == pytest.approx(float(after.reward), abs=1e-5)
            flags = (after.terminated, after.truncated, after.success)
            assert (terminated, truncated, info["success"]) == tuple(map(bool, flags))
            state, ended = after.state, terminated or truncated


@EVERY_ID
def test_gymnasiums_checker_finds_no_mistakes(name):
    # true of this environment: velocities have no bound, and forces go up to ten
    known = ("minimum value is -infinity", "maximum value is infinity", "symmetric and normalized")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gymnasium.make(name, render_mode="rgb_array").unwrapped)
    messages = [str(warning.message) for warning in caught]
    assert [text for text in messages if not any(part in text for part in known)] == []


@EVERY_ID
def test_outputs_have_gymnasiums_types(name):
    adapter = gymnasium.make(name)
    observation, info = adapter.reset(seed=0)
    assert observation in adapter.observation_space
    assert info["success"] is False
    observation, reward, terminated, truncated, info = adapter.step(adapter.action_space.sample())
    assert observation in adapter.observation_space
    assert type(reward) is float
    assert {type(terminated), type(truncated), type(info["success"])} == {bool}
    assert observation.dtype == adapter.action_space.dtype == np.float32
    assert (adapter.action_space.low == -10).all()
    assert (adapter.action_space.high == 10).all()


def test_the_contexts_seen_are_exactly_the_contexts_given():
    adapter = JaxAdapter("point-mass-3d")
    given = np.random.default_rng(3).uniform((-4, 0.5, 0), (4, 8, 4), (8, 3))
    seen = []
    for context in given:
        observation, info = adapter.reset(options={"context": context})
        np.testing.assert_array_equal(info["context"], context)
        np.testing.assert_array_equal(observation[4:], context.astype(np.float32))
        for step in finish_episode(adapter, DOWN):
            np.testing.assert_array_equal(step[0][4:], context.astype(np.float32))
            seen.append(step[4]["context"])
    np.testing.assert_array_equal(np.unique(seen, axis=0), np.unique(given, axis=0))


def test_the_context_is_a_copy_of_the_given_array():
    adapter = JaxAdapter("point-mass-3d")
    context = np.array(NARROW)
    adapter.reset(options={"context": context})
    context[:] = 1.0
    info = adapter.step(REST)[4]
    info["context"][:] = 2.0
    np.testing.assert_array_equal(adapter.step(REST)[4]["context"], NARROW)


def test_without_a_context_every_episode_draws_one_from_the_target():
    adapter = JaxAdapter("point-mass-3d")
    adapter.reset(seed=0, options={"context": [-3.0, 6.0, 4.0]})
    drawn = np.array([adapter.reset()[1]["context"] for _ in range(400)])
    assert len(np.unique(drawn[:, 0])) == 400
    assert adapter.problem.contexts.contains(drawn).all()
    np.testing.assert_allclose(drawn[:, 0].mean(), 2.5, atol=0.001)
    np.testing.assert_allclose(drawn[:, 0].std(), 0.004, rtol=0.15)
    # width and friction have their target on the bound, where clipping puts half of the draws
    np.testing.assert_allclose((drawn[:, 1:] == [0.5, 0.0]).mean(axis=0), 0.5, atol=0.1)


def test_a_seed_repeats_contexts_and_noise_and_another_seed_does_not():
    def first_steps(seed):
        adapter = JaxAdapter("point-mass-3d")
        observations = [adapter.reset(seed=seed)[0]]
        return np.array(observations + [adapter.step(REST)[0] for _ in range(5)])

    np.testing.assert_array_equal(first_steps(1), first_steps(1))
    assert (first_steps(1)[1:, :4] != first_steps(2)[1:, :4]).all()


def test_vector_environments_show_the_context_of_every_copy():
    vector = gymnasium.make_vec("selfpaced/PointMass3D-v0", num_envs=2, vectorization_mode="sync")
    _, infos = vector.reset(seed=0, options={"context": NARROW})
    np.testing.assert_array_equal(infos["context"], [NARROW, NARROW])
    _, rewards, _, _, infos = vector.step(np.stack([DOWN, REST]))
    assert infos["context"].shape == (2, 3)
    assert rewards[0] > rewards[1]


def test_standing_still_is_truncated_after_exactly_one_hundred_steps():
    adapter = JaxAdapter("point-mass-2d")
    adapter.reset(seed=0, options={"context": [0.0, 8.0]})
    steps = finish_episode(adapter, REST)
    assert len(steps) == 100
    assert steps[-1][2:4] == (False, True)


def test_a_crash_in_the_last_step_is_terminated_and_not_truncated():
    ends = {}
    for limit in (100, 7, 6):  # full force downwards meets the wall in the seventh step
        adapter = point_mass(max_episode_steps=limit)
        adapter.reset(seed=0, options={"context": NARROW})
        steps = finish_episode(adapter, DOWN)
        ends[limit] = (len(steps), *steps[-1][2:4])
    assert ends == {100: (7, True, False), 7: (7, True, False), 6: (6, False, True)}


def test_gymnasium_may_shorten_the_time_limit():
    adapter = gymnasium.make("selfpaced/PointMass3D-v0", max_episode_steps=4)
    adapter.reset(seed=0, options={"context": NARROW})
    assert len(finish_episode(adapter, REST)) == 4


def test_actions_outside_the_box_are_clipped_by_the_point_mass():
    ends = []
    for action in (DOWN, 7 * DOWN):
        adapter = JaxAdapter("point-mass-3d")
        adapter.reset(seed=0, options={"context": NARROW})
        ends.append(adapter.step(action)[0])
    np.testing.assert_array_equal(*ends)


def test_an_adapter_can_be_copied_and_pickled_in_the_middle_of_an_episode():
    adapter = JaxAdapter("point-mass-3d")
    adapter.reset(seed=0)
    adapter.step(DOWN)
    twins = copy.deepcopy(adapter), pickle.loads(pickle.dumps(adapter))
    expected = adapter.step(DOWN)[0]
    for twin in twins:
        np.testing.assert_array_equal(twin.step(DOWN)[0], expected)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([2.5, 0.5], r"must be 3 numbers \(gate_position, gate_width, friction\).*shape \(2,\)"),
        ([[2.5, 0.5, 0.0]], r"got an array of shape \(1, 3\)"),
        (None, r"must be 3 numbers"),
        ([2.5, 0.4, 0.0], r"'gate_width' must lie in \[0.5, 8\], got 0.4"),
        ([2.5, 0.5, 4.5], r"'friction' must lie in \[0, 4\], got 4.5"),
        ([np.nan, 0.5, 0.0], r"'gate_position' must lie in \[-4, 4\], got nan"),
    ],
)
def test_bad_contexts_are_refused(context, message):
    with pytest.raises(SelfpacedError, match=message):
        JaxAdapter("point-mass-3d").reset(options={"context": context})


def test_a_misspelt_option_is_refused_instead_of_ignored():
    with pytest.raises(
        SelfpacedError, match=r"options of reset\(\) must be 'context', got contexts"
    ):
        JaxAdapter("point-mass-3d").reset(options={"contexts": NARROW})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0.0], r"must have 2 components, got an array of shape \(1,\)"),
        (1.0, r"must have 2 components, got an array of shape \(\)"),
        ([[0.0, 0.0]], r"got an array of shape \(1, 2\)"),
        ([0.0, np.nan], "must be finite, got .0.0, nan."),
        ([np.inf, 0.0], "must be finite"),
        (["left", "down"], "must be 2 numbers, got .'left', 'down'."),
    ],
)
def test_bad_actions_are_refused_and_leave_the_episode_as_it_was(action, message):
    adapter = JaxAdapter("point-mass-3d")
    adapter.reset(seed=0, options={"context": NARROW})
    untouched = copy.deepcopy(adapter)
    with pytest.raises(SelfpacedError, match=message):
        adapter.step(action)
    np.testing.assert_array_equal(adapter.step(DOWN)[0], untouched.step(DOWN)[0])


def test_a_step_outside_an_episode_is_refused():
    adapter = JaxAdapter("point-mass-3d")
    with pytest.raises(SelfpacedError, match="before the first reset"):
        adapter.step(REST)
    adapter.reset(options={"context": NARROW})
    finish_episode(adapter, DOWN)
    with pytest.raises(SelfpacedError, match="after the end of the episode"):
        adapter.step(REST)
    adapter.reset()
    adapter.step(REST)


def test_unknown_problems_and_render_modes_are_refused():
    with pytest.raises(SelfpacedError, match="did you mean 'point-mass-3d'"):
        JaxAdapter("pointmass3d")
    with pytest.raises(SelfpacedError, match="render_mode must be one of rgb_array, got 'human'"):
        JaxAdapter("point-mass-3d", render_mode="human")


def test_a_problem_on_the_host_is_refused():
    with pytest.raises(SelfpacedError, match=r"must be simulated in JAX, .*; use HostAdapter"):
        JaxAdapter("ball-catching")


@pytest.mark.parametrize("num_components", [1, 2])
def test_discrete_actions_are_whole_numbers_of_their_space(num_components):
    probe = DiscreteProbe(length=2, reward="action", num_components=num_components)
    adapter = JaxAdapter(probe_problem(probe))
    kind = gymnasium.spaces.Discrete if num_components == 1 else gymnasium.spaces.MultiDiscrete
    assert isinstance(adapter.action_space, kind)
    adapter.reset(seed=0, options={"context": [0.5]})
    ones = np.int64(1) if num_components == 1 else np.ones(2, np.int64)
    assert adapter.action_space.contains(ones)
    assert adapter.step(ones)[1] == pytest.approx(-num_components * (1.0 - 0.5) ** 2)


@pytest.mark.parametrize("action", [2, 0.5])
def test_an_action_that_is_no_choice_is_refused(action):
    adapter = JaxAdapter(probe_problem(DiscreteProbe()))
    adapter.reset(seed=0, options={"context": [0.5]})
    with pytest.raises(SelfpacedError, match=r"whole numbers from \[-1\] to \[1\], got"):
        adapter.step(action)
