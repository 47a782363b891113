"""A simulator ends its threads and processes."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from selfpaced import PPO, PROBLEMS, ContextSpace, CurriculumLearning, Gaussian, Problem, Random
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.environments.mujoco.library import require_mujoco
from selfpaced.errors import MissingPartError
from selfpaced.training import host_rollout
from tests.probes import train

TASKS = Path("/proc/self/task")
METHOD = CurriculumLearning(Random(), PPO(hidden=(8,), num_minibatches=4))
ANGLES = ContextSpace(
    names=("angle",),
    lower=(0.0,),
    upper=(1.0,),
    initial=Gaussian.diagonal([0.0], [0.5]),
    target=Gaussian.diagonal([0.5], [0.1]),
)

pytestmark = pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads and processes in /proc")


def pendulum(in_processes):
    environment = GymnasiumEnvironment(
        "Pendulum-v1", time_limit=4, in_processes=in_processes, max_side_by_side=2
    )
    return Problem("pendulum", "swings", environment, ANGLES, 0.95)


def ball():
    try:
        require_mujoco()
    except MissingPartError as error:
        pytest.skip(str(error))
    problem = PROBLEMS["ball-catching"]
    brief = replace(problem.environment, max_episode_steps=4)
    return replace(problem, environment=brief)


MADE = {
    "threads": ball,
    "processes": lambda: pendulum(in_processes=True),
    "neither": lambda: pendulum(in_processes=False),
}


KINDS = [  # processes take seconds to start
    pytest.param(kind, marks=pytest.mark.slow if kind == "processes" else ()) for kind in MADE
]


@pytest.fixture(params=KINDS, name="kind")
def _kind(request, monkeypatch):
    monkeypatch.setattr(host_rollout, "num_cores", lambda: 2)  # a pool of one thread has none
    return request.param


def make_training(kind):
    return METHOD.training(MADE[kind](), (1,), 16, num_environments=2)


def use(training):
    """Train, evaluate, and ask for what video needs; return the counts before the end."""
    state, _ = train(training, 1)
    outcome = training.target_episodes(state.learner, 1, 1)
    assert np.isfinite(outcome.discounted_return).all()
    assert (outcome.length == 4).all()
    assert training.steps_per_second > 0
    return counts()


def counts():
    """Threads of Python, all threads, and child processes."""
    children = [path.read_text().split() for path in TASKS.glob("*/children")]
    return threading.active_count(), len(list(TASKS.iterdir())), sum(map(len, children))


@pytest.fixture(name="before")
def _before(kind):
    """The counts after a first use, which starts the threads of JAX and a resource tracker."""
    with make_training(kind) as training:
        use(training)
    return counts()


def assert_grew(kind, before, during):
    assert (during[1] > before[1]) == (kind == "threads")
    assert (during[2] > before[2]) == (kind == "processes")


def test_at_the_end_of_a_with_block(kind, before):
    with make_training(kind) as training:
        assert_grew(kind, before, use(training))
    assert counts() == before


def test_after_an_error_in_a_with_block(kind, before):
    def fail():
        with make_training(kind) as training:
            training.init()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert counts() == before


def test_by_close_without_a_with_block(kind, before):
    training = make_training(kind)
    assert counts() == before  # nothing is started before it is used
    assert_grew(kind, before, use(training))
    training.close()
    assert counts() == before
    training.close()  # once more does no harm


def test_a_closed_simulator_starts_again(kind, before):
    training = make_training(kind)
    _, rows = train(training, 1)
    training.close()
    _, again = train(training, 1)
    training.close()
    np.testing.assert_equal(again, rows)
    assert counts() == before
