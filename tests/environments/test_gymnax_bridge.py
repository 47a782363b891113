"""gymnax environments, and others with the same methods, as environments in JAX."""

from __future__ import annotations

import dataclasses
import math
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
    Experiment,
    Gaussian,
    Problem,
    Random,
    SelfpacedError,
)
from selfpaced.environments.gymnax_bridge import GymnaxEnvironment
from selfpaced.runs.checkpoint import Checkpoint
from tests.probes import Recorder, train

SMALL = PPO(hidden=(8,), num_minibatches=4)
NO_NOISE = jnp.zeros(0)


def with_gravity(params, context):
    return params.replace(g=context[0])


def with_duration(params, context):
    """The package itself ends an episode after as many steps as the context says."""
    return params.replace(max_steps_in_episode=context[0])


def is_upright(state, context):
    return jnp.cos(state.theta) > 0.9


@pytest.fixture(name="gymnax")
def _gymnax():
    return pytest.importorskip("gymnax", reason="requires selfpaced[gymnax]")


def problem(environment, lower=0.0, upper=20.0):
    contexts = ContextSpace(
        names=("setting",),
        lower=(lower,),
        upper=(upper,),
        initial=Gaussian.diagonal([5.0], [2.0]),
        target=Gaussian.diagonal([8.0], [0.5]),
    )
    return Problem("bridged", "a gymnax environment", environment, contexts, 0.99)


def roll(environment, context, actions, seed=0):
    """Return first observation and the steps of one episode, which may go on after its end."""
    observation, state = environment.reset(jax.random.key(seed), jnp.asarray(context))
    steps, step = [], jax.jit(environment.step)
    for action in actions:
        steps.append(step(NO_NOISE, state, action))
        state = steps[-1].state
    return observation, steps


