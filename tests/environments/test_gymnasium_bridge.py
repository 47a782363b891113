"""A user's Gymnasium environment as a host environment."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from selfpaced import SelfpacedError
from selfpaced.environments.base import HostEnvironment
from selfpaced.environments.context_probe import ignores_context
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


def test_success_is_passed_on_only_if_the_environment_reports_it():
    for id, is_reported in ((POINT_MASS, True), ("Pendulum-v1", False)):
        vector = GymnasiumEnvironment(id, time_limit=100).make(1)
        vector.reset(seed=[1], options={"context": np.array([[1.0, 2.0]])})
        *_, info = vector.step(np.zeros((1, *vector.single_action_space.shape)))
        assert ("success" in info) == is_reported


def test_an_environment_without_a_time_limit_is_refused():
    with pytest.raises(SelfpacedError, match="time_limit must be set"):
        _ = GymnasiumEnvironment(POINT_MASS).max_episode_steps


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
        ({"append_context": "yes"}, "append_context must be True, False or 'scaled', got 'yes'"),
        ({"append_context": True}, "context_bounds must be given to append the context"),
        ({"settings": {"a": 1}}, "settings must be pairs of a name and a hashable value"),
        ({"settings": (("a", [1]),)}, "settings must be pairs of a name and a hashable value"),
        ({"settings": (1, 2)}, "settings must be pairs of a name and a hashable value"),
    ],
)
def test_wrong_settings_are_refused(mistake, message):
    with pytest.raises(SelfpacedError, match=message):
        GymnasiumEnvironment(POINT_MASS, **mistake)


class Garden(gymnasium.Env):
    """Observes a dictionary; a success is a step in which the plant is as high as the context."""

    observation_space = Dict({"month": Discrete(2), "beds": Box(-9.0, 9.0, (1, 2))})
    action_space = Box(-1.0, 1.0, (1,))

    def __init__(self, reports="success"):
        self.reports, self.height, self.water = reports, 0.0, 1.0

    def reset(self, *, seed=None, options=None):
        self.wanted = (options or {}).get("context", [0.0])[0]
        return self._observe(0), {}

    def step(self, action):
        self.height += self.water
        return self._observe(1), 0.0, False, False, {self.reports: self.height == self.wanted}

    def _observe(self, month):
        return {"month": month, "beds": np.array([[self.height, self.water]], np.float32)}


gymnasium.register("tests/Garden-v0", Garden, max_episode_steps=5)


def test_observations_are_flattened_and_the_context_is_appended():
    environment = GymnasiumEnvironment(
        "tests/Garden-v0", append_context="scaled", context_bounds=((0.0, 4.0),)
    )
    assert environment.observation_size == 5
    vector = environment.make(2)
    first, _ = vector.reset(seed=[1, 2], options={"context": np.array([[4.0], [1.0]])})
    assert first.tolist() == [[0, 1, 1, 0, 1.0], [0, 1, 1, 0, -0.5]]  # beds, month, context
    later, *_ = vector.step(np.zeros((2, 1)))
    assert later.tolist() == [[1, 1, 0, 1, 1.0], [1, 1, 0, 1, -0.5]]


@pytest.mark.parametrize("name", ["success", "is_success"])
def test_success_comes_from_the_info_under_either_name(name):
    vector = GymnasiumEnvironment("tests/Garden-v0", settings=(("reports", name),)).make(2)
    vector.reset(seed=[1, 2], options={"context": np.array([[1.0], [2.0]])})
    assert vector.step(np.zeros((2, 1)))[-1]["success"].tolist() == [True, False]


def test_success_comes_from_a_function_of_observation_and_info():
    def is_high(observation, info):
        assert "success" in info
        return observation["beds"][0, 0] > 1.5

    vector = GymnasiumEnvironment("tests/Garden-v0", success=is_high).make(1)
    vector.reset(seed=[1], options={"context": np.array([[1.0]])})
    assert [vector.step(np.zeros((1, 1)))[-1]["success"][0] for _ in range(2)] == [False, True]


@pytest.mark.parametrize("in_processes", [False, True])
def test_every_copy_gets_its_own_attributes(in_processes):
    environment = GymnasiumEnvironment(
        "Pendulum-v1", hand_over=("m", "max_torque"), in_processes=in_processes
    )
    vector = environment.make(2)
    vector.reset(seed=[1, 1], options={"context": np.array([[1.0, 2.0], [1.0, 0.0]])})
    observation, *_ = vector.step(np.full((2, 1), 2.0))
    vector.close()
    push = 3.0 / (1.0 * 1.0**2) * 2.0 * 0.05  # 3 u dt / (m l²)
    assert observation[0, 2] - observation[1, 2] == pytest.approx(push, abs=1e-5)


def test_a_context_of_the_wrong_size_is_refused():
    vector = GymnasiumEnvironment("Pendulum-v1", hand_over=("m", "l")).make(1)
    with pytest.raises(SelfpacedError, match="one attribute for each of 3 context components"):
        vector.reset(seed=[1], options={"context": np.ones((1, 3))})


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("tests/Deaf-v0", r"reset of Deaf must take options .* got reset\(seed=None\); hand the"),
        ("tests/Camera-v0", "must have no images, got Box"),
    ],
)
def test_an_environment_that_cannot_be_trained_is_refused_when_it_is_made(id, message):
    with pytest.raises(SelfpacedError, match=message):
        GymnasiumEnvironment(id).make(1)


class Deaf(Garden):
    """Takes no options."""

    def reset(self, seed=None):
        return self._observe(0), {}


class Camera(Garden):
    """Observes images."""

    observation_space = Box(0, 255, (96, 96, 3), np.uint8)


gymnasium.register("tests/Deaf-v0", Deaf, max_episode_steps=5)
gymnasium.register("tests/Camera-v0", Camera, max_episode_steps=5)


@pytest.mark.parametrize(
    ("id", "hand_over", "is_ignored"),
    [
        ("Pendulum-v1", "options", True),
        ("Pendulum-v1", ("m",), False),
        ("Pendulum-v1", ("screen_dim",), True),
        (POINT_MASS, "options", False),
    ],
)
def test_a_context_without_effect_is_noticed_although_it_is_appended(id, hand_over, is_ignored):
    bounds = ((0.5, 4.0),) * (2 if id == POINT_MASS else 1)
    environment = GymnasiumEnvironment(
        id, time_limit=100, hand_over=hand_over, append_context=True, context_bounds=bounds
    )
    low, high = np.ones(len(bounds)), np.full(len(bounds), 3.0)
    assert ignores_context(environment, low, high) is is_ignored
