"""Trust-region policy optimisation (Schulman et al., 2015), as in the paper's experiments.

Settings and initialisation follow the library that the paper used; what the paper changed is in
the presets. Deviation from that library:
D1  an iteration with fewer steps than `value_minibatch` is one minibatch; there it is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree

from selfpaced.environments.base import Spec
from selfpaced.errors import require
from selfpaced.learners.advantages import TimeOuts, advantages
from selfpaced.learners.base import Rollout
from selfpaced.learners.gaussian_policy import (
    OnPolicyLearner,
    OnPolicyState,
    Parameters,
    estimate_value,
    init_parameters,
    log_probability,
)
from selfpaced.learners.networks import Layers, apply_layers
from selfpaced.learners.shuffling import shuffled
from selfpaced.validation import (
    require_choice,
    require_layers,
    require_not_negative,
    require_positive,
)

FISHER_STRIDE = 5  # curvature is measured on every fifth sample
RESIDUAL_TOLERANCE = 1e-10  # squared length at which a linear system counts as solved
NUM_HALVINGS = 10  # of the step, before it is given up
KL_SLACK = 1.5  # the step was scaled with a quadratic model; the KL it really makes may be larger
NO_GRADIENT = 1e-8


class Samples(NamedTuple):
    """Steps in any order, as the policy step and the value function want them."""

    observation: jax.Array
    action: jax.Array
    advantage: jax.Array  # standardised
    target_value: jax.Array


class _Solution(NamedTuple):
    """How far a conjugate-gradient solution has come."""

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


@dataclass(frozen=True)
class TRPO(OnPolicyLearner):
    """Natural policy gradient with a bounded KL and a line search; the policy is that of PPO."""

    hidden: tuple[int, ...] = (64, 64)
    """units of each tanh layer; policy and value network are separate"""
    max_kl: float = 0.01
    """largest KL between successive policies"""
    gae_lambda: float = 0.98
    """0: one-step advantages, 1: whole returns"""
    cg_iterations: int = 10
    """of the conjugate-gradient method"""
    cg_damping: float = 0.01
    """added to the diagonal of the Fisher matrix"""
    value_learning_rate: float = 3e-4
    """of Adam, for the value network"""
    num_value_epochs: int = 3
    """how often the value network sees every step"""
    value_minibatch: int = 128
    """steps in a minibatch of the value network; an incomplete last one is dropped"""
    time_outs: TimeOuts = "terminal"
    """a time-out ends everything (as in the paper), or the future is estimated"""

    def __post_init__(self) -> None:
        require_layers(self, "hidden")
        require_positive(self, "max_kl", "cg_iterations", "value_learning_rate")
        require_positive(self, "num_value_epochs", "value_minibatch")
        require_not_negative(self, "cg_damping")
        require(
            0.0 <= self.gae_lambda <= 1.0,
            f"gae_lambda must lie in [0, 1], got {self.gae_lambda} (the paper uses 0.99)",
        )
        require_choice("time_outs", self.time_outs, get_args(TimeOuts))

    def init(self, key: jax.Array, spec: Spec) -> OnPolicyState:
        """Orthogonal networks, a standard deviation of one in environment units."""
        parameters = init_parameters(key, spec, self.hidden)
        return OnPolicyState(parameters, self._optimiser().init(parameters["value"]))

    def update(
        self, key: jax.Array, spec: Spec, state: OnPolicyState, rollout: Rollout
    ) -> tuple[OnPolicyState, dict[str, jax.Array]]:
        """One step of the policy, then a few epochs for the value function."""
        samples = self._samples(spec, state.parameters, rollout)
        policy, metrics = self._improve_policy(state.parameters, samples)
        layers, memory, value_loss = self._fit_value(key, state, samples)
        metrics["learner/value_loss"] = value_loss
        metrics["learner/policy_std"] = jnp.exp(policy["log_std"]).mean()
        return OnPolicyState(policy | {"value": layers}, memory), metrics

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(optax.adam(self.value_learning_rate))  # one vector: fewer operations

    def _samples(self, spec: Spec, parameters: Parameters, rollout: Rollout) -> Samples:
        value = estimate_value(parameters["value"], rollout.observation)
        next_value = estimate_value(parameters["value"], rollout.next_observation)
        advantage = advantages(
            rollout, value, next_value, spec.discount, self.gae_lambda, self.time_outs
        )
        deviation = advantage - advantage.mean()
        std = deviation.std()
        standard = deviation / jnp.where(std > 0.0, std, 1.0)  # over the whole batch
        samples = Samples(rollout.observation, rollout.action, standard, advantage + value)
        return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), samples)

    def _improve_policy(
        self, parameters: Parameters, samples: Samples
    ) -> tuple[Parameters, dict[str, jax.Array]]:
        """Solve F s = g, scale s to the trust region, and walk back until it is an improvement."""
        policy = {name: parameters[name] for name in ("policy", "log_std")}
        start, unravel = ravel_pytree(policy)
        before = log_probability(policy, samples.observation, samples.action)
        mean = apply_layers(policy["policy"], samples.observation)

        def surrogate(flat: jax.Array) -> jax.Array:
            after = log_probability(unravel(flat), samples.observation, samples.action)
            return (jnp.exp(after - before) * samples.advantage).mean()

        def try_out(flat: jax.Array) -> tuple[jax.Array, jax.Array]:
            new = unravel(flat)
            new_mean = apply_layers(new["policy"], samples.observation)
            kl = gaussian_kl(mean, policy["log_std"], new_mean, new["log_std"])
            return surrogate(flat) - surrogate_before, kl

        surrogate_before, gradient = jax.value_and_grad(surrogate)(start)
        fisher = fisher_product(policy, samples.observation[::FISHER_STRIDE], self.cg_damping)
        direction = conjugate_gradient(fisher, gradient, self.cg_iterations)
        curvature = direction @ fisher(direction)
        step = direction * jnp.sqrt(2.0 * self.max_kl / jnp.maximum(curvature, 1e-30))
        worthwhile = (jnp.abs(gradient) > NO_GRADIENT).any()
        flat, outcome = line_search(try_out, start, step, worthwhile, self.max_kl)
        return unravel(flat), outcome

    def _fit_value(
        self, key: jax.Array, state: OnPolicyState, samples: Samples
    ) -> tuple[Layers, Any, jax.Array]:
        """Shuffled minibatches; the last, incomplete one is dropped."""
        num_samples = len(samples.target_value)
        size = min(self.value_minibatch, num_samples)  # D1
        num_minibatches = num_samples // size
        optimiser = self._optimiser()

        def loss(layers: Layers, observation: jax.Array, target: jax.Array) -> jax.Array:
            return ((estimate_value(layers, observation) - target) ** 2).mean()

        def learn(carry: tuple[Layers, Any], batch: tuple[jax.Array, jax.Array]) -> tuple[Any, Any]:
            layers, memory = carry
            before, gradient = jax.value_and_grad(loss)(layers, *batch)
            steps, memory = optimiser.update(gradient, memory, layers)
            return (optax.apply_updates(layers, steps), memory), before

        def epoch(carry: tuple[Layers, Any], key: jax.Array) -> tuple[Any, Any]:
            order = shuffled(key, num_samples)[: num_minibatches * size].reshape(-1, size)
            return jax.lax.scan(
                learn, carry, (samples.observation[order], samples.target_value[order])
            )

        start = (state.parameters["value"], state.optimiser)
        keys = jax.random.split(key, self.num_value_epochs)
        (layers, memory), losses = jax.lax.scan(epoch, start, keys)
        return layers, memory, losses[-1].mean()


def gaussian_kl(
    old_mean: jax.Array, old_log_std: jax.Array, new_mean: jax.Array, new_log_std: jax.Array
) -> jax.Array:
    """KL(old ‖ new), averaged over samples."""
    moved = jnp.exp(2.0 * old_log_std) + (new_mean - old_mean) ** 2
    each = new_log_std - old_log_std + 0.5 * moved * jnp.exp(-2.0 * new_log_std) - 0.5
    return each.sum(-1).mean()


def fisher_product(
    policy: Parameters, observation: jax.Array, damping: float
) -> Callable[[jax.Array], jax.Array]:
    """The damped Fisher matrix as a function of the vector that it is multiplied with.

    At the old policy the Hessian of the KL is JᵀMJ, where J is the Jacobian of mean and log-std,
    and M is 1/std² for the means and 2 for the log-stds: no second derivatives are needed.
    """
    start, unravel = ravel_pytree(policy)

    def mean_and_log_std(flat: jax.Array) -> tuple[jax.Array, jax.Array]:
        parameters = unravel(flat)
        return apply_layers(parameters["policy"], observation), parameters["log_std"]

    (_, log_std), push = jax.linearize(mean_and_log_std, start)
    pull = jax.linear_transpose(push, start)
    precision = jnp.exp(-2.0 * log_std) / len(observation)

    def multiply(vector: jax.Array) -> jax.Array:
        of_mean, of_log_std = push(vector)
        return pull((precision * of_mean, 2.0 * of_log_std))[0] + damping * vector

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