@pytest.mark.parametrize("name", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_episodes_are_those_of_gymnax_up_to_the_observation_before_its_reset(gymnax, name):
    own, params = gymnax.make(name)
    params = params.replace(max_steps_in_episode=5)
    bridge = GymnaxEnvironment(name, lambda params, _: params, 1, shows_context=False, time_limit=5)
    actions = np.random.default_rng(0).uniform(-1, 1, (5, 1)).astype(np.float32)
    first, steps = roll(bridge, [0.0], actions)
    key_start, _ = jax.random.key_data(jax.random.split(jax.random.key(0)))
    observation, state = own.reset(key_start, params)
    np.testing.assert_array_equal(first, observation)
    for step, action in zip(steps, actions, strict=True):
        observation, state, reward, terminated, truncated, info = own.step(
            jax.random.key(1), state, action, params
        )
        np.testing.assert_allclose(step.observation, info["final_observation"], rtol=1e-6)
        np.testing.assert_allclose(step.reward, reward, rtol=1e-6)
        assert (bool(step.terminated), bool(step.truncated)) == (bool(terminated), bool(truncated))
    assert steps[-1].truncated
    assert not np.allclose(steps[-1].observation, observation)  # gymnax has reset by itself


def test_the_context_changes_the_dynamics_and_is_seen(gymnax):
    bridge = GymnaxEnvironment("Pendulum-v1", with_gravity, 1, is_success=is_upright)
    still = jnp.zeros((3, 1))
    first, floating = roll(bridge, [0.0], still)
    _, falling = roll(bridge, [9.0], still)
    assert first.shape == (4,)
    for step in floating:  # no gravity, no torque: the speed stays
        np.testing.assert_allclose(step.observation[2], first[2], rtol=1e-6)
        assert step.observation[3] == 0.0
        assert bool(step.success) == bool(step.observation[0] > 0.9)
    _, sine, speed, _ = first
    expected = speed + 0.05 * 3 * 9.0 / 2 * sine  # of gymnax's own equation
    np.testing.assert_allclose(falling[0].observation[2:], [expected, 9.0], rtol=1e-5)


def test_contexts_seen_are_exactly_the_contexts_issued(gymnax):
    bridge = GymnaxEnvironment("Pendulum-v1", with_duration, 1)
    recorder, num_steps = Recorder(), 64
    with CurriculumLearning(Random(), SMALL).training(
        problem(bridge, lower=1.0, upper=9.0), (1, 2), num_steps, wrap_teachers=recorder.wrap
    ) as training:
        train(training, 3)
    for seed in range(2):
        seen = np.concatenate([ended[seed].context for ended in recorder.episodes])[:, 0]
        lengths = np.concatenate([ended[seed].length for ended in recorder.episodes])
        issued, left, current = [], 0, 0.0
        for contexts in recorder.issued:
            following = iter(contexts[seed, :, 0].astype(np.float32))
            for _ in range(num_steps):
                if left == 0:
                    current = next(following)
                    left = math.ceil(current)
                left -= 1
                if left == 0:
                    issued.append(current)
        assert len(seen) > 20
        np.testing.assert_array_equal(seen, issued)
        np.testing.assert_array_equal(lengths, np.ceil(issued))  # counted by gymnax


def test_training_is_saved_and_resumed_bit_identically(gymnax, tmp_path):
    bridge = GymnaxEnvironment("Pendulum-v1", with_gravity, 1, time_limit=30)
    method = CurriculumLearning(Random(), SMALL)
    experiment = Experiment(problem(bridge), method, (1,), iterations=4, steps_per_iteration=64)
    with experiment.training((1,)) as training:
        state, _ = train(training, 2)
        checkpoint = Checkpoint.start(training, experiment)
        checkpoint.state, checkpoint.iteration = state, 2
        (tmp_path / "saved").write_bytes(checkpoint.content())
        again = Checkpoint.start(training, experiment).restore(tmp_path / "saved")
        _, through = train(training, 2, state, start=2)
        _, resumed = train(training, 2, again.state, start=2)
    assert through == resumed


class NoisyState(NamedTuple):
    total: jax.Array


@dataclasses.dataclass(frozen=True)
class Noisy:
    """A random walk with gymnax's methods and without the package; the reward is its last step."""

    default_params = 1.0

    def reset_env(self, key, params):
        state = NoisyState(jnp.float32(0.0))
        return state.total[None], state

    def step_env(self, key, state, action, params):
        noise = params * jax.random.normal(key)
        state = NoisyState(state.total + noise)
        return state.total[None], state, noise, jnp.bool_(False), {}

    def is_truncated(self, state, params):
        return jnp.bool_(False)

    def action_space(self, params):
        return GymnaxBox(-1.0, 1.0, (2,))


class GymnaxBox(NamedTuple):
    low: float
    high: float
    shape: tuple[int, ...]


def scaled(params, context):
    return params * context[0]


def test_random_steps_depend_on_the_reset_key_and_the_time_alone():
    bridge = GymnaxEnvironment(Noisy(), scaled, 1, time_limit=50)
    still = jnp.zeros((50, 2))
    rewards = {
        name: np.array([step.reward for step in roll(bridge, [context], still, seed)[1]])
        for name, seed, context in (("one", 1, 1.0), ("same", 1, 1.0), ("other", 2, 1.0))
    }
    np.testing.assert_array_equal(rewards["one"], rewards["same"])
    assert len({*rewards["one"].tolist(), *rewards["other"].tolist()}) == 100
    assert abs(rewards["one"].mean()) < 0.5
    assert 0.7 < rewards["one"].std() < 1.3


def test_the_action_bounds_of_one_number_apply_to_every_component():
    bridge = GymnaxEnvironment(Noisy(), scaled, 1, time_limit=5)
    assert (bridge.action_low, bridge.action_high) == ((-1.0, -1.0), (1.0, 1.0))


class GymnaxDiscrete(NamedTuple):
    n: int


@dataclasses.dataclass(frozen=True)
class Chosen(Noisy):
    """Rewards the number that was chosen."""

    def step_env(self, key, state, action, params):
        assert action.shape == ()
        assert jnp.issubdtype(action.dtype, jnp.integer)
        return state.total[None], state, action.astype(jnp.float32), jnp.bool_(False), {}

    def action_space(self, params):
        return GymnaxDiscrete(3)


def test_discrete_actions_arrive_as_whole_numbers():
    bridge = GymnaxEnvironment(Chosen(), scaled, 1, time_limit=5)
    assert (bridge.action_low, bridge.action_high) == ((0.0,), (2.0,))
    _, steps = roll(bridge, [1.0], jnp.array([[2.0], [0.0], [1.0]]))
    assert [float(step.reward) for step in steps] == [2.0, 0.0, 1.0]
    assert problem(bridge).spec.has_discrete_actions


def test_a_learner_finds_the_best_of_three_choices():
    bridge = GymnaxEnvironment(Chosen(), scaled, 1, time_limit=5)
    with CurriculumLearning(Random(), PPO(hidden=(8,), learning_rate=1e-2)).training(
        problem(bridge), (1,), 256
    ) as training:
        _, metrics = train(training, 15)
    assert metrics[-1][0]["train/return"] > 9.0  # 2 in each of five steps, almost


def test_actions_of_a_discrete_environment_are_those_of_gymnax(gymnax):
    own, params = gymnax.make("CartPole-v1")
    bridge = GymnaxEnvironment("CartPole-v1", lambda params, _: params, 1, shows_context=False)
    actions = jnp.array([[1.0], [0.0], [1.0], [1.0]])
    first, steps = roll(bridge, [0.0], actions)
    key_start, _ = jax.random.key_data(jax.random.split(jax.random.key(0)))
    observation, state = own.reset_env(key_start, params)
    np.testing.assert_array_equal(first, observation)
    for step, action in zip(steps, [1, 0, 1, 1], strict=True):
        observation, state, *_ = own.step_env(jax.random.key(1), state, action, params)
        np.testing.assert_allclose(step.observation, observation, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context_size": 0}, "context_size must be positive, got 0"),
        ({"time_limit": 0}, "time_limit must be positive, got 0"),
        ({"apply_context": "g"}, "apply_context must be a function, got 'g'"),
        ({"settings": {"a": 1}}, "settings must be pairs of a name and a hashable value"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    given = {"environment": Noisy(), "apply_context": scaled, "context_size": 1} | settings
    with pytest.raises(SelfpacedError, match=message):
        GymnaxEnvironment(**given)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (GymnaxEnvironment("Typo-v1", scaled, 1), r"gymnax.*make\('Typo-v1'\) failed with"),
        (GymnaxEnvironment("Pendulum-v1", scaled, 1, time_limit=201), "must be at most 200"),
        (GymnaxEnvironment(Noisy(), scaled, 1), "time_limit must be set, in steps"),
        (GymnaxEnvironment(7, scaled, 1), "int lacks default_params"),
    ],
)
def test_environments_that_do_not_fit_are_refused(gymnax, environment, message):
    with pytest.raises(SelfpacedError, match=message):
        _ = environment.max_episode_steps


def test_a_problem_with_another_number_of_context_components_is_refused():
    bridge = GymnaxEnvironment(Noisy(), scaled, 2, time_limit=5)
    with pytest.raises(SelfpacedError, match="must have 2 components, which GymnaxEnvironment"):
        problem(bridge)


def test_a_missing_package_is_one_line_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnax", None)
    with pytest.raises(SelfpacedError, match=r"requires gymnax.*pip install 'selfpaced\[gymnax\]'"):
        _ = GymnaxEnvironment("Missing-v0", scaled, 1).action_low


def test_success_that_no_function_tells_is_not_reported():
    given = {"environment": Noisy(), "apply_context": scaled, "context_size": 1, "time_limit": 5}
    for is_success, is_reported in ((None, False), (lambda state, context: True, True)):
        bridge = GymnaxEnvironment(**given, is_success=is_success)
        with CurriculumLearning(Random(), SMALL).training(problem(bridge), (1,), 64) as training:
            batch = training.target_episodes(training.init_learners(), 0, 3)
        assert batch.reports_success == is_reported
