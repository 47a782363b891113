import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced.learners.advantages import advantages
from selfpaced.learners.base import Rollout

DISCOUNT, LAMBDA = 0.9, 0.8


def rollout(reward, terminated=None, truncated=None):
    reward = jnp.asarray(reward, jnp.float32)[:, None]
    flags = [
        jnp.zeros(reward.shape, bool) if flag is None else jnp.asarray(flag, bool)[:, None]
        for flag in (terminated, truncated)
    ]
    nothing = jnp.zeros((*reward.shape, 1))
    return Rollout(nothing, nothing, reward, *flags, nothing)


def estimate(rollout, value, next_value, time_outs="terminal", gae_lambda=LAMBDA):
    columns = [jnp.asarray(column, jnp.float32)[:, None] for column in (value, next_value)]
    return np.asarray(advantages(rollout, *columns, DISCOUNT, gae_lambda, time_outs))[:, 0]


def test_advantages_are_the_discounted_sum_of_one_step_errors():
    reward, value, next_value = [1.0, 2.0, 3.0], [0.5, 0.1, -0.2], [0.1, -0.2, 0.7]
    error = np.array(reward) + DISCOUNT * np.array(next_value) - np.array(value)
    weight = DISCOUNT * LAMBDA
    expected = [
        error[0] + weight * error[1] + weight**2 * error[2],
        error[1] + weight * error[2],
        error[2],
    ]
    np.testing.assert_allclose(estimate(rollout(reward), value, next_value), expected, rtol=1e-6)


def test_with_lambda_one_advantage_plus_value_is_the_discounted_return():
    found = estimate(
        rollout([1.0, 1.0, 1.0], terminated=[0, 0, 1]), [5.0] * 3, [5.0] * 3, gae_lambda=1.0
    )
    np.testing.assert_allclose(found + 5.0, [1 + 0.9 + 0.81, 1 + 0.9, 1.0], rtol=1e-6)


def test_nothing_flows_back_across_the_end_of_an_episode():
    before = rollout([0.0, 0.0, 0.0], terminated=[0, 1, 0])
    after = rollout([0.0, 0.0, 100.0], terminated=[0, 1, 0])
    zeros = [0.0] * 3
    np.testing.assert_array_equal(
        estimate(before, zeros, zeros)[:2], estimate(after, zeros, zeros)[:2]
    )


@pytest.mark.parametrize(
    ("time_outs", "expected"), [("terminal", 1.0), ("bootstrap", 1.0 + 0.9 * 7)]
)
def test_the_value_behind_a_time_out_is_zero_or_estimated(time_outs, expected):
    found = estimate(rollout([1.0], truncated=[1]), [0.0], [7.0], time_outs)
    assert found[0] == pytest.approx(expected)


@pytest.mark.parametrize("time_outs", ["terminal", "bootstrap"])
def test_the_value_behind_a_termination_is_zero_with_either_setting(time_outs):
    assert estimate(rollout([1.0], terminated=[1]), [0.0], [7.0], time_outs)[0] == pytest.approx(
        1.0
    )
