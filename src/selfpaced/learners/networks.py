"""Small multi-layer perceptrons as plain lists of (weight, bias) pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, cast

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.records import Array

Layers = list[tuple[jax.Array, jax.Array]]
Activation = Literal["tanh", "relu"]
Transform = Callable[[jax.Array], jax.Array]


def apply_layers(layers: Layers, inputs: jax.Array, activation: Activation = "tanh") -> jax.Array:
    """Apply the activation between layers and nothing after the last; features are the last axis.

    Compute on columns: with few features and many samples that takes half the time on a CPU.
    If all arguments are NumPy arrays, compute in NumPy (see `ActsInNumPy`).
    """
    if isinstance(inputs, np.ndarray) and isinstance(layers[0][0], np.ndarray):
        return cast(jax.Array, _apply_in_numpy(layers, inputs, activation))
    columns = jnp.moveaxis(inputs, -1, 0)
    for index, (weight, bias) in enumerate(layers):
        active = activate(activation, columns) if index else columns
        columns = jnp.tensordot(weight, active, axes=(0, 0))
        columns = columns + bias.reshape(-1, *[1] * (columns.ndim - 1))
    return jnp.moveaxis(columns, 0, -1)


def activate(activation: Activation, inputs: jax.Array) -> jax.Array:
    """Apply an activation to every number.

    Examples:
        >>> import jax.numpy as jnp
        >>> from selfpaced.learners.networks import activate
        >>> activate("relu", jnp.array([-1.0, 2.0]))
        Array([0., 2.], dtype=float32)
    """
    return jnp.tanh(inputs) if activation == "tanh" else jax.nn.relu(inputs)


def orthogonal_layers(key: jax.Array, sizes: Sequence[int], output_gain: float) -> Layers:
    """Draw orthogonal weights, with gain √2 in hidden layers, and zero biases."""
    shapes = list(pairwise(sizes))
    # one draw for all layers: every call of the random generator costs a second to compile
    ends = np.cumsum([fan_in * fan_out for fan_in, fan_out in shapes])
    normals = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    gains = [2.0**0.5] * (len(shapes) - 1) + [output_gain]
    return [
        (gain * _orthogonal(normal.reshape(shape)), jnp.zeros(shape[1]))
        for shape, normal, gain in zip(shapes, normals, gains, strict=True)
    ]


def glorot_networks(key: jax.Array, networks: Sequence[Sequence[int]]) -> list[Layers]:
    """Draw uniform weights of variance 2 / (fan in + fan out), and zero biases."""
    shapes = [list(pairwise(sizes)) for sizes in networks]
    # one draw for all layers: every call of the random generator costs a second to compile
    ends = np.cumsum([np.prod(shape) for network in shapes for shape in network])
    draws = iter(jnp.split(jax.random.uniform(key, (int(ends[-1]),), minval=-1.0), ends[:-1]))
    return [
        [
            ((6.0 / sum(shape)) ** 0.5 * next(draws).reshape(shape), jnp.zeros(shape[1]))
            for shape in network
        ]
        for network in shapes
    ]


def _apply_in_numpy(layers: Layers, rows: Array, activation: Activation) -> Array:
    for index, (weight, bias) in enumerate(layers):
        if index:
            rows = np.tanh(rows) if activation == "tanh" else np.maximum(rows, 0.0)
        rows = rows @ weight + bias
    return rows


_sequential_vmap: Callable[[Transform], Transform] = jax.custom_batching.sequential_vmap


# One seed after the other: several batches of QR at once can wait for each other's threads forever
# (jaxlib 0.10 on two cores, three layers of 64 units, two seeds).
@_sequential_vmap
def _orthogonal(normal: jax.Array) -> jax.Array:
    """Return a uniform draw of matrices with orthonormal rows or columns, whichever are fewer."""
    wide = normal.shape[0] < normal.shape[1]
    basis, triangle = jnp.linalg.qr(normal.T if wide else normal)
    basis = basis * jnp.sign(jnp.diag(triangle))  # without this the first axes are favoured
    return basis.T if wide else basis
