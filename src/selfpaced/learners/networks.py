"""Small multi-layer perceptrons as plain lists of (weight, bias) pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp

Layers = list[tuple[jax.Array, jax.Array]]


def orthogonal_layers(key: jax.Array, sizes: Sequence[int], output_gain: float) -> Layers:
    """Orthogonal weights with gain √2 in hidden layers, zero biases."""
    layers = []
    for index, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        gain = output_gain if index == len(sizes) - 2 else 2.0**0.5
        draw = jax.nn.initializers.orthogonal(gain)
        weight = draw(jax.random.fold_in(key, index), (fan_in, fan_out), jnp.float32)
        layers.append((weight, jnp.zeros(fan_out)))
    return layers


def apply_layers(layers: Layers, inputs: jax.Array) -> jax.Array:
    """Tanh between layers, nothing after the last."""
    *hidden, (weight, bias) = layers
    for hidden_weight, hidden_bias in hidden:
        inputs = jnp.tanh(inputs @ hidden_weight + hidden_bias)
    return inputs @ weight + bias
