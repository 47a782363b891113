import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.learners.columns import apply_to_columns
from selfpaced.learners.networks import apply_layers, orthogonal_layers

ROWS = jnp.linspace(-1.0, 1.0, 18).reshape(6, 3)


def some_layers(seed):
    return orthogonal_layers(jax.random.key(seed), (3, 5, 4, 2), 1.0)


def assert_same(found, expected):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, expected
    )


def test_a_network_and_its_gradient_are_the_same_on_columns_as_on_rows():
    def on_columns(layers, rows):
        outputs = apply_to_columns(layers, rows.T).T
        return (outputs**3).sum(), outputs

    def on_rows(layers, rows):
        outputs = apply_layers(layers, rows)
        return (outputs**3).sum(), outputs

    layers = some_layers(0)
    found, expected = (
        jax.grad(loss, argnums=(0, 1), has_aux=True)(layers, ROWS) for loss in (on_columns, on_rows)
    )
    assert_same(found, expected)


def test_stacked_networks_and_their_gradients_are_the_same_as_alone():
    alone = [some_layers(seed) for seed in (1, 2)]
    stacked = jax.tree.map(lambda *pair: jnp.stack(pair), *alone)

    def on_columns(layers, rows):
        outputs = apply_to_columns(layers, rows.T)
        return (outputs**3).sum(), outputs

    found, outputs = jax.grad(on_columns, argnums=(0, 1), has_aux=True)(stacked, ROWS)
    expected, rows = zip(
        *[jax.grad(on_columns, argnums=(0, 1), has_aux=True)(layers, ROWS) for layers in alone],
        strict=True,
    )
    assert_same(outputs, jnp.stack(rows))
    assert_same(
        found[0], jax.tree.map(lambda *pair: jnp.stack(pair), *[each[0] for each in expected])
    )
    assert_same(found[1], expected[0][1] + expected[1][1])
