"""A point that must reach a goal in a corridor, with a sparse reward (Klink et al., ICML 2022).

The corridor is a square ring. A context is a goal and a tolerance: with a large tolerance any
behaviour succeeds, with a small one only a policy that has learned the way around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import jax
import jax.numpy as jnp

from selfpaced.environments.base import Step
from selfpaced.records import Array
from selfpaced.validation import require_positive

OUTER = 7.0  # positions stay within ±OUTER
INNER = 5.0  # and outside the open square ±INNER
START = (-7.0, -5.0)  # range of both coordinates at the start
STEP_LENGTH = 0.3
STEPS_PER_SECOND = 10.0
PICTURE_SIZE = 400  # pixels, both ways


class GoalMazeState(NamedTuple):
    """State of one episode."""

    position: jax.Array  # [2]
    context: jax.Array  # [3] goal x, goal y, tolerance
    time: jax.Array  # steps taken


@final
@dataclass(frozen=True)
class GoalMaze:
    """Reach a goal in a square ring, in JAX; the reward is -1 per step until success.

    Raises:
        SelfpacedError: a setting is out of range.

    Examples:
        >>> import jax
        >>> from selfpaced.environments.goal_maze import GoalMaze
        >>> observation, _ = GoalMaze().reset(jax.random.key(0), jax.numpy.array([6.0, 6.0, 0.5]))
        >>> observation[2:].tolist()
        [6.0, 6.0, 0.5]
    """

    max_episode_steps: int = 200
    """time limit in steps"""

    def __post_init__(self) -> None:
        require_positive(self, "max_episode_steps")

    @property
    def observation_size(self) -> int:
        """Position and context."""
        return 5

    @property
    def action_low(self) -> tuple[float, ...]:
        """Smallest move along each axis, in units of the step length."""
        return (-1.0, -1.0)

    @property
    def action_high(self) -> tuple[float, ...]:
        """Largest move along each axis, in units of the step length."""
        return (1.0, 1.0)

    @property
    def noise_size(self) -> int:
        """Zero: moves are deterministic."""
        return 0

    @property
    def min_episode_steps(self) -> int:
        """One: the start can lie within the tolerance."""
        return 1

    @property
    def steps_per_second(self) -> float:
        """Steps in a second of a video."""
        return STEPS_PER_SECOND

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height of `draw` in pixels."""
        return PICTURE_SIZE, PICTURE_SIZE

    def reset(self, key: jax.Array, context: jax.Array) -> tuple[jax.Array, GoalMazeState]:
        """Start uniformly in the lower left corner of the ring."""
        low, high = START
        position = jax.random.uniform(key, (2,), minval=low, maxval=high)
        state = GoalMazeState(position, context, jnp.int32(0))
        return self.observe(state), state

    def step(self, noise: jax.Array, state: GoalMazeState, action: jax.Array) -> Step:
        """Move by at most the step length; walls stop the coordinate that meets them."""
        del noise
        action = jnp.clip(action, -1.0, 1.0)
        length = jnp.sqrt((action**2).sum())
        position = _stay_in_ring(
            state.position, state.position + STEP_LENGTH * action / jnp.maximum(1.0, length)
        )
        state = GoalMazeState(position, state.context, state.time + 1)
        goal, tolerance = state.context[:2], state.context[2]
        success = jnp.sqrt(((goal - position) ** 2).sum()) < tolerance
        return Step(
            state,
            self.observe(state),
            reward=jnp.where(success, 0.0, -1.0),
            terminated=success,
            truncated=~success & (state.time >= self.max_episode_steps),
            success=success,
        )

    def observe(self, state: GoalMazeState) -> jax.Array:
        """Return position and context, not scaled."""
        return jnp.concatenate([state.position, state.context])

    def draw(self, states: Sequence[GoalMazeState], terminated: bool) -> Array:
        """Return a picture, uint8 [400, 400, 3], of the episode so far."""
        from selfpaced.environments.goal_maze_picture import draw_goal_maze

        return draw_goal_maze(states, terminated)


def _stay_in_ring(before: jax.Array, after: jax.Array) -> jax.Array:
    """Clip to the outer square; put coordinates that entered the inner square back to its edge."""
    after = jnp.clip(after, -OUTER, OUTER)
    is_inside = (jnp.abs(after) < INNER).all()
    entered_low = (before <= -INNER) & (after > -INNER)
    entered_high = (before >= INNER) & (after < INNER)
    back = jnp.where(entered_low, -INNER, jnp.where(entered_high, INNER, after))
    return jnp.where(is_inside, back, after)
