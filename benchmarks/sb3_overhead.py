"""What CurriculumEnv and CurriculumCallback add to the time of Stable-Baselines3's PPO.

python benchmarks/sb3_overhead.py [ROUNDS]

Trains PPO on a trivial environment with and without both, in turn, and prints the median ratio of
the times of paired rounds, for vectors in this process and in others. Goal: at most 1.05.
"""

import os
import sys
import time
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from selfpaced import SPDL, ContextSpace, CurriculumCallback, CurriculumEnv, Gaussian

CONTEXTS = ContextSpace(
    ("size",),
    (0.0,),
    (1.0,),
    initial=Gaussian.diagonal((0.2,), (0.1,)),
    target=Gaussian.diagonal((0.9,), (0.05,)),
)
NUM_ENVIRONMENTS, NUM_STEPS = 8, 32_768


class Trivial(gymnasium.Env):
    """Does nothing for a hundred steps."""

    observation_space = Box(-1.0, 1.0, (4,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        self.time += 1
        return np.zeros(4, np.float32), 1.0, False, self.time >= 100, {}


def with_curriculum():
    return CurriculumEnv(Trivial(), CONTEXTS)


def seconds(model, callback):
    started = time.perf_counter()
    model.learn(NUM_STEPS, callback=callback)
    return time.perf_counter() - started


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.set_num_threads(1)
    for kind in (DummyVecEnv, SubprocVecEnv):
        models = [
            PPO("MlpPolicy", make_vec_env(make, NUM_ENVIRONMENTS, vec_env_cls=kind), device="cpu")
            for make in (Trivial, with_curriculum)
        ]
        callbacks = [None, CurriculumCallback(SPDL(), CONTEXTS)]
        for model, callback in zip(models, callbacks, strict=True):
            seconds(model, callback)  # warm up
        ratios = []
        for _ in range(rounds):
            plain, taught = map(seconds, models, callbacks)
            ratios.append(taught / plain)
        met = "met" if median(ratios) <= 1.05 else "MISSED"
        shown = ", ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
        print(f"{kind.__name__}: median {median(ratios):.3f} of {shown}; at most 1.05: {met}")
        for model in models:
            model.env.close()


if __name__ == "__main__":
    main()
