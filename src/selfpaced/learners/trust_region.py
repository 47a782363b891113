"""The step of a trust-region method: natural gradient and line search (Schulman et al., 2015).

See Appendix C there: conjugate gradients on Fisher-vector products, scaling to the trust region,
and a backtracking line search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from selfpaced.learners.action_distributions import ActionDistribution, Outputs
from selfpaced.learners.actor_critic import PolicyParameters, outputs_of
from selfpaced.learners.networks import Activation

RESIDUAL_TOLERANCE = 1e-10  # squared length at which a linear system counts as solved
NUM_HALVINGS = 10  # of the step, before it is rejected
KL_SLACK = 1.5  # a quadratic model scaled the step; the actual KL may be larger


def fisher_product(
    policy: PolicyParameters,
    distribution: ActionDistribution,
    observation: jax.Array,
    damping: float,
    activation: Activation = "tanh",
) -> Callable[[jax.Array], jax.Array]:
    """Return a function that multiplies a vector with the damped Fisher matrix.

    At the old policy the Hessian of the KL is JᵀMJ, where J is the Jacobian of the outputs and M
    the Hessian in the outputs, known in closed form. No second derivatives are needed.
    """
    start, unravel = ravel_pytree(policy)

    def outputs_at(flat: jax.Array) -> Outputs:
        return outputs_of(unravel(flat), observation, activation)

    outputs, push = jax.linearize(outputs_at, start)
    pull = jax.linear_transpose(push, start)

    def multiply(vector: jax.Array) -> jax.Array:
        product: jax.Array = pull(distribution.fisher(outputs, push(vector)))[0]
        return product + damping * vector

    return multiply


def conjugate_gradient(
    matrix: Callable[[jax.Array], jax.Array], right_side: jax.Array, iterations: int
) -> jax.Array:
    """Solve matrix(x) = right_side approximately, starting from zero."""

    def unsolved(now: _Solution) -> jax.Array:
        far = now.squared >= RESIDUAL_TOLERANCE
        return (now.num_tries == 0) | (far & (now.num_tries < iterations))

    def improve(now: _Solution) -> _Solution:
        image = matrix(now.direction)
        length = now.squared / jnp.maximum(now.direction @ image, 1e-30)
        residual = now.residual - length * image
        squared = residual @ residual
        turn = squared / jnp.maximum(now.squared, 1e-30)
        return _Solution(
            now.num_tries + 1,
            now.solution + length * now.direction,
            residual,
            residual + turn * now.direction,
            squared,
        )

    start = _Solution(
        jnp.int32(0),
        jnp.zeros_like(right_side),
        right_side,
        right_side,
        right_side @ right_side,
    )
    return jax.lax.while_loop(unsolved, improve, start).solution


def line_search(
    try_out: Callable[[jax.Array], tuple[jax.Array, jax.Array]],
    start: jax.Array,
    step: jax.Array,
    worthwhile: jax.Array,
    max_kl: float,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Halve the step until it improves the surrogate within the trust region, or stay at `start`.

    `try_out` returns the improvement and the KL of a candidate.
    """

    def candidate(num_tries: jax.Array) -> jax.Array:
        return start + 0.5**num_tries * step

    def undecided(search: _Attempt) -> jax.Array:
        return worthwhile & ~search.accepted & (search.num_tries < NUM_HALVINGS)

    def attempt(search: _Attempt) -> _Attempt:
        improvement, kl = try_out(candidate(search.num_tries))
        accepted = (improvement >= 0.0) & (kl <= KL_SLACK * max_kl)  # never true of NaN
        return _Attempt(search.num_tries + 1, accepted, improvement, kl)

    nothing = _Attempt(jnp.int32(0), jnp.bool_(False), jnp.float32(0.0), jnp.float32(0.0))
    search = jax.lax.while_loop(undecided, attempt, nothing)
    flat = jnp.where(search.accepted, candidate(search.num_tries - 1), start)
    return flat, {
        "learner/kl": jnp.where(search.accepted, search.kl, 0.0),
        "learner/surrogate_improvement": jnp.where(search.accepted, search.improvement, 0.0),
        "learner/step_accepted": search.accepted.astype(jnp.float32),
    }


class _Solution(NamedTuple):
    """Progress of the conjugate-gradient method."""

    num_tries: jax.Array
    solution: jax.Array
    residual: jax.Array
    direction: jax.Array
    squared: jax.Array  # length of the residual


class _Attempt(NamedTuple):
    """The latest candidate of a line search."""

    num_tries: jax.Array
    accepted: jax.Array
    improvement: jax.Array
    kl: jax.Array
