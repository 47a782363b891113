"""What a discount leaves of a reward at the end of an episode."""

import numpy as np
import pytest

from selfpaced.training.discounting import (
    faint_target,
    is_rewarded_at_the_end,
    remaining_share,
    sufficient_discount,
)

LENGTHS = np.array([400, 500, 600])


def test_the_share_of_a_final_reward_is_the_discount_to_the_power_of_the_steps():
    assert remaining_share(0.99, LENGTHS) == pytest.approx(0.99**500)


def test_a_sufficient_discount_leaves_a_tenth():
    assert sufficient_discount(500) == 0.9955
    assert 0.9954**500 < 0.1 < 0.9955**500


def test_one_reward_in_the_last_step_is_recognised():
    assert is_rewarded_at_the_end(0.99, 5.0 * 0.99 ** (LENGTHS - 1.0), LENGTHS)
    assert is_rewarded_at_the_end(0.99, np.zeros(3), LENGTHS)  # as far as can be seen


def test_rewards_on_the_way_are_not_taken_for_a_final_one():
    assert not is_rewarded_at_the_end(0.99, (1 - 0.99**LENGTHS) / 0.01, LENGTHS)
    same = np.full(3, 500)
    assert not is_rewarded_at_the_end(0.99, np.ones(3), same)  # nothing to tell them apart


def test_a_target_that_is_worth_nothing_is_warned_of():
    text = faint_target(0.98, np.zeros(3), LENGTHS)
    assert "0.98 to the power of 500 steps is 4.1e-05" in text
    assert "raise the discount of the problem to 0.9955" in text
    assert faint_target(0.999, np.zeros(3), LENGTHS) == ""
    assert faint_target(0.98, np.ones(3), LENGTHS) == ""
