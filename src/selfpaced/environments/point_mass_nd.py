"""A point mass before a thick wall whose gate many numbers describe (Klink et al., TPAMI 2024).

The context has d positions, d left widths and d right widths. The gate is at the position with the
largest absolute value and as wide, on either side, as the smallest width: every component must be
easy for the context to be easy. The rest is as in `point_mass`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.environments.base import Step
from selfpaced.environments.point_mass import (
    ARENA,
    FORCE_GAIN,
    GOAL,
    GOAL_RADIUS,
    MAX_FORCE,
    NOISE_STD,
    NUM_SUBSTEPS,
    PICTURE_SIZE,
    REWARD_DECAY,
    START,
    STEPS_PER_SECOND,
    SUBSTEP,
    PointMassState,
)
from selfpaced.records import Array
from selfpaced.validation import require_positive

WALL = 0.5  # the wall reaches from -WALL to WALL
PROBES = 10  # points of a substep that are tested for the wall: 100 in a step


class ManyGatesState(NamedTuple):
    """State of one episode."""

    position: jax.Array  # [2]
    velocity: jax.Array  # [2]
    gate: jax.Array  # [3] position, left width, right width
    time: jax.Array  # steps taken


@final
@dataclass(frozen=True)
class PointMassND:
    """A point mass whose gate is the hardest of several; the observation shows that one only.

    Raises:
        SelfpacedError: a setting is not positive.

    Examples:
        >>> import jax
        >>> from selfpaced.environments.point_mass_nd import PointMassND
        >>> context = jax.numpy.array([1.0, -2.0, 0.5, 1.5, 3.0, 0.75])
        >>> observation, state = PointMassND(2).reset(jax.random.key(0), context)
        >>> observation.tolist()
        [0.0, 0.0, 1.5, 0.0, -2.0, 0.5, 0.75]
    """

    num_gates: int = 2
    """d; the context has three numbers for each"""
    max_episode_steps: int = 100
    """time limit in steps of 0.1 s"""

    def __post_init__(self) -> None:
        require_positive(self, "num_gates", "max_episode_steps")

    @property
    def observation_size(self) -> int:
        """Half of position and velocity along both axes, and the gate."""
        return 7

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
        """At most 5: with full force the mass meets the wall in step 6."""
        return min(5, self.max_episode_steps)

    @property
    def steps_per_second(self) -> float:
        """Steps in a second of simulated time."""
        return STEPS_PER_SECOND

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height of `draw` in pixels."""
        return PICTURE_SIZE, PICTURE_SIZE

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, ManyGatesState]:
        """Start at rest above the wall; the start is not random."""
        del key
        positions, left, right = context.reshape(3, self.num_gates)
        farthest = positions[jnp.argmax(jnp.abs(positions))]
        gate = jnp.stack([farthest, left.min(), right.min()])
        state = ManyGatesState(jnp.array(START), jnp.zeros(2), gate, jnp.int32(0))
        return self.observe(state), state

    def step(self, noise: jax.Array, state: ManyGatesState, action: jax.Array) -> Step:
        """Apply a constant force for a tenth of a second."""
        force = jnp.clip(action, -MAX_FORCE, MAX_FORCE)
        position, velocity, crashed = _integrate(noise, state, force)
        state = ManyGatesState(position, velocity, state.gate, state.time + 1)
        distance = jnp.sqrt(((position - jnp.array(GOAL)) ** 2).sum())
        return Step(
            state,
            self.observe(state),
            reward=jnp.exp(-REWARD_DECAY * distance),
            terminated=crashed,
            truncated=~crashed & (state.time >= self.max_episode_steps),
            success=distance < GOAL_RADIUS,
        )

    def observe(self, state: ManyGatesState) -> jax.Array:
        """Return half of [x, ẋ, y, ẏ], followed by the gate."""
        moving = jnp.stack([state.position, state.velocity], axis=1).ravel()
        return jnp.concatenate([0.5 * moving, state.gate])

    def draw(self, states: Sequence[ManyGatesState], terminated: bool) -> Array:
        """Return a picture, uint8 [400, 400, 3], of the episode so far; a crash gets a cross."""
        from selfpaced.environments.point_mass_picture import draw_point_mass

        return draw_point_mass([_as_point_mass(state) for state in states], terminated, 2 * WALL)


def _as_point_mass(state: ManyGatesState) -> PointMassState:
    """The state with the gate's middle and width, without friction, as NumPy arrays."""
    gate, left, right = np.asarray(state.gate).tolist()
    context = np.array([gate + 0.5 * (right - left), left + right, 0.0])
    return PointMassState(state.position, state.velocity, context, state.time)  # type: ignore[arg-type]


def _integrate(
    noise: jax.Array, state: ManyGatesState, force: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Integrate by explicit Euler; a crash stops the mass at the first point in the wall."""
    gate, left, right = state.gate
    acceleration = FORCE_GAIN * force + NOISE_STD * noise.reshape(NUM_SUBSTEPS, 2)
    position, velocity, path = state.position, state.velocity, [state.position]
    for substep in range(NUM_SUBSTEPS):
        position = jnp.clip(position + SUBSTEP * velocity, -ARENA, ARENA)
        velocity = velocity + SUBSTEP * acceleration[substep]
        path.append(position)
    corners = jnp.stack(path)
    share = jnp.arange(1, PROBES + 1)[None, :, None] / PROBES
    probes = corners[:-1, None] + share * (corners[1:, None] - corners[:-1, None])
    x, y = probes.reshape(-1, 2).T
    hits = (jnp.abs(y) <= WALL) & ((x < gate - left) | (x > gate + right))
    crashed = hits.any()
    first = jnp.argmax(hits)
    stopped = jnp.stack([x[first], y[first]])
    return jnp.where(crashed, stopped, position), jnp.where(crashed, 0.0, velocity), crashed
