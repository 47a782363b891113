"""The same callback with SBX, Stable-Baselines3 in JAX."""

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

pytest.importorskip("sbx", reason="needs pip install 'selfpaced[sbx]'")

import sbx
from stable_baselines3.common.env_util import make_vec_env

from selfpaced import CurriculumCallback, CurriculumEnv
from selfpaced.integrations.stable_baselines3.critics import find_critic
from tests.integrations.counting import CONTEXTS, Counting
from tests.integrations.issuing import Drawing, Journal

OFF = {"learning_starts": 50, "buffer_size": 1000, "batch_size": 8}
ALGORITHMS = {"PPO": {"n_steps": 20, "batch_size": 20}, "SAC": OFF, "TD3": OFF, "DQN": OFF}
FIRST = np.array([[0.0, 0.25], [0.0, 0.75], [3.0, 0.5]])


class Choosing(Counting):
    """The same environment with discrete actions."""

    action_space = Discrete(2)


def made(name: str, env: Any, **settings: Any) -> Any:
    return getattr(sbx, name)("MlpPolicy", env, policy_kwargs={"net_arch": [4]}, **settings)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_contexts_seen_are_contexts_issued_and_values_come_from_the_critic(name: str) -> None:
    inner = Choosing if name == "DQN" else Counting
    env = make_vec_env(lambda: CurriculumEnv(inner(), CONTEXTS), n_envs=2)
    callback = CurriculumCallback(Drawing(), CONTEXTS, update_every=90, values="critic")
    journal = Journal(callback.curriculum)
    model = made(name, env, **ALGORITHMS[name]).learn(300, callback=callback)
    journal.check([row[1:] for row in env.env_method("get_wrapper_attr", "seen")])
    found = np.asarray(find_critic(model)(FIRST))
    assert found.shape == (3,)
    assert len(set(found)) == 3


def test_the_value_is_that_of_the_value_network() -> None:
    model = made("PPO", make_vec_env(Counting, n_envs=2), n_steps=20, batch_size=20)
    state = model.policy.vf_state
    expected = np.asarray(state.apply_fn(state.params, FIRST.astype(np.float32))).reshape(-1)
    np.testing.assert_allclose(find_critic(model)(FIRST), expected, 1e-6)


def test_a_critic_that_is_not_known_has_no_values() -> None:
    model = made("CrossQ", make_vec_env(Counting, n_envs=2), **OFF)
    assert find_critic(model) is None
