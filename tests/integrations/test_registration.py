"""Registration of the problems with Gymnasium."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import gymnasium
import pytest

from selfpaced.integrations.registration import GYMNASIUM_IDS, register_environments
from selfpaced.registry import PROBLEMS


def test_every_problem_has_a_gymnasium_id():
    assert sorted(GYMNASIUM_IDS.values()) == sorted(PROBLEMS)


@pytest.mark.skipif(find_spec("mujoco") is None, reason="needs mujoco")
def test_gymnasium_makes_the_adapter_of_each_problem():
    register_environments()
    for name, problem in GYMNASIUM_IDS.items():
        assert gymnasium.make(name).unwrapped.problem is PROBLEMS[problem]


def test_a_second_registration_changes_nothing_and_warns_of_nothing():
    register_environments()
    before = {name: gymnasium.spec(name) for name in GYMNASIUM_IDS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_environments()
    assert all(gymnasium.spec(name) is spec for name, spec in before.items())
