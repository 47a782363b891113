"""The policy of SPRL: it draws the weights of a network once per episode (Klink et al., 2019).

The weights θ of a deterministic network are drawn from a Gaussian whose mean is linear in the
context, p(θ | c) = N(Θᵀ (1, c), L Lᵀ); the network itself gets the state without the context.

The paper does not specify whether the network has biases. Without them, and with tanh, it is an odd
function: a point mass that leaves its start (0, 3) can then never rest at its goal (0, -3).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar, final

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.records import Array, Spec
from selfpaced.validation import require_layers

A = TypeVar("A", Array, jax.Array)


class EpisodicState(NamedTuple):
    """A Gaussian over network weights for every context; on the host in float64."""

    coefficients: Array  # [1 + C, D]  Θ
    cholesky: Array  # [D, D]  L
    value: Array  # [P]  coefficients of the value: one, the context, its products


@dataclass(frozen=True)
class FixedNetwork:
    """A tanh network whose weights are fixed for a whole episode."""

    hidden: tuple[int, ...]
    biases: bool
    num_inputs: int  # the state without the context, which comes last in an observation

    def policy(self, noise: jax.Array, state: jax.Array, observation: jax.Array) -> jax.Array:
        """Return the action of the weights `state`; only the length of the noise matters."""
        inputs = observation[: self.num_inputs]
        return _network(self.hidden, self.biases, len(noise), state, inputs)


@final
@dataclass(frozen=True)
class EpisodicPolicy:
    """Draw network weights once per episode, to explore in their space instead of in actions.

    This is one half of the method `SPRL`; the other is an `EpisodicUpdate`.

    Raises:
        SelfpacedError: `hidden` has no layers, or layers without units.

    Examples:
        >>> from selfpaced import PROBLEMS, EpisodicPolicy
        >>> spec = PROBLEMS["point-mass-3d"].spec
        >>> EpisodicPolicy(hidden=(21,)).num_parameters(spec, context_size=3)
        149
    """

    hidden: tuple[int, ...] = (21,)
    """units of each tanh layer"""
    biases: bool = True
    """whether layers have biases; without them opposite states get opposite actions"""

    def __post_init__(self) -> None:
        require_layers(self, "hidden")

    def num_parameters(self, spec: Spec, context_size: int) -> int:
        """Return the number of weights of the network."""
        sizes = (spec.observation_size - context_size, *self.hidden, spec.action_size)
        return sum(_sizes(sizes, self.biases))

    def begin(self, spec: Spec, context_size: int) -> EpisodicState:
        """Return standard normal weights in every context."""
        num = self.num_parameters(spec, context_size)
        num_products = context_size * (context_size + 1) // 2
        return EpisodicState(
            coefficients=np.zeros((1 + context_size, num)),
            cholesky=np.eye(num),
            value=np.zeros(1 + context_size + num_products),
        )

    def network(self, spec: Spec, context_size: int) -> FixedNetwork:
        """Return the network that acts once the weights are drawn."""
        return FixedNetwork(self.hidden, self.biases, spec.observation_size - context_size)

    def policy(self, noise: jax.Array, state: EpisodicState, observation: jax.Array) -> jax.Array:
        """Return the action of the mean weights for the visible context; ignore the noise."""
        num_inputs = len(observation) - (len(state.coefficients) - 1)
        inputs, context = observation[:num_inputs], observation[num_inputs:]
        coefficients = jnp.asarray(state.coefficients)
        parameters = coefficients[0] + context @ coefficients[1:]
        return _network(self.hidden, self.biases, len(noise), parameters, inputs)

    def value(self, state: EpisodicState, observation: Array) -> Array:
        """Return the regression of the remembered returns on the context."""
        return context_value(state.value, observation[..., 1 - len(state.coefficients) :])


def policy_features(contexts: Array) -> Array:
    """Return one and the components of each context, [N, 1 + C]."""
    return np.column_stack([np.ones(len(contexts)), contexts])


def context_value(coefficients: A, contexts: A) -> A:
    """Return a quadratic function of contexts [..., C], in NumPy or JAX."""
    size = contexts.shape[-1]
    first, second = np.triu_indices(size)
    products = contexts[..., first] * contexts[..., second]
    linear, quadratic = coefficients[1 : 1 + size], coefficients[1 + size :]
    value: A = coefficients[0] + contexts @ linear + products @ quadratic
    return value


def _network(
    hidden: tuple[int, ...],
    biases: bool,
    num_outputs: int,
    parameters: jax.Array,
    inputs: jax.Array,
) -> jax.Array:
    """Tanh between layers; the last row of each layer's weights is its bias."""
    sizes = (len(inputs), *hidden, num_outputs)
    ends = np.cumsum(_sizes(sizes, biases))[:-1]
    layers = zip(jnp.split(parameters, ends), sizes[1:], strict=True)
    for number, (weights, num_units) in enumerate(layers):
        inputs = jnp.tanh(inputs) if number else inputs
        inputs = (jnp.append(inputs, 1.0) if biases else inputs) @ weights.reshape(-1, num_units)
    return inputs


def _sizes(sizes: tuple[int, ...], biases: bool) -> list[int]:
    """Number of parameters of each layer."""
    return [(fan_in + biases) * fan_out for fan_in, fan_out in pairwise(sizes)]
