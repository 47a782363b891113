"""Compiled training inside a script of one's own: an environment, a teacher and a plain loop.

python examples/jax_training.py --iterations 40

A cart has to stop at a goal. The context is the distance to it. The teacher of this script moves
contexts a step towards the target whenever most episodes succeed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced import (
    PPO,
    ContextSpace,
    CurriculumLearning,
    Episodes,
    Experiment,
    Gaussian,
    Problem,
)
from selfpaced.environments.base import Step


class CartState(NamedTuple):
    """One episode in flight."""

    position: jax.Array
    speed: jax.Array
    goal: jax.Array
    time: jax.Array


@dataclass(frozen=True)
class Cart:
    """Accelerates left or right for 40 steps; rewarded for being near the goal and slow."""

    max_episode_steps: int = 40
    min_episode_steps: int = 40
    observation_size: int = 3
    action_low: tuple[float, ...] = (-1.0,)
    action_high: tuple[float, ...] = (1.0,)
    noise_size: int = 1

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, CartState]:
        """Start at rest near zero."""
        start = 0.1 * jax.random.normal(key)
        state = CartState(start, jnp.float32(0.0), context[0], jnp.int32(0))
        return self._observe(state), state

    def step(self, noise: jax.Array, state: CartState, action: jax.Array) -> Step:
        """Accelerate for a tenth of a second."""
        speed = 0.95 * state.speed + 0.4 * action[0] + 0.01 * noise[0]
        after = CartState(state.position + 0.1 * speed, speed, state.goal, state.time + 1)
        error = jnp.abs(after.position - after.goal)
        return Step(
            after,
            self._observe(after),
            reward=jnp.exp(-2.0 * error - 0.5 * jnp.abs(speed)),
            terminated=jnp.bool_(False),
            truncated=after.time >= self.max_episode_steps,
            success=(error < 0.3) & (jnp.abs(speed) < 0.5),
        )

    def _observe(self, state: CartState) -> jax.Array:
        return jnp.stack([state.position, state.speed, state.goal])


class Progress(NamedTuple):
    """Where the teacher is between the initial distribution, 0, and the target, 1."""

    share: np.ndarray


@dataclass(frozen=True)
class Steps:
    """A teacher that moves on when enough episodes of an iteration succeed."""

    size: float = 0.1
    required: float = 0.7

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> Progress:
        """Start at the initial distribution."""
        return Progress(np.zeros(()))

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: Progress, num: int
    ) -> np.ndarray:
        """Draw around a mean on the line from the initial mean to the target mean."""
        start, end = np.array(contexts.initial.mean), np.array(contexts.target.mean)
        mean = (1.0 - state.share) * start + state.share * end
        return contexts.clip(mean + 0.2 * rng.standard_normal((num, contexts.size)))

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: Progress,
        episodes: Episodes,
    ) -> tuple[Progress, dict[str, float]]:
        """Take a step if it is earned."""
        earned = episodes.num > 0 and episodes.success.mean() >= self.required
        share = np.minimum(state.share + self.size * earned, 1.0)
        return Progress(share), {"teacher/share": float(share)}


CART = Problem(
    name="cart",
    summary="stop at a goal; context: its distance",
    environment=Cart(),
    contexts=ContextSpace(
        names=("goal",),
        lower=(0.0,),
        upper=(5.0,),
        initial=Gaussian.diagonal((0.5,), (0.2,)),
        target=Gaussian.diagonal((4.0,), (0.1,)),
    ),
    discount=0.99,
)


def main(arguments: list[str] | None = None) -> float:
    """Train two seeds, print what happens, and return the mean success on the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--steps", type=int, default=2048, help="per iteration and seed")
    given = parser.parse_args(arguments)

    method = CurriculumLearning(Steps(), PPO(learning_rate=3e-3, time_outs="bootstrap"))
    experiment = Experiment(
        CART, method, seeds=(1, 2), steps_per_iteration=given.steps, num_environments=8
    )
    with experiment.training(experiment.seeds) as training:
        state = training.init()
        for iteration in range(given.iterations):
            state, rows = training.iterate(state, iteration)  # a dictionary of metrics per seed
            if iteration % 10 == 0:
                print(iteration, *(f"{row['teacher/share']:.1f}" for row in rows))
        batch = training.target_episodes(state.learner, given.iterations, num_episodes=50)
    success = float(batch.success[:, 1].mean())  # noise scale 0: without exploration
    print(f"success on the target: {success:.2f}")
    return success


if __name__ == "__main__":
    main()
