"""Proximal policy optimisation (Schulman et al., 2017), as in the paper's experiments.

Defaults and initialisation follow the library that the paper used. The paper's own settings are in
the presets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax

from selfpaced.errors import SelfpacedError, require
from selfpaced.learners.action_distributions import ActionDistribution
from selfpaced.learners.actor_critic import (
    ActorCritic,
    OnPolicyState,
    Parameters,
    Samples,
    critic_of,
    estimate_value,
    init_state,
    outputs_of,
    prepare,
)
from selfpaced.learners.advantages import TimeOuts
from selfpaced.learners.base import Rollout
from selfpaced.learners.networks import Activation
from selfpaced.learners.shuffling import shuffled
from selfpaced.records import Spec
from selfpaced.validation import (
    require_choice,
    require_layers,
    require_not_negative,
    require_positive,
)

LearnerMetrics = dict[str, jax.Array]


@final
@dataclass(frozen=True)
class PPO(ActorCritic):
    """Clipped policy gradient with a critic; on-policy, for continuous and discrete actions.

    Continuous actions have a diagonal Gaussian policy, whose standard deviation is learned and does
    not depend on the observation; discrete ones a categorical policy.

    Raises:
        SelfpacedError: a setting is out of range, or `num_minibatches` does not divide the steps
            of an iteration.

    Examples:
        >>> import jax
        >>> from selfpaced import PPO
        >>> from selfpaced.records import Spec
        >>> learner = PPO(hidden=(21,), gae_lambda=0.99)
        >>> spec = Spec(observation_size=4, action_low=(-1.0,), action_high=(1.0,), discount=0.95)
        >>> state = learner.init(jax.random.key(0), spec)
        >>> learner.policy(jax.numpy.zeros(1), state, jax.numpy.zeros(4)).shape
        (1,)
    """

    hidden: tuple[int, ...] = (64, 64)
    """units of each hidden layer"""
    learning_rate: float = 2.5e-4
    """of Adam, constant"""
    num_epochs: int = 4
    """passes over the steps of an iteration"""
    num_minibatches: int = 4
    """minibatches per epoch; must divide the steps of an iteration"""
    clip: float = 0.2
    """largest distance of the probability ratio from 1"""
    gae_lambda: float = 0.95
    """0 gives one-step advantages, 1 whole returns"""
    value_coefficient: float = 0.5
    """weight of the value loss"""
    entropy_coefficient: float = 0.0
    """weight of the entropy bonus"""
    max_gradient_norm: float | None = 0.5
    """clip the global gradient norm to this value; None disables clipping"""
    time_outs: TimeOuts = "bootstrap"
    """treat truncation as "terminal" (as in the paper), or "bootstrap" with the value behind it"""
    normalise_observations: bool = False
    """scale observations by running mean and standard deviation"""
    normalise_rewards: bool = False
    """let the critic learn returns in units of their running root mean square"""
    activation: Activation = "tanh"
    """function between the layers: "tanh" or "relu" (rectified linear)"""
    shared_trunk: bool = False
    """share the hidden layers of policy and critic; otherwise they are separate networks"""

    def __post_init__(self) -> None:
        require_layers(self, "hidden")
        require_positive(self, "learning_rate", "num_epochs", "num_minibatches", "clip")
        require_positive(self, "max_gradient_norm", none_allowed=True)
        require(
            0.0 <= self.gae_lambda <= 1.0,
            f"gae_lambda must lie in [0, 1], got {self.gae_lambda}; the paper uses 0.99",
        )
        require_not_negative(self, "value_coefficient", "entropy_coefficient")
        require_choice("time_outs", self.time_outs, get_args(TimeOuts))
        require_choice("activation", self.activation, get_args(Activation))

    def require_workload(self, spec: Spec, steps_per_iteration: int, num_environments: int) -> None:
        """Require that the steps of an iteration can be divided into minibatches."""
        del spec, num_environments
        self._require_division(steps_per_iteration)

    def init(self, key: jax.Array, spec: Spec) -> OnPolicyState:
        """Draw orthogonal networks; the policy's std is one, in units of the environment."""
        state = init_state(
            key,
            spec,
            self.hidden,
            self.normalise_observations,
            self.normalise_rewards,
            self.shared_trunk,
        )
        return state._replace(optimiser=self._optimiser().init(state.parameters))

    def update(
        self, key: jax.Array, spec: Spec, state: OnPolicyState, rollout: Rollout
    ) -> tuple[OnPolicyState, LearnerMetrics]:
        """Run several epochs of shuffled minibatches; the metrics are those of the last epoch."""
        state, samples = prepare(self, spec, state, rollout, self.gae_lambda, self.time_outs)
        samples = samples.in_one_row()
        rows = _as_rows(samples)
        num_samples = len(rows)
        self._require_division(num_samples)
        optimiser = self._optimiser()

        def learn(state: OnPolicyState, columns: jax.Array) -> tuple[OnPolicyState, LearnerMetrics]:
            batch = _from_columns(spec, columns)
            gradient, metrics = jax.grad(self.loss, has_aux=True)(
                state.parameters, state.distribution, batch
            )
            steps, memory = optimiser.update(gradient, state.optimiser, state.parameters)
            parameters = optax.apply_updates(state.parameters, steps)
            return state._replace(parameters=parameters, optimiser=memory), metrics

        def epoch(state: OnPolicyState, key: jax.Array) -> tuple[OnPolicyState, LearnerMetrics]:
            batches = rows[shuffled(key, num_samples).reshape(self.num_minibatches, -1)]
            return jax.lax.scan(learn, state, batches.swapaxes(1, 2))

        state, metrics = jax.lax.scan(epoch, state, jax.random.split(key, self.num_epochs))
        last = {f"learner/{name}": history[-1].mean() for name, history in metrics.items()}
        outputs = outputs_of(state.parameters, samples.observation, self.activation)
        return state, last | state.distribution.metrics(outputs)

    def loss(
        self, parameters: Parameters, distribution: ActionDistribution, batch: Samples
    ) -> tuple[jax.Array, LearnerMetrics]:
        """Return the loss of a minibatch, Eq. (7) and (9) of Schulman et al., and metrics."""
        advantage = batch.advantage - batch.advantage.mean()
        advantage = advantage / (advantage.std() + 1e-8)  # per minibatch
        outputs = outputs_of(parameters, batch.observation, self.activation)
        log_ratio = distribution.log_probability(outputs, batch.action) - batch.log_probability
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1.0 - self.clip, 1.0 + self.clip)
        policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
        value = estimate_value(critic_of(parameters), batch.observation, self.activation)
        error = value - batch.target_value
        value_loss = 0.5 * (error**2).mean()
        entropy = distribution.entropy(outputs)
        loss = (
            policy_loss + self.value_coefficient * value_loss - self.entropy_coefficient * entropy
        )
        return loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "kl": (ratio - 1.0 - log_ratio).mean(),
            "clipped_share": (jnp.abs(ratio - 1.0) > self.clip).mean(),
        }

    def _require_division(self, num_steps: int) -> None:
        if num_steps % self.num_minibatches:
            divisors = [num for num in range(1, num_steps + 1) if num_steps % num == 0]
            nearest = min(divisors, key=lambda num: abs(num - self.num_minibatches))
            raise SelfpacedError(
                f"num_minibatches must divide the {num_steps} steps of an iteration, got "
                f"{self.num_minibatches}; use {nearest}, or change steps_per_iteration"
            )

    def _optimiser(self) -> optax.GradientTransformation:
        adam = optax.adam(self.learning_rate, eps=1e-5)
        if self.max_gradient_norm is not None:
            adam = optax.chain(optax.clip_by_global_norm(self.max_gradient_norm), adam)
        return optax.flatten(adam)  # one vector: far fewer small operations


def _as_rows(samples: Samples) -> jax.Array:
    """Return one array [num, features], so that shuffling gathers once."""
    return jnp.concatenate([array.reshape(len(array), -1) for array in samples], axis=1)


def _from_columns(spec: Spec, columns: jax.Array) -> Samples:
    """Return a minibatch whose memory layout has samples on the last axis, as networks compute."""
    bounds = np.cumsum([spec.observation_size, spec.action_size])
    observation, action, rest = jnp.split(columns, bounds)
    return Samples(observation.T, action.T, *rest)
