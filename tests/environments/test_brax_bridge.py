"""Environments of Brax and MuJoCo Playground as environments in JAX."""

from __future__ import annotations

import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import (
    PPO,
    ContextSpace,
    CurriculumLearning,
    Gaussian,
    Problem,
    Random,
    SelfpacedError,
)
from selfpaced.environments.brax_bridge import BraxEnvironment, PlaygroundEnvironment
from tests.probes import Recorder, train

SMALL = PPO(hidden=(8,), num_minibatches=4)
FAST = (("backend", "spring"),)
NO_NOISE = jnp.zeros(0)
pytestmark = pytest.mark.filterwarnings("ignore:Brax System")


@pytest.fixture(name="brax")
def _brax():
    return pytest.importorskip("brax.envs", reason="requires selfpaced[brax]")


@pytest.fixture(name="playground")
def _playground():
    return pytest.importorskip("mujoco_playground", reason="requires selfpaced[playground]")


def with_gravity(system, context):
    return system.replace(gravity=context[0] * system.gravity)


def with_mjx_gravity(model, context):
    return model.tree_replace({"opt.gravity": context[0] * model.opt.gravity})


def with_tilt(model, context):
    """Turn the pole's frame out of the plane that it swings in."""
    tilt = jnp.stack([jnp.cos(context[0] / 2), jnp.sin(context[0] / 2), 0.0, 0.0])
    return model.tree_replace({"body_quat": model.body_quat.at[1].set(tilt)})


def with_start(system, context):
    return system.replace(init_q=system.init_q.at[0].set(context[0]))


def roll(environment, context, actions, key):
    observation, state = jax.jit(environment.reset)(key, jnp.asarray(context))
    steps, step = [], jax.jit(environment.step)
    for action in actions:
        steps.append(step(NO_NOISE, state, action))
        state = steps[-1].state
    return observation, steps


def own_steps(environment, actions, key):
    key_start, _ = jax.random.key_data(jax.random.split(key))
    state = jax.jit(environment.reset)(key_start)
    states, step = [state], jax.jit(environment.step)
    for action in actions:
        states.append(step(states[-1], action))
    return states


