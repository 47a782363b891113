"""Trust-region policy optimisation (Schulman et al., 2015), as in the paper's experiments.

Defaults and initialisation follow the library that the paper used. The paper's own settings are in
the presets. Deviation from that library:
D1  an iteration with fewer steps than `value_minibatch` is one minibatch; there it is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final, get_args

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree

from selfpaced.errors import require
from selfpaced.learners.action_distributions import ActionDistribution, Outputs
from selfpaced.learners.actor_critic import (
    ActorCritic,
    OnPolicyState,
    Parameters,
    PolicyParameters,
    Samples,
    estimate_value,
    init_state,
    outputs_of,
    policy_of,
    prepare,
)
from selfpaced.learners.advantages import TimeOuts
from selfpaced.learners.base import Rollout
from selfpaced.learners.networks import Activation, Layers
from selfpaced.learners.shuffling import shuffled
from selfpaced.learners.trust_region import (
    conjugate_gradient,
    fisher_product,
    line_search,
)
from selfpaced.records import Spec
from selfpaced.validation import (
    require_choice,
    require_layers,
    require_not_negative,
    require_positive,
)

FISHER_STRIDE = 5  # curvature is measured on every fifth sample
NO_GRADIENT = 1e-8


@final
@dataclass(frozen=True)
class TRPO(ActorCritic):
    """Natural policy gradient with a bounded KL and a line search; on-policy.

    Policy and critic are those of PPO.

    Raises:
        SelfpacedError: a setting is out of range.

    Examples:
        >>> import jax
        >>> from selfpaced import TRPO
        >>> from selfpaced.records import Spec
        >>> learner = TRPO(hidden=(21,), max_kl=0.004)
        >>> spec = Spec(observation_size=4, action_low=(-1.0,), action_high=(1.0,), discount=0.95)
        >>> state = learner.init(jax.random.key(0), spec)
        >>> learner.value(state, jax.numpy.zeros((5, 4))).shape
        (5,)
    """

    hidden: tuple[int, ...] = (64, 64)
    """units of each hidden layer; policy and value network are separate"""
    max_kl: float = 0.01
    """largest KL between successive policies"""
    gae_lambda: float = 0.98
    """0 gives one-step advantages, 1 whole returns"""
    cg_iterations: int = 10
    """of the conjugate-gradient method"""
    cg_damping: float = 0.01
    """added to the diagonal of the Fisher matrix"""
    value_learning_rate: float = 3e-4
    """of Adam, for the value network"""
    num_value_epochs: int = 3
    """passes of the value network over the steps of an iteration"""
    value_minibatch: int = 128
    """steps in a minibatch of the value network; an incomplete last one is dropped"""
    time_outs: TimeOuts = "bootstrap"
    """treat truncation as "terminal" (as in the paper), or "bootstrap" with the value behind it"""
    normalise_observations: bool = False
    """scale observations by running mean and standard deviation"""
    normalise_rewards: bool = False
    """let the critic learn returns in units of their running root mean square"""
    activation: Activation = "tanh"
    """function between the layers: "tanh" or "relu" (rectified linear)"""

    def __post_init__(self) -> None:
        require_layers(self, "hidden")
        require_positive(self, "max_kl", "cg_iterations", "value_learning_rate")
        require_positive(self, "num_value_epochs", "value_minibatch")
        require_not_negative(self, "cg_damping")
        require(
            0.0 <= self.gae_lambda <= 1.0,
            f"gae_lambda must lie in [0, 1], got {self.gae_lambda}; the paper uses 0.99",
        )
        require_choice("time_outs", self.time_outs, get_args(TimeOuts))
        require_choice("activation", self.activation, get_args(Activation))

    def init(self, key: jax.Array, spec: Spec) -> OnPolicyState:
        """Draw orthogonal networks; the policy's std is one, in units of the environment."""
        state = init_state(
            key, spec, self.hidden, self.normalise_observations, self.normalise_rewards
        )
        return state._replace(optimiser=self._optimiser().init(state.parameters["value"]))

    def update(
        self, key: jax.Array, spec: Spec, state: OnPolicyState, rollout: Rollout
    ) -> tuple[OnPolicyState, dict[str, jax.Array]]:
        """Take one step of the policy, then fit the value network for a few epochs."""
        state, samples = self.prepare(spec, state, rollout)
        distribution = state.distribution
        policy, metrics = self.improve_policy(state.parameters, distribution, samples)
        layers, memory, value_loss = self.fit_value(key, state, samples)
        metrics["learner/value_loss"] = value_loss
        outputs = outputs_of(policy, samples.observation, self.activation)
        metrics |= distribution.metrics(outputs)
        parameters: Parameters = {**policy, "value": layers}
        return state._replace(parameters=parameters, optimiser=memory), metrics

    def prepare(
        self, spec: Spec, state: OnPolicyState, rollout: Rollout
    ) -> tuple[OnPolicyState, Samples]:
        """Return the state to start from, and the steps with standardised advantages."""
        state, samples = prepare(self, spec, state, rollout, self.gae_lambda, self.time_outs)
        deviation = samples.advantage - samples.advantage.mean()
        std = deviation.std()
        standard = deviation / jnp.where(std > 0.0, std, 1.0)  # over the whole batch
        return state, samples._replace(advantage=standard).in_one_row()

    def improve_policy(
        self, parameters: Parameters, distribution: ActionDistribution, samples: Samples
    ) -> tuple[PolicyParameters, dict[str, jax.Array]]:
        """Solve F s = g, scale s to the trust region, and halve it until it is an improvement."""
        policy = policy_of(parameters)
        start, unravel = ravel_pytree(policy)
        old = outputs_of(policy, samples.observation, self.activation)

        def outputs_at(flat: jax.Array) -> Outputs:
            return outputs_of(unravel(flat), samples.observation, self.activation)

        def surrogate(flat: jax.Array) -> jax.Array:
            after = distribution.log_probability(outputs_at(flat), samples.action)
            return (jnp.exp(after - samples.log_probability) * samples.advantage).mean()

        def try_out(flat: jax.Array) -> tuple[jax.Array, jax.Array]:
            return surrogate(flat) - surrogate_before, distribution.kl(old, outputs_at(flat))

        surrogate_before, gradient = jax.value_and_grad(surrogate)(start)
        some = samples.observation[::FISHER_STRIDE]
        fisher = fisher_product(policy, distribution, some, self.cg_damping, self.activation)
        direction = conjugate_gradient(fisher, gradient, self.cg_iterations)
        curvature = direction @ fisher(direction)
        step = direction * jnp.sqrt(2.0 * self.max_kl / jnp.maximum(curvature, 1e-30))
        worthwhile = (jnp.abs(gradient) > NO_GRADIENT).any()
        flat, outcome = line_search(try_out, start, step, worthwhile, self.max_kl)
        return unravel(flat), outcome

    def fit_value(
        self, key: jax.Array, state: OnPolicyState, samples: Samples
    ) -> tuple[Layers, optax.OptState, jax.Array]:
        """Fit the value network on shuffled minibatches; return it, its optimiser and the loss."""
        num_samples = len(samples.target_value)
        size = min(self.value_minibatch, num_samples)  # D1
        num_minibatches = num_samples // size
        optimiser = self._optimiser()

        def loss(layers: Layers, observation: jax.Array, target: jax.Array) -> jax.Array:
            value = estimate_value(layers, observation, self.activation)
            return ((value - target) ** 2).mean()

        def learn(fit: _Fit, batch: tuple[jax.Array, jax.Array]) -> tuple[_Fit, jax.Array]:
            before, gradient = jax.value_and_grad(loss)(fit.layers, *batch)
            steps, memory = optimiser.update(gradient, fit.optimiser, fit.layers)
            return _Fit(optax.apply_updates(fit.layers, steps), memory), before

        def epoch(fit: _Fit, key: jax.Array) -> tuple[_Fit, jax.Array]:
            order = shuffled(key, num_samples)[: num_minibatches * size].reshape(-1, size)
            return jax.lax.scan(
                learn, fit, (samples.observation[order], samples.target_value[order])
            )

        start = _Fit(state.parameters["value"], state.optimiser)
        keys = jax.random.split(key, self.num_value_epochs)
        (layers, memory), losses = jax.lax.scan(epoch, start, keys)
        return layers, memory, losses[-1].mean()

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(optax.adam(self.value_learning_rate))  # one vector: fewer operations


class _Fit(NamedTuple):
    """The value network while it is fitted."""

    layers: Layers
    optimiser: optax.OptState
