"""A point mass that has to pass a gate in a wall (paper, Section 5.1 and Appendix C.1).

Deviations from the paper's text, all of them in the experiments that its numbers come from:
D1  the force acts with a gain of 1.5,
D2  the acceleration is disturbed by noise of standard deviation 0.05,
D3  the reward decays with the distance to the goal, not with its square.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from selfpaced.environments.base import Step
from selfpaced.errors import require
from selfpaced.validation import require_positive

START = (0.0, 3.0)
GOAL = (0.0, -3.0)
ARENA = 4.0  # positions stay within ±ARENA
MAX_FORCE = 10.0
FORCE_GAIN = 1.5  # D1
NOISE_STD = 0.05  # D2
REWARD_DECAY = 0.6
GOAL_RADIUS = 0.25  # what counts as success
NUM_SUBSTEPS = 10
SUBSTEP = 0.01  # seconds


class PointMassState(NamedTuple):
    """One episode in flight."""

    position: jax.Array  # [2]
    velocity: jax.Array  # [2]
    context: jax.Array  # [3] gate position, gate width, friction
    time: jax.Array  # steps taken


@dataclass(frozen=True)
class PointMass:
    """The context is (gate position, gate width, friction), or only the first two components."""

    context_size: int = 3
    max_episode_steps: int = 100

    def __post_init__(self) -> None:
        require_positive(self, "max_episode_steps")
        require(
            self.context_size in (2, 3),
            f"the point mass has 2 or 3 context components, got {self.context_size}",
        )

    @property
    def observation_size(self) -> int:
        """Position and velocity of both axes, then the context."""
        return 4 + self.context_size

    @property
    def action_low(self) -> tuple[float, ...]:
        """The force is limited per axis."""
        return (-MAX_FORCE, -MAX_FORCE)

    @property
    def action_high(self) -> tuple[float, ...]:
        """The force is limited per axis."""
        return (MAX_FORCE, MAX_FORCE)

    @property
    def noise_size(self) -> int:
        """Two axes in every substep."""
        return 2 * NUM_SUBSTEPS

    @property
    def min_episode_steps(self) -> int:
        """Falling on the wall with full force takes 7 steps."""
        return min(6, self.max_episode_steps)

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, PointMassState]:
        """Put the mass at rest above the wall; the start is not random."""
        del key
        # without a third component the ground is frictionless
        full = jnp.zeros(3, context.dtype).at[: self.context_size].set(context)
        state = PointMassState(jnp.array(START), jnp.zeros(2), full, jnp.int32(0))
        return self.observe(state), state

    def step(self, noise: jax.Array, state: PointMassState, action: jax.Array) -> Step:
        """Hold the force for a tenth of a second."""
        force = jnp.clip(action, -MAX_FORCE, MAX_FORCE)
        position, velocity, crashed = _integrate(noise, state, force)
        state = PointMassState(position, velocity, state.context, state.time + 1)
        distance = jnp.sqrt(((position - jnp.array(GOAL)) ** 2).sum())
        return Step(
            state,
            self.observe(state),
            reward=jnp.exp(-REWARD_DECAY * distance),  # D3
            terminated=crashed,
            truncated=~crashed & (state.time >= self.max_episode_steps),
            success=distance < GOAL_RADIUS,
        )

    def observe(self, state: PointMassState) -> jax.Array:
        """Raw state [x, ẋ, y, ẏ] followed by the raw context."""
        moving = jnp.stack([state.position, state.velocity], axis=1).ravel()
        return jnp.concatenate([moving, state.context[: self.context_size]])


def _integrate(
    noise: jax.Array, state: PointMassState, force: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Explicit Euler; a crash freezes the mass at the wall and skips the remaining substeps.

    The whole path is computed first and the wall is tested on all substeps at once: compiled, this
    is three times as fast as deciding substep by substep, with the same outcome.
    """
    gate, width, friction = state.context
    acceleration = FORCE_GAIN * force + NOISE_STD * noise.reshape(NUM_SUBSTEPS, 2)
    decay = 1.0 - SUBSTEP * friction
    position, velocity, path = state.position, state.velocity, [state.position]
    for substep in range(NUM_SUBSTEPS):
        position = jnp.clip(position + SUBSTEP * velocity, -ARENA, ARENA)
        velocity = decay * velocity + SUBSTEP * acceleration[substep]
        path.append(position)
    x, y = jnp.stack(path).T

    before, after = y[:-1], y[1:]
    crosses = ((before >= 0) & (after < 0)) | ((before <= 0) & (after > 0))
    share = -before / jnp.where(crosses, after - before, 1.0)
    crossing = share * x[1:] + (1.0 - share) * x[:-1]
    hits = crosses & (jnp.abs(crossing - gate) > 0.5 * width)
    crashed = hits.any()
    wall = jnp.stack([crossing[jnp.argmax(hits)], jnp.zeros_like(gate)])  # argmax: the first hit
    return jnp.where(crashed, wall, position), jnp.where(crashed, 0.0, velocity), crashed
