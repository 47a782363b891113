"""Values that a teacher gets from the critics of Stable-Baselines3, sb3-contrib and SBX."""

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

pytest.importorskip("stable_baselines3", reason="needs pip install 'selfpaced[sb3]'")

import sb3_contrib
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from selfpaced.integrations.stable_baselines3.critics import find_critic
from selfpaced.records import Array
from tests.integrations.counting import Counting

FIRST = np.array([[0.0, 0.25], [0.0, 0.75], [3.0, 0.5]])


class Choosing(Counting):
    """The same environment with discrete actions."""

    action_space = Discrete(2)


class FirstComponent(torch.nn.Module):
    """A value that is the first component of its input, plus three."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features[:, :1] + 3.0


def made(kind: Any, policy: str = "MlpPolicy", env: type = Counting, **settings: Any) -> Any:
    return kind(policy, make_vec_env(env, n_envs=2), device="cpu", seed=1, **settings)


def values(model: Any) -> Array:
    function = find_critic(model)
    assert function is not None
    return np.asarray(function(FIRST))


def test_a_value_function_is_evaluated_at_the_observations() -> None:
    model = made(sb3.PPO)
    model.policy.mlp_extractor.value_net = torch.nn.Identity()
    model.policy.value_net = FirstComponent()
    assert values(model).tolist() == [3.0, 3.0, 6.0]


def test_normalisation_is_applied_to_observations_and_undone_in_values() -> None:
    env = VecNormalize(make_vec_env(Counting, n_envs=2))
    env.obs_rms.mean, env.obs_rms.var = np.array([1.0, 0.0]), np.array([4.0, 1.0])
    env.ret_rms.var = np.array(100.0)
    model = sb3.PPO("MlpPolicy", env, device="cpu")
    model.policy.mlp_extractor.value_net = torch.nn.Identity()
    model.policy.value_net = FirstComponent()
    # first components (0 - 1) / 2 and (3 - 1) / 2, plus three, times the std of returns
    np.testing.assert_allclose(values(model), [25.0, 25.0, 40.0], 1e-4)


def test_the_smaller_q_function_is_evaluated_at_the_action_of_the_policy() -> None:
    model = made(sb3.SAC)
    observations = torch.as_tensor(FIRST, dtype=torch.float32)
    with torch.no_grad():
        action = model.actor(observations, deterministic=True)
        both = torch.cat(model.critic(observations, action), dim=1).numpy()
    assert not np.array_equal(both[:, 0], both[:, 1])
    np.testing.assert_allclose(values(model), both.min(axis=1), 1e-6)


def test_the_best_action_counts_with_discrete_actions() -> None:
    model = made(sb3.DQN, env=Choosing)
    with torch.no_grad():
        all_actions = model.q_net(torch.as_tensor(FIRST, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(values(model), all_actions.max(axis=1), 1e-6)


def test_the_memory_of_a_recurrent_policy_is_empty_at_the_start_of_an_episode() -> None:
    model = made(sb3_contrib.RecurrentPPO, "MlpLstmPolicy")
    lstm = model.policy.lstm_actor
    other = torch.ones(lstm.num_layers, len(FIRST), lstm.hidden_size)
    with torch.no_grad():
        expected = model.policy.predict_values(
            torch.as_tensor(FIRST, dtype=torch.float32), (other, other), torch.ones(len(FIRST))
        )
    np.testing.assert_allclose(values(model), expected[:, 0], 1e-5)


@pytest.mark.parametrize(
    ("kind", "env"),
    [
        (sb3.A2C, Counting),
        (sb3.TD3, Counting),
        (sb3.DDPG, Counting),
        (sb3_contrib.TRPO, Counting),
        (sb3_contrib.TQC, Counting),
        (sb3_contrib.CrossQ, Counting),
        (sb3_contrib.QRDQN, Choosing),
    ],
)
def test_every_other_critic_gives_one_value_that_depends_on_the_observation(kind, env) -> None:
    found = values(made(kind, env=env))
    assert found.shape == (3,)
    assert np.isfinite(found).all()
    assert len(set(found)) == 3


def test_a_policy_without_a_critic_has_no_values() -> None:
    assert find_critic(made(sb3_contrib.ARS, "LinearPolicy")) is None
