"""The lunar lander: its context, its success signal, its pictures, and Box2D missing."""

import sys

import gymnasium
import numpy as np
import pytest

from selfpaced import PROBLEMS, neurips2020
from selfpaced.commands.main import main
from selfpaced.environments.lunar_lander import LunarLander
from selfpaced.errors import MissingPartError

pytest.importorskip("Box2D")
from gymnasium.envs.box2d.lunar_lander import heuristic

from selfpaced.environments.box2d.lunar_lander import ID

NO_ENGINE = np.array([[-1.0, 0.0]])
GRAVITY, WIND, TURBULENCE = range(3)
VERTICAL_SPEED, TURN_RATE = 3, 5  # places in an observation
HORIZONTAL_SPEED = 2


def fall(context, num_steps=20, pictures=False):
    """Return the observations of a fall without engines."""
    vector = LunarLander().make(1)
    observation, _ = vector.reset(seed=[3], options={"context": np.array([context])})
    path = [observation[0]]
    for _ in range(num_steps):
        path.append(vector.step(NO_ENGINE)[0][0])
        if pictures:
            assert vector.render_row(0, 600, 400).shape == (400, 600, 3)
    vector.close()
    return np.array(path)


def test_gravity_accelerates_the_fall():
    earth, moon = (fall((gravity, 0.0, 0.0)) for gravity in (-10.0, -2.0))
    gain = [path[-1, VERTICAL_SPEED] - path[0, VERTICAL_SPEED] for path in (earth, moon)]
    # 0.4 s at 10 and at 2 m/s², in Gymnasium's units of velocity
    np.testing.assert_allclose(gain, np.array([-4.0, -0.8]) * (400 / 30 / 2) / 50, rtol=0.02)


@pytest.mark.parametrize(("component", "seen"), [(WIND, HORIZONTAL_SPEED), (TURBULENCE, TURN_RATE)])
def test_wind_pushes_and_turbulence_turns(component, seen):
    calm, rough = np.array([[-10.0, 0.0, 0.0]] * 2)
    rough[component] = 1.0
    still, moved = (path[-1, seen] - path[0, seen] for path in map(fall, (calm, rough)))
    assert abs(moved - still) > 1e-3
    rough[component] = 2.0
    twice = fall(rough)[-1, seen] - fall(rough)[0, seen]
    assert (twice - still) / (moved - still) == pytest.approx(2.0, rel=0.1)


def test_the_policy_observes_the_context_scaled_to_its_bounds():
    np.testing.assert_allclose(fall((-12.0, 10.0, 2.0))[0, 8:], [-1.0, 0.0, 1.0])
    assert LunarLander(observe_context=False).observation_size == 8


@pytest.mark.parametrize(
    ("x", "legs", "game_over", "success"),
    [
        (10.0, (True, True), False, True),
        (10.0, (True, False), False, False),
        (2.0, (True, True), False, False),
        (10.0, (True, True), True, False),
    ],
)
def test_success_is_to_stand_on_both_legs_between_the_flags(x, legs, game_over, success):
    env = gymnasium.make(ID, continuous=True, max_episode_steps=400).unwrapped
    env.reset(seed=0)
    assert not env.step(NO_ENGINE[0])[4]["success"]
    env.lander.position = (x, 10.0)
    for leg, touches in zip(env.legs, legs, strict=True):
        leg.ground_contact = touches
    env.game_over = game_over
    *_, info = env.step(NO_ENGINE[0])
    assert info["success"] is success


def test_a_controller_lands_in_weak_wind_and_fails_in_strong_wind():
    successes = []
    for context in [(-10.0, 0.0, 0.0), (-10.0, 20.0, 2.0)]:
        vector = LunarLander(max_episode_steps=1000).make(8)
        observation, _ = vector.reset(
            seed=list(range(8)), options={"context": np.array([context] * 8)}
        )
        envs = [row.unwrapped for row in vector.env.envs]
        ended, success = np.zeros((2, 8), bool)
        while not ended.all():
            actions = [
                heuristic(env, seen[:8]) for env, seen in zip(envs, observation, strict=True)
            ]
            observation, _, terminated, truncated, info = vector.step(np.array(actions))
            success |= info.get("success", np.zeros(8, bool)) & ~ended
            ended |= terminated | truncated
        successes.append(success.mean())
        vector.close()
    assert successes[0] >= 0.75
    assert successes[1] <= 0.5


def test_pictures_do_not_change_an_episode():
    context = (-8.0, 12.0, 1.0)
    np.testing.assert_array_equal(fall(context), fall(context, pictures=True))


def test_discrete_actions():
    environment = LunarLander(continuous=False)
    assert environment.has_discrete_actions
    vector = environment.make(2)
    vector.reset(seed=[0, 0], options={"context": np.array([[-10.0, 0.0, 0.0]] * 2)})
    observation, *_ = vector.step(np.array([[0], [2]]))
    assert observation[1, VERTICAL_SPEED] > observation[0, VERTICAL_SPEED]  # the main engine
    vector.close()


def test_without_box2d_the_problem_is_listed_and_its_use_is_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    main(["list"])
    assert "lunar-lander" in capsys.readouterr().out
    assert neurips2020("lunar-lander").resolved is PROBLEMS["lunar-lander"]
    with pytest.raises(MissingPartError, match=r"run pip install 'selfpaced\[box2d\]'"):
        LunarLander().make(1)
    for command in (["train", "lunar-lander", "--out", str(tmp_path)], ["check", "lunar-lander"]):
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert stop.value.code == 2
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        assert "pip install 'selfpaced[box2d]'" in message
