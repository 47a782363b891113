from importlib.util import find_spec

import numpy as np
import pytest

from selfpaced.environments.ball_catching import BallCatching
from selfpaced.reports import catching_rate
from selfpaced.reports.catching_rate import (
    NUM_THROWS,
    catching_rates,
    draw_catching_rate,
    draw_catching_rates,
)

pytestmark = pytest.mark.skipif(find_spec("mujoco") is None, reason="needs mujoco")


def test_an_evaluation_of_200_throws_is_the_catching_rate(make_run, monkeypatch):
    run = make_run(problem="ball-catching", evaluation_episodes=NUM_THROWS, reached=[15, 10, 20])
    monkeypatch.setattr(catching_rate, "final_episodes", None)  # must not be called
    np.testing.assert_allclose(catching_rates(run), 10 / 20)  # all seeds reached 10


def test_fewer_evaluation_episodes_are_not_enough(make_run):
    short = BallCatching(max_episode_steps=30)  # ends before the ball arrives
    run = make_run(problem="ball-catching", evaluation_episodes=5, environment=short, seeds=(1, 2))
    np.testing.assert_array_equal(catching_rates(run), [0.0, 0.0])


def test_bars_show_means_and_their_standard_errors(make_run, monkeypatch):
    runs = [make_run(name, problem="ball-catching", teacher=name) for name in ("spdl", "random")]
    rates = {runs[0]: np.array([0.2, 0.4]), runs[1]: np.array([0.9, 0.9])}
    monkeypatch.setattr(catching_rate, "catching_rates", rates.__getitem__)
    [axes] = draw_catching_rates(runs).axes
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [0.3, 0.9])
    labels = [text.get_text() for text in axes.texts]
    assert labels == ["30.0% ± 7.1%", "90.0% ± 0.0%"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["SPDL + PPO", "Random + PPO"]
    [axes] = draw_catching_rate(runs[0]).axes
    assert len(axes.patches) == 1
