"""The Gaussian policy and the critic of PPO and TRPO."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
import optax

from selfpaced.learners.networks import Layers, apply_layers, orthogonal_layers
from selfpaced.records import Spec


class GaussianPolicy(TypedDict):
    """Parameters of the policy; the standard deviation does not depend on the observation."""

    policy: Layers  # of the mean
    log_std: jax.Array  # [A]


class Parameters(GaussianPolicy):
    """Parameters of policy and critic; the keys name arrays in saved files."""

    value: Layers


class OnPolicyState(NamedTuple):
    """Policy, critic, and the state of the optimiser."""

    parameters: Parameters
    optimiser: optax.OptState


class GaussianActorCritic:
    """Everything that PPO and TRPO share: all but `init` and `update`."""

    @property
    def steps_per_update(self) -> None:
        """Update once per iteration, from all of its steps."""
        return None

    def act(self, noise: jax.Array, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """Sample the Gaussian. The action is unbounded; the caller clips it."""
        return sample_action(state.parameters, noise, observation)

    def policy(self, noise: jax.Array, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """Act as in training."""
        return self.act(noise, state, observation)

    def value(self, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """Estimate the discounted return with the critic."""
        return estimate_value(state.parameters["value"], observation)

    def host_state(self, state: OnPolicyState) -> OnPolicyState:
        """Return the policy as NumPy arrays, without critic and optimiser."""
        return OnPolicyState(jax.tree.map(np.array, policy_of(state.parameters)), None)

    def parameters(self, state: OnPolicyState) -> Parameters:
        """Return the parameters of policy and critic."""
        return state.parameters

    def with_parameters(self, state: OnPolicyState, parameters: Parameters) -> OnPolicyState:
        """Return the state with these parameters of policy and critic."""
        return state._replace(parameters=parameters)


def init_parameters(key: jax.Array, spec: Spec, hidden: tuple[int, ...]) -> Parameters:
    """Draw separate orthogonal networks; the policy's std is one, in units of the environment."""
    key_policy, key_value = jax.random.split(key)
    inputs = (spec.observation_size, *hidden)
    return {
        "policy": orthogonal_layers(key_policy, (*inputs, spec.action_size), output_gain=0.01),
        "log_std": jnp.zeros(spec.action_size),
        "value": orthogonal_layers(key_value, (*inputs, 1), output_gain=1.0),
    }


def policy_of(parameters: Parameters) -> GaussianPolicy:
    """Return the parameters without the critic's."""
    return {"policy": parameters["policy"], "log_std": parameters["log_std"]}


def sample_action(policy: GaussianPolicy, noise: jax.Array, observation: jax.Array) -> jax.Array:
    """Sample the Gaussian, in NumPy if all arguments are NumPy arrays."""
    mean = apply_layers(policy["policy"], observation)
    std: jax.Array = (np if isinstance(mean, np.ndarray) else jnp).exp(policy["log_std"])
    return mean + std * noise


def log_probability(policy: GaussianPolicy, observation: jax.Array, action: jax.Array) -> jax.Array:
    """Return the log-density of actions before clipping."""
    log_std = policy["log_std"]
    standard = (action - apply_layers(policy["policy"], observation)) * jnp.exp(-log_std)
    return -0.5 * (standard**2 + jnp.log(2.0 * jnp.pi)).sum(-1) - log_std.sum()


def estimate_value(layers: Layers, observation: jax.Array) -> jax.Array:
    """Apply the critic to observations [..., O]."""
    return apply_layers(layers, observation)[..., 0]
