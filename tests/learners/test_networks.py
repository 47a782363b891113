import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced.learners.columns import apply_to_columns
from selfpaced.learners.networks import apply_layers, orthogonal_layers

PROGRAM = """
import jax
from selfpaced.learners.networks import orthogonal_layers

@jax.jit
@jax.vmap
def init(key):
    policy, value = jax.random.split(key)
    sizes = (21, 64, 64, 64, 5)
    return orthogonal_layers(policy, sizes, 0.01), orthogonal_layers(value, sizes, 1.0)

jax.block_until_ready(init(jax.random.split(jax.random.key(0), 2)))
"""


def test_weights_are_orthogonal_times_their_gain():
    layers = orthogonal_layers(jax.random.key(0), (3, 8, 8, 2), output_gain=0.1)
    for (weight, bias), gain_squared in zip(layers, (2.0, 2.0, 0.01), strict=True):
        few = weight if weight.shape[0] <= weight.shape[1] else weight.T
        np.testing.assert_allclose(few @ few.T, gain_squared * np.eye(len(few)), atol=1e-5)
        assert not bias.any()


def test_networks_of_several_seeds_are_those_that_are_drawn_alone():
    keys = jax.random.split(jax.random.key(1), 3)
    together = jax.vmap(lambda key: orthogonal_layers(key, (4, 6, 2), 1.0))(keys)
    alone = orthogonal_layers(keys[2], (4, 6, 2), 1.0)
    for (several, _), (one, _) in zip(together, alone, strict=True):
        np.testing.assert_allclose(several[2], one, atol=1e-6)


def test_initialising_deep_networks_of_several_seeds_does_not_deadlock():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_network_is_the_same_in_numpy_and_on_columns(activation):
    layers = orthogonal_layers(jax.random.key(0), (3, 8, 8, 2), output_gain=1.0)
    rows = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(4, 3)
    expected = apply_layers(layers, jnp.array(rows), activation)
    in_numpy = apply_layers(jax.tree.map(np.array, layers), rows, activation)
    np.testing.assert_allclose(in_numpy, expected, rtol=1e-5, atol=1e-6)
    on_columns = apply_to_columns(layers, jnp.array(rows.T), activation).T
    np.testing.assert_allclose(on_columns, expected, rtol=1e-5, atol=1e-6)


def test_relu_passes_positive_numbers_only():
    identity = (jnp.eye(2), jnp.zeros(2))
    outputs = apply_layers([identity, identity], jnp.array([[-1.0, 3.0]]), "relu")
    assert outputs.tolist() == [[0.0, 3.0]]
