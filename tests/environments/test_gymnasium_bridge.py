"""A user's Gymnasium environment as a host environment."""

from __future__ import annotations

import numpy as np
import pytest

from selfpaced import SelfpacedError
from selfpaced.environments.base import HostEnvironment
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment

POINT_MASS = "selfpaced/PointMass2D-v0"


def test_every_copy_gets_its_own_context():
    vector = GymnasiumEnvironment(POINT_MASS, time_limit=100).make(2)
    contexts = np.array([[1.0, 2.0], [3.0, 4.0]])
    first, _ = vector.reset(seed=[1, 2], options={"context": contexts})
    np.testing.assert_allclose(first[:, 4:], contexts)
    mask = np.array([False, True])
    again, _ = vector.reset(seed=[1, 2], options={"context": -contexts + 5, "reset_mask": mask})
    np.testing.assert_allclose(again[:, 4:], [[1.0, 2.0], [2.0, 1.0]])


def test_a_simulation_that_breaks_down_is_reported_once(monkeypatch):
    pytest.importorskip("mujoco")
    from selfpaced.environments.mujoco import ant_gate as ant_gate_vector

    monkeypatch.setattr(ant_gate_vector, "MAX_SPEED", 1e-6)
    vector = GymnasiumEnvironment("selfpaced/AntGate-v0", time_limit=750).make(2)
    vector.reset(seed=[1, 2], options={"context": np.array([[0.0, 8.0], [1.0, 8.0]])})
    for unstable in (True, False):  # then the episode is over
        _, _, terminated, _, info = vector.step(np.zeros((2, 8)))
        assert terminated.all()
        assert info["unstable"].tolist() == [unstable, unstable]


def test_an_environment_without_a_time_limit_is_refused():
    with pytest.raises(SelfpacedError, match="time_limit must be set"):
        _ = GymnasiumEnvironment(POINT_MASS).max_episode_steps


def test_an_environment_whose_actions_are_no_vectors_is_refused():
    with pytest.raises(SelfpacedError, match="action space of CartPole-v1 must be a Box"):
        _ = GymnasiumEnvironment("CartPole-v1").action_low


@pytest.mark.parametrize(
    ("id", "message"),
    [("selfpaced/Typo-v0", "doesn't exist"), (POINT_MASS, "TypeError.*gravity")],
)
def test_an_environment_that_cannot_be_made_is_reported_with_the_cause(id, message):
    environment = GymnasiumEnvironment(id, settings=(("gravity", 9.8),))
    with pytest.raises(SelfpacedError, match=f"gymnasium.make.*gravity=9.8.*{message}"):
        _ = isinstance(environment, HostEnvironment) and environment.observation_size


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"time_limit": -5}, "time_limit must be positive, got -5"),
        ({"min_episode_steps": 0}, "min_episode_steps must be positive, got 0"),
        ({"max_side_by_side": 0}, "max_side_by_side must be positive, got 0"),
        ({"settings": {"a": 1}}, "settings must be pairs of a name and a hashable value"),
        ({"settings": (("a", [1]),)}, "settings must be pairs of a name and a hashable value"),
        ({"settings": (1, 2)}, "settings must be pairs of a name and a hashable value"),
    ],
)
def test_wrong_settings_are_refused(mistake, message):
    with pytest.raises(SelfpacedError, match=message):
        GymnasiumEnvironment(POINT_MASS, **mistake)