def assert_equal_episodes(bridge, own, context):
    """The bridge steps like the package; return the observations."""
    key = jax.random.key(3)
    actions = np.random.default_rng(0).uniform(-1, 1, (4, own.action_size)).astype(np.float32)
    first, steps = roll(bridge, context, actions, key)
    states = own_steps(own, actions, key)
    np.testing.assert_allclose(first[:-1], states[0].obs, atol=1e-6)
    for step, state in zip(steps, states[1:], strict=True):
        np.testing.assert_allclose(step.observation[:-1], state.obs, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(step.observation[-1:], context)
        np.testing.assert_allclose(step.reward, state.reward, rtol=1e-4, atol=1e-5)
        assert bool(step.terminated) == bool(state.done)
    assert [bool(step.truncated) for step in steps] == [False, False, False, True]


@pytest.mark.slow
def test_episodes_are_those_of_brax(brax):
    bridge = BraxEnvironment("inverted_pendulum", with_gravity, 1, time_limit=4, settings=FAST)
    own = brax.get_environment("inverted_pendulum", backend="spring")
    assert_equal_episodes(bridge, own, [1.0])


def test_episodes_are_those_of_playground(playground):
    bridge = PlaygroundEnvironment("PendulumSwingup", with_mjx_gravity, 1, time_limit=4)
    own = playground.registry.load("PendulumSwingup", config_overrides={"impl": "jax"})
    assert_equal_episodes(bridge, own, [1.0])


@pytest.mark.slow
def test_without_gravity_the_pole_of_brax_does_not_fall(brax):
    bridge = BraxEnvironment("inverted_pendulum", with_gravity, 1, settings=FAST)
    still, key = jnp.zeros((15, 1)), jax.random.key(0)
    (first, floating), (_, falling) = (roll(bridge, [scale], still, key) for scale in (0.0, 1.0))
    turned = [abs(steps[-1].observation[3] - first[3]) for steps in (floating, falling)]
    assert turned[0] < 1e-6  # nothing else acts on it
    assert turned[1] > 1e-3


def test_without_gravity_the_pendulum_of_playground_stays_where_it_is(playground):
    bridge = PlaygroundEnvironment("PendulumSwingup", with_mjx_gravity, 1)
    still, key = jnp.zeros((10, 1)), jax.random.key(1)
    (first, floating), (_, falling) = (roll(bridge, [scale], still, key) for scale in (0.0, 1.0))
    np.testing.assert_allclose(floating[-1].observation[:3], first[:3], atol=1e-5)
    assert np.abs(falling[-1].observation[:3] - first[:3]).max() > 1e-2
    assert bridge.max_episode_steps == 1000


def test_contexts_seen_are_exactly_the_contexts_issued(brax):
    # the wrappers of the package would return to a cached first state
    wrapped = brax.create("inverted_pendulum", episode_length=5, backend="spring")
    bridge = BraxEnvironment(wrapped, with_start, 1, shows_context=False, time_limit=8)
    contexts = ContextSpace(
        names=("start",),
        lower=(-1.0,),
        upper=(1.0,),
        initial=Gaussian.diagonal([0.0], [0.5]),
        target=Gaussian.diagonal([0.5], [0.1]),
    )
    problem = Problem("cart", "a cart", bridge, contexts, 0.99)
    recorder = Recorder()
    with CurriculumLearning(Random(), SMALL).training(
        problem, (1,), 64, wrap_teachers=recorder.wrap
    ) as training:
        _, rows = train(training, 3)
    for issued, ((ended,),) in zip(recorder.issued, zip(recorder.episodes), strict=True):
        assert ended.num == 64 // 8
        np.testing.assert_array_equal(ended.context, issued[0, : ended.num].astype(np.float32))
        # Brax starts within 0.01 of what its system says
        np.testing.assert_allclose(ended.first_observation[:, :1], ended.context, atol=0.0101)
    assert rows[-1][0]["train/return"] == pytest.approx(sum(0.99**step for step in range(8)))


def test_contexts_that_playground_simulates_are_exactly_the_contexts_issued(playground):
    bridge = PlaygroundEnvironment(
        "PendulumSwingup", with_tilt, 1, shows_context=False, time_limit=16
    )
    contexts = ContextSpace(
        names=("tilt",),
        lower=(0.0,),
        upper=(1.2,),
        initial=Gaussian.diagonal([0.2], [0.1]),
        target=Gaussian.diagonal([1.0], [0.1]),
    )
    problem = Problem("pole", "a pole", bridge, contexts, 0.99)
    recorder = Recorder()
    with CurriculumLearning(Random(), SMALL).training(
        problem, (1,), 64, wrap_teachers=recorder.wrap
    ) as training:
        _, rows = train(training, 3)
    for issued, ((ended,),) in zip(recorder.issued, zip(recorder.episodes), strict=True):
        assert ended.num == 64 // 16
        np.testing.assert_array_equal(ended.context, issued[0, : ended.num].astype(np.float32))
        across, up = ended.first_observation[:, 0], ended.first_observation[:, 1]
        # in a tilted plane, only the share cos(tilt) of the pole's height is left
        expected = np.cos(ended.context[:, 0]) * np.sqrt(1.0 - across**2)
        np.testing.assert_allclose(np.abs(up), expected, atol=1e-3)
    assert all(0.0 <= row[0]["train/return"] <= 16.0 for row in rows)


class BrokenState(NamedTuple):
    obs: dict[str, jax.Array]
    reward: jax.Array
    done: jax.Array


class Broken:
    """Breaks down in its second step; observes a dictionary and needs no package."""

    action_size = 1
    sys = 0.0

    @property
    def unwrapped(self):
        return self

    def reset(self, rng):
        return BrokenState(
            {"state": jnp.ones(2), "more": jnp.ones(3)}, jnp.zeros(()), jnp.zeros(())
        )

    def step(self, state, action):
        seen = jnp.where(state.obs["state"] > 1, jnp.nan, 2.0)
        return BrokenState({"state": seen, "more": jnp.ones(3)}, seen.sum(), 0.0)


def test_a_simulation_that_breaks_down_ends_its_episode_with_finite_numbers():
    bridge = BraxEnvironment(Broken(), lambda system, context: context, 1, shows_context=False)
    first, steps = roll(bridge, [0.0], jnp.zeros((2, 1)), jax.random.key(0))
    assert first.tolist() == [1.0, 1.0]
    assert [step.observation.tolist() for step in steps] == [[2.0, 2.0], [2.0, 2.0]]
    assert [float(step.reward) for step in steps] == [4.0, 0.0]
    assert [bool(step.terminated) for step in steps] == [False, True]


def test_an_unknown_entry_of_a_dictionary_is_refused():
    bridge = BraxEnvironment(Broken(), lambda system, _: system, 1, observation_name="stat")
    with pytest.raises(SelfpacedError, match="observation_name must be one of state, more, got"):
        _ = bridge.observation_size


@pytest.mark.parametrize(
    ("bridge", "message"),
    [
        (
            BraxEnvironment("typo", with_gravity, 1),
            r"get_environment\('typo'\) failed with KeyError",
        ),
        (BraxEnvironment(7, with_gravity, 1), "environment must be a name or have reset, step"),
        (PlaygroundEnvironment(Broken(), with_gravity, 1), "_mjx_model', which Broken lacks"),
        (PlaygroundEnvironment("Typo", with_gravity, 1), r"\('Typo'\) failed with ValueError"),
    ],
)
def test_environments_of_brax_and_playground_that_do_not_fit_are_refused(
    brax, playground, bridge, message
):
    with pytest.raises(SelfpacedError, match=message):
        _ = bridge.action_low


@pytest.mark.parametrize(
    ("kind", "module", "extra"),
    [
        (BraxEnvironment, "brax.envs", "brax"),
        (PlaygroundEnvironment, "mujoco_playground", "playground"),
    ],
)
def test_a_missing_package_is_one_line_with_its_extra(monkeypatch, kind, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SelfpacedError, match=rf"pip install 'selfpaced\[{extra}\]'"):
        _ = kind("Missing", with_gravity, 1).action_low
