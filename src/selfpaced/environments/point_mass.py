"""A point mass that must pass a gate in a wall (paper, Section 5.1 and Appendix C.1).

Deviations from the paper's text, all of them in the experiments that its numbers come from:
D1  the force acts with a gain of 1.5,
D2  the acceleration is disturbed by noise of standard deviation 0.05,
D3  the reward decays with the distance to the goal, not with its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import jax
import jax.numpy as jnp

from selfpaced.environments.base import Step
from selfpaced.errors import require
from selfpaced.records import Array
from selfpaced.validation import require_positive

START = (0.0, 3.0)
GOAL = (0.0, -3.0)
ARENA = 4.0  # positions stay within ±ARENA
MAX_FORCE = 10.0
FORCE_GAIN = 1.5  # D1
NOISE_STD = 0.05  # D2
REWARD_DECAY = 0.6
GOAL_RADIUS = 0.25  # success is to be closer to the goal
NUM_SUBSTEPS = 10
SUBSTEP = 0.01  # seconds
STEPS_PER_SECOND = 10.0
PICTURE_SIZE = 400  # pixels, both ways


class PointMassState(NamedTuple):
    """State of one episode."""

    position: jax.Array  # [2]
    velocity: jax.Array  # [2]
    context: jax.Array  # [3] gate position, gate width, friction
    time: jax.Array  # steps taken


@final
@dataclass(frozen=True)
class PointMass:
    """A point mass in a square arena, in JAX; rewarded for being near a goal behind a wall.

    The context is (gate position, gate width, friction), or only the first two components.

    Raises:
        SelfpacedError: a setting is out of range.

    Examples:
        >>> import jax
        >>> from selfpaced.environments.point_mass import PointMass
        >>> environment = PointMass(context_size=2)
        >>> observation, state = environment.reset(jax.random.key(0), jax.numpy.array([1.0, 2.0]))
        >>> observation.tolist()
        [0.0, 0.0, 3.0, 0.0, 1.0, 2.0]
    """

    context_size: int = 3
    """number of context components: 3, or 2 for a ground without friction"""
    max_episode_steps: int = 100
    """time limit in steps of 0.1 s"""

    def __post_init__(self) -> None:
        require_positive(self, "max_episode_steps")
        require(
            self.context_size in (2, 3),
            f"context_size must be 2 or 3, got {self.context_size}",
        )

    @property
    def observation_size(self) -> int:
        """Position and velocity along both axes, and the context."""
        return 4 + self.context_size

    @property
    def action_low(self) -> tuple[float, ...]:
        """Smallest force along each axis."""
        return (-MAX_FORCE, -MAX_FORCE)

    @property
    def action_high(self) -> tuple[float, ...]:
        """Largest force along each axis."""
        return (MAX_FORCE, MAX_FORCE)

    @property
    def noise_size(self) -> int:
        """Two axes times ten substeps."""
        return 2 * NUM_SUBSTEPS

    @property
    def min_episode_steps(self) -> int:
        """At most 6: with full force the mass meets the wall in step 7."""
        return min(6, self.max_episode_steps)

    @property
    def steps_per_second(self) -> float:
        """Steps in a second of simulated time."""
        return STEPS_PER_SECOND

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height of `draw` in pixels."""
        return PICTURE_SIZE, PICTURE_SIZE

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, PointMassState]:
        """Start at rest above the wall; the start is not random."""
        del key
        # two components: a ground without friction
        full = jnp.zeros(3, context.dtype).at[: self.context_size].set(context)
        state = PointMassState(jnp.array(START), jnp.zeros(2), full, jnp.int32(0))
        return self.observe(state), state

    def step(self, noise: jax.Array, state: PointMassState, action: jax.Array) -> Step:
        """Apply a constant force for a tenth of a second."""
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
        """Return the raw state [x, ẋ, y, ẏ] followed by the raw context."""
        moving = jnp.stack([state.position, state.velocity], axis=1).ravel()
        return jnp.concatenate([moving, state.context[: self.context_size]])

    def draw(self, states: Sequence[PointMassState], terminated: bool) -> Array:
        """Return a picture, uint8 [400, 400, 3], of the episode so far; a crash gets a cross."""
        from selfpaced.environments.point_mass_picture import draw_point_mass

        return draw_point_mass(states, terminated)


def _integrate(
    noise: jax.Array, state: PointMassState, force: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Integrate by explicit Euler; a crash stops the mass at the wall.

    The path of all substeps is computed first and tested for the wall at once. Compiled, this is
    three times as fast as a decision per substep, with the same outcome.
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
