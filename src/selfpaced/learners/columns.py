"""Networks on samples that are columns: half the time on a CPU with few features and many samples.

JAX's own gradient of a layer multiplies in an order after which its compiler copies transposed
arrays. The gradient below gives the same numbers in the order of the arrays. It saves up to 30 % of
an update of SAC.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from selfpaced.learners.networks import Activation, Layers, activate


def apply_to_columns(
    layers: Layers, columns: jax.Array, activation: Activation = "tanh"
) -> jax.Array:
    """Return for columns what `apply_layers` returns for rows; networks may be stacked."""
    for index, (weight, bias) in enumerate(layers):
        inputs = activate(activation, columns) if index else columns
        columns = _layer(
            weight, bias, jnp.broadcast_to(inputs, (*weight.shape[:-2], *inputs.shape[-2:]))
        )
    return columns


@jax.custom_vjp
def _layer(weight: jax.Array, bias: jax.Array, inputs: jax.Array) -> jax.Array:
    """Return [..., O, B] for [..., I, O], [..., O] and [..., I, B]."""
    return jnp.einsum("...io,...ib->...ob", weight, inputs) + bias[..., None]


def _forward(
    weight: jax.Array, bias: jax.Array, inputs: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return _layer(weight, bias, inputs), (weight, inputs)


def _backward(
    kept: tuple[jax.Array, jax.Array], outputs: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return gradients in weight, bias and inputs, given the gradient in the outputs."""
    weight, inputs = kept
    return (
        jnp.einsum("...ib,...ob->...io", inputs, outputs),
        outputs.sum(-1),
        jnp.einsum("...io,...ob->...ib", weight, outputs),
    )


_layer.defvjp(_forward, _backward)
