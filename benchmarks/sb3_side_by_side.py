"""Our PPO and that of Stable-Baselines3 on a Gymnasium pendulum, side by side.

python benchmarks/sb3_side_by_side.py [STEPS]

Both have the same settings, 8 environments and STEPS environment steps per seed. The context is
the mass of the pendulum, drawn anew for every episode; SB3 draws it in the environment. Prints
steps per second with one seed and with eight, the ratios, and the mean undiscounted return of the
random policy after training. SB3 trains one seed after the other, so that its rate does not depend
on their number: beside our eight seeds it trains two. A short run of both warms up. On a machine
with other load only the ratios mean anything.
"""

import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import gymnasium
import numpy as np
import torch
from gymnasium.envs.classic_control.pendulum import PendulumEnv
from stable_baselines3 import PPO as SB3PPO
from stable_baselines3.common.env_util import make_vec_env

from selfpaced import PPO, ContextSpace, CurriculumLearning, Default, Gaussian, Problem
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment

ID = "selfpaced-benchmarks/Pendulum-v0"
LIGHT, HEAVY, MEAN, STD = 0.5, 1.5, 1.0, 0.2
NUM_ENVIRONMENTS, STEPS_PER_ITERATION = 8, 8192
NUM_EPOCHS, BATCH_SIZE, LEARNING_RATE, GAE_LAMBDA, DISCOUNT = 10, 256, 1e-3, 0.95, 0.9
NUM_EPISODES = 40  # of a reported return


class MassPendulum(PendulumEnv):
    """Swing up a pendulum; its mass is the context, drawn where none is given."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        drawn = np.clip(self.np_random.normal(MEAN, STD), LIGHT, HEAVY)
        (self.m,) = (options or {}).get("context", (drawn,))
        return observation, info


gymnasium.register(ID, MassPendulum, max_episode_steps=200)


def problem():
    """Return the pendulum with the same masses that SB3 meets."""
    masses = Gaussian.diagonal([MEAN], [STD])
    contexts = ContextSpace(("mass",), (LIGHT,), (HEAVY,), initial=masses, target=masses)
    environment = GymnasiumEnvironment(ID, min_episode_steps=200)
    return Problem("pendulum", "a pendulum", environment, contexts, DISCOUNT)


def ours(seeds, num_steps):
    """Return seconds and the last undiscounted returns of every seed."""
    learner = PPO(
        learning_rate=LEARNING_RATE,
        num_epochs=NUM_EPOCHS,
        num_minibatches=STEPS_PER_ITERATION // BATCH_SIZE,
        gae_lambda=GAE_LAMBDA,
    )
    method = CurriculumLearning(Default(), learner)
    workload = seeds, STEPS_PER_ITERATION, NUM_ENVIRONMENTS
    with method.training(problem(), *workload) as training:
        start, state = time.perf_counter(), training.init()
        for iteration in range(num_steps // STEPS_PER_ITERATION):
            state, _ = training.iterate(state, iteration)
        seconds = time.perf_counter() - start
    return seconds, evaluated(method, workload, state.learner)


def evaluated(method, workload, learners):
    """Return the mean undiscounted return of the random policy, per seed."""
    plain = problem()
    plain = Problem(plain.name, plain.summary, plain.environment, plain.contexts, 1.0)
    with method.training(plain, *workload) as training:
        batch = training.target_episodes(learners, 0, NUM_EPISODES)
    return batch.discounted_return[:, 0].mean(axis=1)


def theirs(seeds, num_steps):
    """Return seconds and the returns of every seed, one after the other."""
    seconds, returns = 0.0, []
    for seed in seeds:
        start = time.perf_counter()
        vector = make_vec_env(ID, NUM_ENVIRONMENTS, seed=seed)
        model = SB3PPO(
            "MlpPolicy",
            vector,
            learning_rate=LEARNING_RATE,
            n_steps=STEPS_PER_ITERATION // NUM_ENVIRONMENTS,
            batch_size=BATCH_SIZE,
            n_epochs=NUM_EPOCHS,
            gamma=DISCOUNT,
            gae_lambda=GAE_LAMBDA,
            seed=seed,
            device="cpu",
        )
        model.learn(num_steps)
        seconds += time.perf_counter() - start
        returns.append(sb3_return(model, seed))
    return seconds, np.array(returns)


def sb3_return(model, seed):
    """Return the mean undiscounted return of the random policy, as `evaluated` does."""
    vector = make_vec_env(ID, NUM_EPISODES, seed=1000 + seed)
    observation, total = vector.reset(), np.zeros(NUM_EPISODES)
    for _ in range(200):
        action, _ = model.predict(observation, deterministic=False)
        observation, reward, _, _ = vector.step(action)
        total += reward
    return total.mean()


def report(name, seeds, num_steps, outcome):
    """Print one line and return steps per second."""
    seconds, returns = outcome
    rate = len(seeds) * num_steps / seconds
    print(f"{name:5} {len(seeds)} seeds: {rate:8.0f} steps/s, returns {returns.round(0).tolist()}")
    return rate


def main():
    num_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20 * STEPS_PER_ITERATION
    torch.set_num_threads(1)
    for seeds in ((1,), tuple(range(1, 9))):
        ours(seeds, 2 * STEPS_PER_ITERATION)  # compiles
        theirs(seeds[:1], STEPS_PER_ITERATION)
        own = report("ours", seeds, num_steps, ours(seeds, num_steps))
        peer = report("SB3", seeds[:2], num_steps, theirs(seeds[:2], num_steps))
        print(f"      ratio with {len(seeds)} seeds: {own / peer:.2f}", flush=True)


if __name__ == "__main__":
    main()
