"""The peer: Stable-Baselines3 on a point mass in plain NumPy, the paper's settings.

python benchmarks/sb3_peer.py ppo|trpo|sac STEPS CORE

Prints environment steps per second, learning included, of the second learner in this process; the
first warms the process up. TRPO is that of sb3-contrib. The environment computes with scalars,
which is the fastest way with these libraries: it is faster than ours through Gymnasium.
"""

import math
import os
import sys
import time

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from sb3_contrib import TRPO
from stable_baselines3 import PPO, SAC

LOWER, UPPER = (-4.0, 0.5, 0.0), (4.0, 8.0, 4.0)


class LeanPointMass(gymnasium.Env):
    """The point mass with contexts from the initial distribution, without a curriculum."""

    action_space = Box(-10.0, 10.0, (2,), np.float32)
    observation_space = Box(-np.inf, np.inf, (7,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        drawn = self.np_random.normal((0.0, 4.25, 2.0), (2.0, 1.875, 1.0)).tolist()
        self.context = [
            min(max(value, low), high) for value, low, high in zip(drawn, LOWER, UPPER, strict=True)
        ]
        self.state, self.time = (0.0, 0.0, 3.0, 0.0), 0
        return np.array([*self.state, *self.context], np.float32), {}

    def step(self, action):
        gate, width, friction = self.context
        force_x, force_y = (1.5 * min(max(value, -10.0), 10.0) for value in action.tolist())
        x, x_dot, y, y_dot = self.state
        crashed = False
        for noise_x, noise_y in self.np_random.normal(0.0, 0.05, (10, 2)).tolist():
            new_x = min(max(x + 0.01 * x_dot, -4.0), 4.0)
            new_y = min(max(y + 0.01 * y_dot, -4.0), 4.0)
            x_dot += 0.01 * (force_x - friction * x_dot + noise_x)
            y_dot += 0.01 * (force_y - friction * y_dot + noise_y)
            if (y >= 0.0 > new_y) or (y <= 0.0 < new_y):
                crossing = x + (new_x - x) * y / (y - new_y)
                if abs(crossing - gate) > 0.5 * width:
                    x, x_dot, y, y_dot, crashed = crossing, 0.0, 0.0, 0.0, True
                    break
            x, y = new_x, new_y
        self.state, self.time = (x, x_dot, y, y_dot), self.time + 1
        reward = math.exp(-0.6 * math.hypot(x, y + 3.0))
        observation = np.array([x, x_dot, y, y_dot, gate, width, friction], np.float32)
        return observation, reward, crashed, not crashed and self.time >= 100, {}


SHARED = {
    "gamma": 0.95,
    "policy_kwargs": {"net_arch": [21], "activation_fn": torch.nn.Tanh},
    "device": "cpu",
    "seed": 0,
}
ON_POLICY = {"n_steps": 2048, "gae_lambda": 0.99}
PEERS = {
    "ppo": (
        PPO,
        ON_POLICY
        | {
            "learning_rate": 2.5e-4,
            "batch_size": 64,
            "n_epochs": 8,
            "ent_coef": 0.0,
            "vf_coef": 1.0,
            "max_grad_norm": 1e9,
        },
    ),
    "trpo": (
        TRPO,
        ON_POLICY
        | {
            "learning_rate": 0.23921693516,  # of the value function
            "batch_size": 128,
            "n_critic_updates": 3,
            "cg_max_steps": 10,
            "cg_damping": 0.01,
            "target_kl": 0.004,
        },
    ),
    "sac": (
        SAC,
        {
            "learning_rate": 3e-4,
            "buffer_size": 10_000,
            "learning_starts": 500,
            "batch_size": 64,
            "train_freq": 1,
            "gradient_steps": 1,
        },
    ),
}


def learn(learner: str, steps: int) -> float:
    """Return steps per second from the first step on; SAC's first 500 steps have no updates."""
    kind, settings = PEERS[learner]
    model = kind("MlpPolicy", LeanPointMass(), **SHARED, **settings)
    start = time.perf_counter()
    model.learn(steps)
    return model.num_timesteps / (time.perf_counter() - start)


def main() -> None:
    learner, steps, core = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.sched_setaffinity(0, {core})
    torch.set_num_threads(1)
    learn(learner, steps // 12)
    print(learn(learner, steps))


if __name__ == "__main__":
    main()
