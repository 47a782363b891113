"""A problem of one's own in JAX: swing up a pendulum whose mass and torque limit are the context.

selfpaced train examples.pendulum:PENDULUM --seeds 10 --iterations 400 --num-environments 8 \
    --learner.learning-rate 1e-3 --learner.num-epochs 10 --learner.num-minibatches 32 \
    --learner.time-outs bootstrap

Run it in the folder that contains `examples`. The heavy pendulum with the weak motor of the target
has to swing several times, which exploration by chance hardly ever finds. The light one with the
strong motor of the initial distribution can be pushed up at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import jax
import jax.numpy as jnp

from selfpaced import ContextSpace, Gaussian, Problem
from selfpaced.environments.base import Step

TIME_STEP = 0.05  # seconds
MAX_SPEED = 8.0
GRAVITY = 15.0  # angular acceleration of a horizontal pendulum
UPRIGHT, STILL = 0.3, 1.0  # angle and speed that count as success


class PendulumState(NamedTuple):
    """One episode in flight; the angle is measured from upright."""

    angle: jax.Array
    speed: jax.Array
    context: jax.Array  # mass, torque limit
    time: jax.Array


@final
@dataclass(frozen=True)
class Pendulum:
    """Hangs down at the start; the reward is the squared height above the pivot."""

    max_episode_steps: int = 200

    @property
    def observation_size(self) -> int:
        """Direction, speed and context."""
        return 5

    @property
    def action_low(self) -> tuple[float, ...]:
        """Full torque in one direction."""
        return (-1.0,)

    @property
    def action_high(self) -> tuple[float, ...]:
        """Full torque in the other."""
        return (1.0,)

    @property
    def min_episode_steps(self) -> int:
        """Only the time limit ends an episode."""
        return self.max_episode_steps

    @property
    def noise_size(self) -> int:
        """Nothing is random but the start."""
        return 0

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, PendulumState]:
        """Start near hanging down."""
        angle, speed = jax.random.uniform(key, (2,), minval=-0.1, maxval=0.1)
        state = PendulumState(jnp.pi + angle, speed, context, jnp.int32(0))
        return self._observe(state), state

    def step(self, noise: jax.Array, state: PendulumState, action: jax.Array) -> Step:
        """Apply a share of the torque limit for one time step."""
        mass, torque_limit = state.context
        torque = torque_limit * jnp.clip(action[0], -1.0, 1.0)
        acceleration = GRAVITY * jnp.sin(state.angle) + 3.0 * torque / mass
        speed = jnp.clip(state.speed + TIME_STEP * acceleration, -MAX_SPEED, MAX_SPEED)
        angle = state.angle + TIME_STEP * speed
        state = PendulumState(angle, speed, state.context, state.time + 1)
        off_upright = jnp.abs(jnp.mod(angle + jnp.pi, 2.0 * jnp.pi) - jnp.pi)
        return Step(
            state,
            self._observe(state),
            reward=jnp.maximum(0.0, jnp.cos(angle)) ** 2,
            terminated=jnp.bool_(False),
            truncated=state.time >= self.max_episode_steps,
            success=(off_upright < UPRIGHT) & (jnp.abs(speed) < STILL),
        )

    def _observe(self, state: PendulumState) -> jax.Array:
        direction = jnp.stack([jnp.cos(state.angle), jnp.sin(state.angle), state.speed])
        return jnp.concatenate([direction, state.context])


PENDULUM = Problem(
    name="pendulum",
    summary="swing up a pendulum; context: mass and torque limit",
    environment=Pendulum(),
    contexts=ContextSpace(
        names=("mass", "torque_limit"),
        lower=(0.5, 0.5),
        upper=(3.0, 8.0),
        initial=Gaussian.diagonal((1.0, 6.0), (0.2, 1.0)),
        target=Gaussian.diagonal((2.0, 1.8), (0.05, 0.05)),
        units=("kg", "N m"),
    ),
    discount=0.99,
)
