"""Checks of a problem's environment, contexts and discount."""

import pytest

from selfpaced import ContextSpace, Gaussian, Problem, SelfpacedError
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.environments.point_mass import PointMass

CONTEXTS = ContextSpace(
    names=("gate_position", "gate_width"),
    lower=(-4.0, 0.5),
    upper=(4.0, 8.0),
    initial=Gaussian.diagonal((0.0, 4.25), (2.0, 1.875)),
    target=Gaussian.diagonal((2.5, 0.5), (0.004, 0.00375)),
)


class Incomplete:
    """An environment of neither kind."""

    observation_size = 2
    action_low, action_high = (-1.0,), (1.0,)


class Hosted(Incomplete):
    def make(self, num_envs, num_threads=1):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            Incomplete(),
            "Incomplete, .* of 'mine', lacks max_episode_steps, .*, noise_size, reset, step",
        ),
        (Hosted(), "Hosted, .* of 'mine', lacks max_episode_steps, max_side_by_side, min_episode"),
        ([], "list, the environment of 'mine', lacks action_high, action_low"),
    ],
)
def test_an_incomplete_environment_is_refused(environment, message):
    with pytest.raises(SelfpacedError, match=message):
        Problem("mine", "my own", environment, CONTEXTS, 0.95)


def test_an_environment_in_jax_must_be_hashable():
    environment = PointMass(2)
    Problem("mine", "my own", environment, CONTEXTS, 0.95)

    class Unhashable(PointMass):
        __hash__ = None

    with pytest.raises(SelfpacedError, match=r"Unhashable, .* must be hashable; make it a frozen"):
        Problem("mine", "my own", Unhashable(2), CONTEXTS, 0.95)


def test_a_discount_is_checked():
    with pytest.raises(SelfpacedError, match=r"discount must lie in \(0, 1\], got 1.5"):
        Problem("mine", "my own", BallCatching(), BallCatching().contexts, 1.5)


def test_contexts_of_another_size_than_the_environment_takes_are_refused():
    width = ContextSpace(("width",), (0.5,), (8.0,), *[Gaussian.diagonal((1.0,), (0.1,))] * 2)
    with pytest.raises(
        SelfpacedError, match=r"must have 2 components, which PointMass takes, got 1"
    ):
        Problem("narrow", "one component too few", PointMass(2), width, 0.95)
