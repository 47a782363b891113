"""SPDL with the learners of Stable-Baselines3 on the point mass; minutes per test."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="needs pip install 'selfpaced[sb3]'")

import sb3_contrib
import stable_baselines3 as sb3
from stable_baselines3.common.env_util import make_vec_env

from selfpaced import PROBLEMS, SPDL, CurriculumCallback, CurriculumEnv, Default
from selfpaced.integrations.jax_adapter import JaxAdapter

PROBLEM = PROBLEMS["point-mass-2d"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def make() -> CurriculumEnv:
    return CurriculumEnv(JaxAdapter(PROBLEM), PROBLEM.contexts, discount=PROBLEM.discount)


def trained(kind: Any, teacher: Any, seed: int, steps: int, **settings: Any) -> float:
    """Return the discounted return on the target after training."""
    env = make_vec_env(make, n_envs=8, seed=seed)
    model = kind("MlpPolicy", env, gamma=PROBLEM.discount, seed=seed, device="cpu", **settings)
    model.learn(steps, callback=CurriculumCallback(teacher, PROBLEM.contexts))
    target, returns = make(), []
    for episode in range(40):
        observation, _ = target.reset(seed=10**6 + episode)
        total, weight, over = 0.0, 1.0, False
        while not over:
            action, _ = model.predict(observation)
            observation, reward, terminated, truncated, _ = target.step(action)
            total, weight = total + weight * float(reward), weight * PROBLEM.discount
            over = terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ppo_passes_the_gate(seed: int) -> None:
    settings = {"n_steps": 256, "gae_lambda": 0.99}
    assert trained(sb3.PPO, SPDL(), seed, 500_000, **settings) > 8.0


def test_trpo_improves_on_training_without_a_curriculum() -> None:
    settings = {"n_steps": 256, "gae_lambda": 0.99}
    returns = [
        trained(sb3_contrib.TRPO, teacher, 1, 300_000, **settings)
        for teacher in (SPDL(), Default())
    ]
    assert returns[0] > returns[1] + 1.0


def test_sac_improves_on_training_without_a_curriculum() -> None:
    # settings of the paper; as many updates as steps, of all environments together
    settings = {
        "gradient_steps": -1,
        "learning_starts": 500,
        "buffer_size": 10_000,
        "batch_size": 64,
        "policy_kwargs": {"net_arch": [64, 64]},
    }
    returns = [trained(sb3.SAC, teacher, 1, 100_000, **settings) for teacher in (SPDL(), Default())]
    assert returns[0] > returns[1] + 1.0
