"""The point mass against a slow copy of its rules, substep by substep, and known answers."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced.environments.point_mass import PointMass, PointMassState
from selfpaced.errors import SelfpacedError

THREE = PointMass(context_size=3)
TWO = PointMass(context_size=2)
STEP = jax.jit(jax.vmap(THREE.step))
STEP_ONE = jax.jit(THREE.step)
NO_FORCE = np.zeros(2, np.float32)
NO_NOISE = np.zeros(20, np.float32)
NO_WALL = (0.0, 8.0, 0.0)  # the gate spans the arena, and there is no friction
DISCOUNT = 0.95


class Outcome(NamedTuple):
    state: list[float]  # x, ẋ, y, ẏ
    crashed: bool
    crossings: list[tuple[str, str]]  # e.g. ("down", "passed")


def slow_step(state, context, force, noise):
    """Take one environment step, substep by substep, in float64; noise [10, 2]."""
    x, vx, y, vy = (float(value) for value in state)
    gate, width, friction = (float(value) for value in context)
    force_x, force_y = (min(max(float(value), -10.0), 10.0) for value in force)
    crossings = []
    for noise_x, noise_y in noise:
        new_x = min(max(x + 0.01 * vx, -4.0), 4.0)
        new_y = min(max(y + 0.01 * vy, -4.0), 4.0)
        new_vx = vx + 0.01 * (1.5 * force_x - friction * vx + 0.05 * float(noise_x))
        new_vy = vy + 0.01 * (1.5 * force_y - friction * vy + 0.05 * float(noise_y))
        down, up = y >= 0 and new_y < 0, y <= 0 and new_y > 0
        if down or up:
            share = (0 - y) / (new_y - y)
            crossing = share * new_x + (1 - share) * x
            direction = "down" if down else "up"
            if abs(crossing - gate) > width / 2:
                crossings.append((direction, "crashed"))
                return Outcome([crossing, 0.0, 0.0, 0.0], True, crossings)
            crossings.append((direction, "passed"))
        x, vx, y, vy = new_x, new_vx, new_y, new_vy
    return Outcome([x, vx, y, vy], False, crossings)


def slow_reward(state):
    return math.exp(-0.6 * math.hypot(state[0] - 0, state[2] + 3))


def state_at(x, y, vx=0.0, vy=0.0, context=NO_WALL, time=0):
    return PointMassState(
        jnp.array([x, y], jnp.float32),
        jnp.array([vx, vy], jnp.float32),
        jnp.array(context, jnp.float32),
        jnp.int32(time),
    )


def step_from(state, force=NO_FORCE, noise=NO_NOISE):
    return STEP_ONE(noise, state, np.asarray(force, np.float32))


def discounted_return(state, force, num_steps=100):
    """Return the discounted return of a constant force without noise, up to a crash."""
    total = 0.0
    for time in range(num_steps):
        after = step_from(state, force)
        total += DISCOUNT**time * float(after.reward)
        state = after.state
        if after.terminated:
            break
    return total


def agrees_with_the_slow_copy(low, high, num=4000, seed=0):
    """Compare `num` states x, ẋ, y, ẏ drawn between low and high; return the slow outcomes."""
    rng = np.random.default_rng(seed)
    states = rng.uniform(low, high, (num, 4)).astype(np.float32)
    contexts = rng.uniform((-4, 0.5, 0), (4, 8, 4), (num, 3)).astype(np.float32)
    forces = rng.uniform(-15, 15, (num, 2)).astype(np.float32)  # some must be clipped
    noise = rng.standard_normal((num, 20)).astype(np.float32)
    batch = PointMassState(states[:, ::2], states[:, 1::2], contexts, np.zeros(num, np.int32))
    after = STEP(noise, batch, forces)
    inputs = zip(states, contexts, forces, noise.reshape(num, 10, 2), strict=True)
    outcomes = [slow_step(*values) for values in inputs]
    ends = np.array([outcome.state for outcome in outcomes])

    np.testing.assert_array_equal(after.terminated, [outcome.crashed for outcome in outcomes])
    np.testing.assert_allclose(after.observation[:, :4], ends, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(after.observation[:, 4:], contexts)
    np.testing.assert_allclose(after.reward, [slow_reward(end) for end in ends], rtol=1e-5)
    return outcomes


def test_anywhere_in_the_arena_it_agrees_with_the_slow_copy():
    outcomes = agrees_with_the_slow_copy((-4, -12, -4, -12), (4, 12, 4, 12))
    kinds = [outcome.crossings[0] for outcome in outcomes if outcome.crossings]
    for kind in [("down", "passed"), ("down", "crashed"), ("up", "passed"), ("up", "crashed")]:
        assert kinds.count(kind) > 50


def test_crossing_the_wall_several_times_in_one_step_agrees_with_the_slow_copy():
    outcomes = agrees_with_the_slow_copy((-4, -10, -0.01, -0.7), (4, 10, 0.01, 0.7))
    several = [outcome.crossings for outcome in outcomes if len(outcome.crossings) > 1]
    assert several.count([("down", "passed"), ("up", "passed")]) > 50
    assert several.count([("up", "passed"), ("down", "passed")]) > 50
    assert [("down", "passed"), ("up", "crashed")] in several
    assert [("up", "passed"), ("down", "crashed")] in several


def test_along_the_border_it_agrees_with_the_slow_copy():
    outcomes = agrees_with_the_slow_copy((3.5, -5, -4, -10), (4, 15, -3.5, 5))
    assert sum(outcome.state[0] == 4.0 for outcome in outcomes) > 100
    assert sum(outcome.state[2] == -4.0 for outcome in outcomes) > 100


def test_a_crash_puts_the_mass_to_rest_where_it_met_the_wall():
    # the fourth substep goes from y = 0.02 to -0.06 and from x = 1.06 to 1.08
    state = state_at(1.0, 0.26, vx=2.0, vy=-8.0, context=(-3.0, 1.0, 0.0))
    after = step_from(state)
    np.testing.assert_allclose(after.observation[:4], [1.065, 0, 0, 0], atol=1e-6)
    assert after.observation[2] == 0.0
    assert after.terminated
    assert not after.truncated


def test_the_first_of_two_hits_counts():
    # down at x = 1 and, were there no wall, up again further right
    state = state_at(1.0, 0.001, vx=5.0, vy=-0.5, context=(-3.0, 1.0, 0.0))
    after = step_from(state, force=[0.0, 10.0])
    np.testing.assert_allclose(after.observation[:4], [1.01, 0, 0, 0], atol=1e-6)


def test_the_mass_passes_the_gate_up_to_exactly_half_its_width():
    fits = state_at(1.25, 0.01, vy=-5.0, context=(1.0, 0.5, 0.0))
    misses = state_at(1.2501, 0.01, vy=-5.0, context=(1.0, 0.5, 0.0))
    assert not step_from(fits).terminated
    assert step_from(misses).terminated


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_leaving_the_height_of_the_wall_counts_as_crossing_it(direction):
    state = state_at(0.0, 0.0, vy=direction, context=(3.0, 0.5, 0.0))
    assert step_from(state).terminated


def test_resting_at_the_height_of_the_wall_is_no_crossing():
    assert not step_from(state_at(0.0, 0.0, vx=1.0, context=(3.0, 0.5, 0.0))).terminated


def test_the_border_stops_the_mass_but_keeps_its_velocity():
    after = step_from(state_at(3.9, -3.9, vx=5.0, vy=-7.0))
    np.testing.assert_array_equal(after.observation[:4], np.float32([4, 5, -4, -7]))


def test_friction_takes_its_share_of_the_velocity_in_every_substep():
    after = step_from(state_at(0.0, 2.0, vx=1.0, context=(0.0, 8.0, 4.0)))
    assert after.observation[1] == pytest.approx(0.96**10, rel=1e-5)


def test_the_force_acts_with_a_gain_and_is_clipped():
    assert step_from(state_at(0, 3), force=[2, 0]).observation[1] == pytest.approx(0.3)
    assert step_from(state_at(0, 3), force=[99, 0]).observation[1] == pytest.approx(1.5)
    # position lags one substep behind: 0.01 · (0 + 0.15 + … + 9 · 0.15)
    assert step_from(state_at(0, 3), force=[99, 0]).observation[0] == pytest.approx(0.0675)


def test_noise_disturbs_the_acceleration_by_a_twentieth():
    after = step_from(state_at(0, 3), noise=np.ones(20, np.float32))
    np.testing.assert_allclose(after.state.velocity, 10 * 0.01 * 0.05, rtol=1e-5)


def test_an_episode_starts_at_rest_above_the_wall_and_shows_its_context():
    observation, state = THREE.reset(jax.random.key(0), jnp.array([2.5, 0.5, 1.0]))
    np.testing.assert_array_equal(observation, np.float32([0, 0, 3, 0, 2.5, 0.5, 1.0]))
    assert state.time == 0


def test_standing_still_at_the_start_has_the_measured_return():
    assert discounted_return(state_at(0, 3), NO_FORCE) == pytest.approx(0.543, abs=5e-4)


def test_hovering_above_the_wall_has_the_measured_return():
    assert discounted_return(state_at(0, 1e-6), NO_FORCE) == pytest.approx(3.29, abs=5e-3)


def test_resting_on_the_goal_returns_the_upper_bound():
    best = (1 - DISCOUNT**100) / (1 - DISCOUNT)
    assert best == pytest.approx(19.88, abs=5e-3)
    assert discounted_return(state_at(0, -3), NO_FORCE) == pytest.approx(best, rel=1e-5)


def test_crashing_as_fast_as_possible_returns_about_a_half():
    state = state_at(0, 3, context=(2.5, 0.5, 0.0))
    assert discounted_return(state, [0.0, -10.0]) == pytest.approx(0.5, abs=0.1)


def test_the_reward_decays_with_the_distance_and_not_with_its_square():
    assert step_from(state_at(3, 1)).reward == pytest.approx(math.exp(-0.6 * 5), rel=1e-5)


@pytest.mark.parametrize(("x", "success"), [(0.0, True), (0.249, True), (0.25, False), (1, False)])
def test_success_is_to_be_less_than_a_quarter_from_the_goal(x, success):
    after = step_from(state_at(x, -3.0))
    assert bool(after.success) is success
    assert not after.terminated  # the episode goes on at the goal


def test_without_a_third_component_there_is_no_friction():
    observation, state = TWO.reset(jax.random.key(0), jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(observation, np.float32([0, 0, 3, 0, 1, 2]))
    frictionless, step = state_at(0, 3, context=(1.0, 2.0, 0.0)), jax.jit(TWO.step)
    for _ in range(5):
        force, noise = np.float32([3, -4]), np.ones(20, np.float32)
        after, expected = step(noise, state, force), step_from(frictionless, force, noise)
        state, frictionless = after.state, expected.state
        assert after.observation.shape == (6,)
        np.testing.assert_allclose(after.observation, expected.observation[:6], atol=1e-6)


@pytest.mark.parametrize("context_size", [0, 1, 4])
def test_other_numbers_of_context_components_are_refused(context_size):
    with pytest.raises(SelfpacedError, match="context_size must be 2 or 3, got"):
        PointMass(context_size=context_size)


def test_the_time_limit_truncates_the_hundredth_step_and_terminates_nothing():
    early, last = step_from(state_at(0, 3, time=98)), step_from(state_at(0, 3, time=99))
    assert not early.truncated
    assert last.truncated
    assert not last.terminated


def test_a_crash_in_the_hundredth_step_is_terminated_and_not_truncated():
    state = state_at(0.0, 0.01, vy=-5.0, context=(3.0, 0.5, 0.0), time=99)
    after = step_from(state)
    assert after.terminated
    assert not after.truncated


def test_no_episode_of_the_point_mass_is_shorter_than_min_episode_steps():
    environment = PointMass()
    _, state = environment.reset(jax.random.key(0), jnp.array([4.0, 0.5, 0.0]))
    step = jax.jit(environment.step)
    pushed = jnp.full(environment.noise_size, -6.0)  # six standard deviations, always downwards
    for length in range(1, 20):  # noqa: B007 (used below)
        after = step(pushed, state, jnp.array([0.0, -10.0]))
        state = after.state
        if after.terminated:
            break
    assert bool(after.terminated)
    assert np.isclose(state.position[1], 0.0)
    assert environment.min_episode_steps <= length <= environment.min_episode_steps + 1
