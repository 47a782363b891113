"""What a problem says of an environment that is not complete."""

import pytest

from selfpaced import Problem, SelfpacedError
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.environments.point_mass import PointMass
from selfpaced.problems import POINT_MASS_2D


class Silent:
    """Neither one nor the other."""

    observation_size = 2
    action_low, action_high = (-1.0,), (1.0,)


class Hosted(Silent):
    def make(self, num_envs, num_threads=1):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (Silent(), "Silent, .* of 'mine', lacks max_episode_steps, .*, noise_size, reset, step"),
        (Hosted(), "Hosted, .* of 'mine', lacks max_episode_steps, max_side_by_side, min_episode"),
        ([], "list, the environment of 'mine', lacks action_high, action_low"),
    ],
)
def test_what_an_environment_lacks_is_said(environment, message):
    with pytest.raises(SelfpacedError, match=message):
        Problem("mine", "somebody's", environment, POINT_MASS_2D.contexts, 0.95)


def test_an_environment_in_jax_must_be_hashable():
    environment = PointMass(2)
    Problem("mine", "somebody's", environment, POINT_MASS_2D.contexts, 0.95)

    class Unhashable(PointMass):
        __hash__ = None

    with pytest.raises(SelfpacedError, match=r"Unhashable, .* must be hashable: make it a frozen"):
        Problem("mine", "somebody's", Unhashable(2), POINT_MASS_2D.contexts, 0.95)


def test_a_discount_is_checked():
    with pytest.raises(SelfpacedError, match=r"discount must lie in \(0, 1\], got 1.5"):
        Problem("mine", "somebody's", BallCatching(), BallCatching().contexts, 1.5)
