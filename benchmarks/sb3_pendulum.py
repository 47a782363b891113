"""SPDL with PPO of Stable-Baselines3 on the pendulum of examples/pendulum.py.

python benchmarks/sb3_pendulum.py [--seeds 5] [--steps 150000]

8 environments, 2048 steps per update of PPO with a learning rate of 1e-3. Prints return and success
on the target, of the stochastic and of the deterministic policy, and where the contexts are.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

from examples.pendulum import PENDULUM
from selfpaced import SPDL, CurriculumCallback, CurriculumEnv
from selfpaced.integrations.jax_adapter import JaxAdapter

NUM_ENVIRONMENTS, EPISODES = 8, 48
TEACHER = SPDL(max_kl=0.1)  # larger steps than by default: there are only 147 updates


def make():
    return CurriculumEnv(JaxAdapter(PENDULUM), PENDULUM.contexts)


def train(seed, steps):
    env = make_vec_env(make, n_envs=NUM_ENVIRONMENTS, seed=seed)
    model = PPO("MlpPolicy", env, learning_rate=1e-3, n_steps=256, seed=seed, device="cpu")
    callback = CurriculumCallback(TEACHER, PENDULUM.contexts)
    model.learn(steps, callback=callback)
    return model, callback.curriculum.state.mean


def evaluate(model, seed, deterministic):
    successes = []

    def note(step, _):
        if step["done"]:
            successes.append(step["info"]["is_success"])

    target = make_vec_env(make, n_envs=NUM_ENVIRONMENTS, seed=10**6 + seed)
    returns, _ = evaluate_policy(
        model, target, EPISODES, deterministic=deterministic, callback=note
    )
    return f"return {returns:.1f}, success {np.mean(successes):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150_000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for seed in range(1, arguments.seeds + 1):
        model, mean = train(seed, arguments.steps)
        outcomes = [evaluate(model, seed, deterministic) for deterministic in (False, True)]
        print(f"seed {seed}: stochastic {outcomes[0]}; deterministic {outcomes[1]}; {mean}")


if __name__ == "__main__":
    main()
