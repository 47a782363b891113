"""A curriculum for Stable-Baselines3 on an environment that ships with Gymnasium.

python examples/mountain_car.py [--steps 200000] [--without-curriculum]

The power of the mountain car's engine is the context. `mountain_car.toml` is the same problem for
the library's own learners.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import gymnasium

from selfpaced import SPDL, ContextSpace, CurriculumEnv, Default, Gaussian

FLAG = 0.45  # position

CONTEXTS = ContextSpace(
    names=("power",),
    lower=(0.0005,),
    upper=(0.006,),
    initial=Gaussian.diagonal((0.005,), (0.0005,)),  # climbs the hill at once
    target=Gaussian.diagonal((0.001,), (0.00005,)),  # two thirds of Gymnasium's power
)


def is_at_flag(observation: Sequence[float], info: Mapping[str, object]) -> bool:
    """Return whether the car has reached the flag."""
    return bool(observation[0] >= FLAG)


def make() -> gymnasium.Env:
    """Return the car, with the power of its engine as part of the observation."""
    return CurriculumEnv(
        gymnasium.make("MountainCarContinuous-v0", max_episode_steps=300),
        CONTEXTS,
        hand_over=("power",),  # an attribute of the environment
        append_context=True,
        scale_context=True,
        success=is_at_flag,
    )


def main() -> None:
    """Train PPO, and print how often it reaches the flag with the weak engine."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import VecNormalize

    from selfpaced import CurriculumCallback

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-curriculum", action="store_true")
    arguments = parser.parse_args()
    teacher = Default() if arguments.without_curriculum else SPDL()

    env = VecNormalize(make_vec_env(make, n_envs=8, seed=arguments.seed))
    model = PPO("MlpPolicy", env, n_steps=256, seed=arguments.seed, device="cpu")
    model.learn(arguments.steps, callback=CurriculumCallback(teacher, CONTEXTS))

    successes: list[bool] = []
    env.training = env.norm_reward = False
    target = VecNormalize(make_vec_env(make, n_envs=8), training=False, norm_reward=False)
    target.obs_rms = env.obs_rms  # no curriculum feeds it, so its contexts are the target's
    returns, _ = evaluate_policy(
        model,
        target,
        n_eval_episodes=40,
        callback=lambda step, _: step["done"] and successes.append(step["info"]["is_success"]),
    )
    print(f"return {returns:.1f}, success {sum(successes) / len(successes):.0%}")


if __name__ == "__main__":
    main()
