"""What PPO and TRPO share: a Gaussian policy beside a critic, and how they shuffle samples."""

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


def shuffled(key: jax.Array, num: int) -> jax.Array:
    """A random order of `num` indices.

    Sorting words of random high bits and the index in the low bits takes a ninth of the time of
    `jax.random.permutation`, which would be half of the whole update. With many samples few bits
    are left for chance, and words with the same ones keep their order: so then another such order
    is laid upon the first.
    """
    index_bits = max(num - 1, 1).bit_length()
    if index_bits <= 14:
        return _sort_random_words(key, num, index_bits)
    key_first, key_second = jax.random.split(key)
    first = _sort_random_words(key_first, num, index_bits)
    return first[_sort_random_words(key_second, num, index_bits)]


def _sort_random_words(key: jax.Array, num: int, index_bits: int) -> jax.Array:
    mask = jnp.uint32(2**index_bits - 1)
    words = (jax.random.bits(key, (num,)) & ~mask) | jnp.arange(num, dtype=jnp.uint32)
    return (jnp.sort(words) & mask).astype(jnp.int32)
