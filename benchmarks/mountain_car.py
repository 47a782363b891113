"""The worked example: a weak mountain car with and without a curriculum, SB3's PPO and ours.

python benchmarks/mountain_car.py [--steps 204800] [--seeds 5]

Writes results/mountain-car.csv, one row per cell, seed and evaluation on the target, and
docs/images/mountain_car.png. Both libraries have the same settings: 8 environments, 2048 steps per
update, networks of 64-64, observations and rewards normalised.
"""

import argparse
import csv
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import matplotlib.pyplot as plt
import numpy as np
import torch
from stable_baselines3 import PPO as SB3PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from examples.mountain_car import CONTEXTS, make
from selfpaced import (
    PPO,
    SPDL,
    CurriculumCallback,
    CurriculumLearning,
    Default,
    Experiment,
    run,
)

ROOT = Path(__file__).resolve().parents[1]
STEPS_PER_UPDATE, NUM_ENVIRONMENTS, EVALUATE_EVERY, EPISODES = 2048, 8, 10, 24
TEACHERS = {"SPDL": SPDL(), "without a curriculum": Default()}


class Evaluation(BaseCallback):
    """Evaluates the stochastic policy on the target every few updates."""

    def __init__(self, seed):
        super().__init__()
        self.env = VecNormalize(
            make_vec_env(make, n_envs=NUM_ENVIRONMENTS, seed=10**6 + seed),
            training=False,
            norm_reward=False,
        )
        self.rows = []
        self.num_rollouts = 0

    def _on_step(self):
        return True

    def _on_rollout_start(self):
        if self.num_rollouts % EVALUATE_EVERY == 0:
            self.evaluate()
        self.num_rollouts += 1

    def _on_training_end(self):
        self.evaluate()

    def evaluate(self):
        successes = []
        self.env.obs_rms = self.model.get_vec_normalize_env().obs_rms

        def note(step, _):
            if step["done"]:
                successes.append(step["info"]["is_success"])

        evaluate_policy(
            self.model, self.env, EPISODES, deterministic=False, callback=note, warn=False
        )
        self.rows.append((self.num_timesteps, float(np.mean(successes))))


def train_sb3(teacher, seed, steps):
    torch.set_num_threads(1)
    env = VecNormalize(make_vec_env(make, n_envs=NUM_ENVIRONMENTS, seed=seed))
    model = SB3PPO(
        "MlpPolicy", env, n_steps=STEPS_PER_UPDATE // NUM_ENVIRONMENTS, seed=seed, device="cpu"
    )
    evaluation = Evaluation(seed)
    model.learn(steps, callback=[CurriculumCallback(teacher, CONTEXTS), evaluation])
    return evaluation.rows


def train_ours(teacher, seeds, steps):
    learner = PPO(
        learning_rate=3e-4,
        num_epochs=10,
        num_minibatches=32,
        normalise_observations=True,
        normalise_rewards=True,
    )
    experiment = Experiment(
        "examples/mountain_car.toml",
        CurriculumLearning(teacher, learner),
        seeds=tuple(seeds),
        iterations=steps // STEPS_PER_UPDATE,
        steps_per_iteration=STEPS_PER_UPDATE,
        num_environments=NUM_ENVIRONMENTS,
        evaluate_every=EVALUATE_EVERY,
        evaluation_episodes=EPISODES,
    )
    with tempfile.TemporaryDirectory() as folder:
        evaluations = run(experiment, Path(folder) / "run").evaluations()
    for iteration, row in zip(evaluations["iteration"], evaluations["success"], strict=True):
        for seed, success in zip(seeds, row, strict=True):
            yield seed, int(iteration) * STEPS_PER_UPDATE, float(success)


def measure(seeds, steps):
    for name, teacher in TEACHERS.items():
        for row in train_ours(teacher, seeds, steps):
            yield "selfpaced PPO", name, *row
        for seed in seeds:
            for row in train_sb3(teacher, seed, steps):
                yield "Stable-Baselines3 PPO", name, seed, *row


def draw(rows, path):
    curves = defaultdict(lambda: defaultdict(list))
    for library, teacher, _, steps, success in rows:
        curves[library, teacher][steps].append(success)
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    styles = {"selfpaced PPO": "-", "Stable-Baselines3 PPO": "--"}
    colours = {"SPDL": "#0072b2", "without a curriculum": "#d55e00"}
    for (library, teacher), points in curves.items():
        steps = sorted(points)
        values = np.array([points[step] for step in steps])
        axes.plot(
            np.array(steps) / 1000,
            100 * values.mean(axis=1),
            styles[library],
            color=colours[teacher],
            label=f"{library}, {teacher}",
        )
        axes.fill_between(
            np.array(steps) / 1000,
            100 * values.min(axis=1),
            100 * values.max(axis=1),
            color=colours[teacher],
            alpha=0.12,
            linewidth=0,
        )
    axes.set(xlabel="environment steps / 1000", ylabel="flag reached on the target / %")
    axes.set_ylim(-3, 103)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=204_800)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    os.chdir(ROOT)  # where the problem file finds its function
    rows = list(measure(range(1, arguments.seeds + 1), arguments.steps))
    with (ROOT / "results" / "mountain-car.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("library", "teacher", "seed", "steps", "success"))
        writer.writerows(rows)
    draw(rows, ROOT / "docs" / "images" / "mountain_car.png")
    last = max(row[3] for row in rows)
    for library in ("selfpaced PPO", "Stable-Baselines3 PPO"):
        for teacher in TEACHERS:
            cell = [row for row in rows if row[:2] == (library, teacher)]
            final = {seed: success for _, _, seed, _, success in cell}  # the last one counts
            shown = " ".join(f"{success:.2f}" for success in final.values())
            print(f"{library}, {teacher}: success after {last} steps: {shown}")


if __name__ == "__main__":
    main()
