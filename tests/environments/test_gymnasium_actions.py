import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from selfpaced import SelfpacedError
from selfpaced.environments.gymnasium_actions import action_bounds
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment

ACTIONS = {
    "Discrete": Discrete(3, start=1),
    "MultiDiscrete": MultiDiscrete([2, 4], start=[0, -1]),
    "Box": Box(-1.0, 2.0, (2,)),
}


class Echo(gymnasium.Env):
    """Observe the last action, and refuse what is not in the action space."""

    observation_space = Box(-9.0, 9.0, (2,))

    def __init__(self, kind):
        self.action_space = ACTIONS[kind]

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {"context": options["context"]}

    def step(self, action):
        assert self.action_space.contains(action)
        seen = np.broadcast_to(np.asarray(action, np.float32), 2)
        return seen.copy(), 0.0, False, False, {}


gymnasium.register("Echo-v0", Echo, max_episode_steps=3)


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [
        ("Discrete", ((1.0,), (3.0,), True)),
        ("MultiDiscrete", ((0.0, -1.0), (1.0, 2.0), True)),
        ("Box", ((-1.0, -1.0), (2.0, 2.0), False)),
    ],
)
def test_spaces_become_bounds_that_include_both_ends(kind, bounds):
    assert action_bounds("Echo-v0", ACTIONS[kind]) == bounds
    environment = GymnasiumEnvironment("Echo-v0", settings=(("kind", kind),))
    found = environment.action_low, environment.action_high, environment.has_discrete_actions
    assert found == bounds


@pytest.mark.parametrize(
    ("kind", "actions"),
    [("Discrete", [[1], [3]]), ("MultiDiscrete", [[0, -1], [1, 2]])],
)
@pytest.mark.parametrize("in_processes", [False, True])
def test_whole_numbers_arrive_as_members_of_the_space(kind, actions, in_processes):
    environment = GymnasiumEnvironment(
        f"{__name__}:Echo-v0", settings=(("kind", kind),), in_processes=in_processes
    )
    vector = environment.make(2)
    vector.reset(seed=[1, 2], options={"context": np.zeros((2, 1))})
    observation, *_ = vector.step(np.array(actions))
    np.testing.assert_array_equal(observation, np.broadcast_to(actions, (2, 2)))
    vector.close()


@pytest.mark.parametrize("kind", ACTIONS)
def test_samples_of_the_vectors_action_space_can_be_applied(kind):
    vector = GymnasiumEnvironment("Echo-v0", settings=(("kind", kind),)).make(2)
    vector.reset(seed=0, options={"context": np.zeros((2, 1))})
    actions = vector.action_space.sample()
    observation, *_ = vector.step(actions)
    np.testing.assert_allclose(observation, np.broadcast_to(actions.reshape(2, -1), (2, 2)))


def test_other_spaces_are_refused_with_those_that_are_supported():
    with pytest.raises(SelfpacedError, match="must be a Box or MultiDiscrete of one dimension or"):
        action_bounds("Mine-v0", MultiBinary(3))
