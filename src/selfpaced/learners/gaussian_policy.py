"""What PPO and TRPO share: a Gaussian policy beside a critic."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.environments.base import Spec
from selfpaced.learners.networks import Layers, apply_layers, orthogonal_layers

Parameters = dict[str, Any]


class OnPolicyState(NamedTuple):
    """Policy and value network, and the optimiser's memory."""

    parameters: Parameters
    optimiser: Any


class OnPolicyLearner:
    """All but learning itself."""

    @property
    def steps_per_update(self) -> None:
        """Learns once from all steps of an iteration."""
        return None

    def act(self, noise: jax.Array, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """Sample the Gaussian; unbounded, the caller clips."""
        return sample_action(state.parameters, noise, observation)

    def host_state(self, state: OnPolicyState) -> OnPolicyState:
        """What `act` needs, as NumPy arrays: then it computes in NumPy."""
        needed = {name: state.parameters[name] for name in ("policy", "log_std")}
        return OnPolicyState(jax.tree.map(np.array, needed), None)

    def value(self, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """The critic."""
        return estimate_value(state.parameters["value"], observation)


def init_parameters(key: jax.Array, spec: Spec, hidden: tuple[int, ...]) -> Parameters:
    """Orthogonal networks that share nothing, a standard deviation of one in environment units."""
    key_policy, key_value = jax.random.split(key)
    inputs = (spec.observation_size, *hidden)
    return {
        "policy": orthogonal_layers(key_policy, (*inputs, spec.action_size), output_gain=0.01),
        "log_std": jnp.zeros(spec.action_size),
        "value": orthogonal_layers(key_value, (*inputs, 1), output_gain=1.0),
    }


def sample_action(parameters: Parameters, noise: jax.Array, observation: jax.Array) -> jax.Array:
    """Sample the Gaussian; unbounded, the caller clips."""
    mean = apply_layers(parameters["policy"], observation)
    exp = np.exp if isinstance(mean, np.ndarray) else jnp.exp
    return mean + exp(parameters["log_std"]) * noise


def log_probability(parameters: Parameters, observation: jax.Array, action: jax.Array) -> jax.Array:
    """Log-density of actions before clipping; the std does not depend on the observation."""
    log_std = parameters["log_std"]
    standard = (action - apply_layers(parameters["policy"], observation)) * jnp.exp(-log_std)
    return -0.5 * (standard**2 + jnp.log(2.0 * jnp.pi)).sum(-1) - log_std.sum()


def estimate_value(layers: Layers, observation: jax.Array) -> jax.Array:
    """The critic."""
    return apply_layers(layers, observation)[..., 0]
