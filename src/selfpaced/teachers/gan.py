"""A least-squares generative adversarial network over labelled points (Mao et al., ICCV 2017).

The discriminator is trained to output 1 for points labelled 1, and -1 for points labelled 0 and for
generated points; the generator is trained to produce points for which it outputs 1 (Florensa et
al., ICML 2018, Eq. 4 with a = -1, b = c = 1). Points lie in [-0.5, 0.5] per coordinate, outputs of
the generator in (-1, 1). A training is one compiled program; generating is plain NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar, final

import jax
import jax.numpy as jnp
import numpy as np
import optax

from selfpaced.records import Array

A = TypeVar("A", Array, jax.Array)  # arrays of NumPy or of JAX
Layers = tuple[tuple[A, A], ...]  # weight and bias of each

LEAK = 0.1  # slope of the discriminator's units below zero
RMS_DECAY, RMS_EPSILON = 0.9, 1e-10


class GANState(NamedTuple, Generic[A]):
    """Both networks, and the mean squared gradients in their optimisers."""

    generator: Layers[A]
    discriminator: Layers[A]
    generator_squares: Layers[A]
    discriminator_squares: Layers[A]


@final
@dataclass(frozen=True)
class GAN:
    """Sizes and learning rate; hashable, because a training is compiled for each."""

    generator_sizes: tuple[int, ...] = (256, 256)
    discriminator_sizes: tuple[int, ...] = (128, 128)
    learning_rate: float = 1e-3
    batch_size: int = 64

    def init(self, rng: np.random.Generator, size: int) -> GANState[Array]:
        """Return networks for points of this size, Glorot-uniform with zero biases."""
        generator = _glorot_layers(rng, (size, *self.generator_sizes, size))
        discriminator = _glorot_layers(rng, (size, *self.discriminator_sizes, 1))
        # the library of the published code starts from ones, which makes the first steps small
        ones = partial(jax.tree.map, np.ones_like)
        return GANState(generator, discriminator, ones(generator), ones(discriminator))

    def generate(self, rng: np.random.Generator, state: GANState[Array], num: int) -> Array:
        """Draw points [num, size] in (-1, 1)."""
        size = len(state.generator[0][0])
        noise = rng.standard_normal((num, size), np.float32)
        return _generate(np, state.generator, noise).astype(np.float64)

    def train(
        self,
        rng: np.random.Generator,
        state: GANState[Array],
        points: Array,
        labels: Array,
        num_iterations: int,
        room: tuple[int, int],
    ) -> GANState[Array]:
        """Improve discriminator and generator in turns, on successive batches of the points.

        `room` is the largest number of points and of iterations: all trainings within it share
        one compiled program.
        """
        num, size = points.shape
        max_num, max_iterations = room
        padded = np.zeros((max_num, size + 1), np.float32)
        padded[:num] = np.column_stack([points, labels])
        noise = np.zeros((max_iterations, self.batch_size, size), np.float32)
        noise[:num_iterations] = rng.standard_normal(noise[:num_iterations].shape, np.float32)
        trained = train_networks(self, state, padded, noise, num, num_iterations)
        on_host: GANState[Array] = jax.device_get(trained)
        return on_host


@partial(jax.jit, static_argnums=0)
def train_networks(
    gan: GAN,
    state: GANState[jax.Array],
    points: jax.Array,
    noise: jax.Array,
    num: jax.Array,
    num_iterations: jax.Array,
) -> GANState[jax.Array]:
    """Run the compiled training on padded points [P, size + 1] and noise [I, B, size]."""
    rows = jnp.arange(gan.batch_size)
    optimiser = optax.scale_by_rms(RMS_DECAY, RMS_EPSILON, eps_in_sqrt=True)

    def descend(
        gradient: Layers[jax.Array], squares: Layers[jax.Array], layers: Layers[jax.Array]
    ) -> tuple[Layers[jax.Array], Layers[jax.Array]]:
        step, memory = optimiser.update(_wait(gradient), optax.ScaleByRmsState(squares))
        step = jax.tree.map(lambda part: -gan.learning_rate * part, step)
        return optax.apply_updates(layers, step), memory.nu

    def iterate(index: jax.Array, state: GANState[jax.Array]) -> GANState[jax.Array]:
        # successive batches, starting over at the end; all points if they fit into one batch
        batch = jnp.where(num > gan.batch_size, index * gan.batch_size + rows, rows) % num
        real = points[batch]
        weight = jnp.where(rows < num, 1.0, 0.0)
        generated, backpropagate = jax.vjp(
            lambda layers: _generate(jnp, layers, noise[index]), state.generator
        )
        gradient = jax.grad(_discriminator_loss)(
            state.discriminator, real[:, :-1], real[:, -1], weight, generated
        )
        discriminator, discriminator_squares = descend(
            gradient, state.discriminator_squares, state.discriminator
        )
        # the generator has not changed since: its output serves both steps
        (gradient,) = backpropagate(jax.grad(_generator_loss)(generated, discriminator))
        generator, generator_squares = descend(gradient, state.generator_squares, state.generator)
        return GANState(generator, discriminator, generator_squares, discriminator_squares)

    trained: GANState[jax.Array] = jax.lax.fori_loop(0, num_iterations, iterate, state)
    return trained


def _glorot_layers(rng: np.random.Generator, sizes: tuple[int, ...]) -> Layers[Array]:
    def layer(fan_in: int, fan_out: int) -> tuple[Array, Array]:
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        weight = rng.uniform(-bound, bound, (fan_in, fan_out))
        return weight.astype(np.float32), np.zeros(fan_out, np.float32)

    return tuple(layer(*shape) for shape in pairwise(sizes))


def _generate(library: ModuleType, layers: Layers[A], noise: A) -> A:
    """Apply the generator, in `numpy` or in `jax.numpy`."""
    *hidden, (weight, bias) = layers
    for hidden_weight, hidden_bias in hidden:
        noise = library.maximum(noise @ hidden_weight + hidden_bias, 0.0)
    points: A = library.tanh(noise @ weight + bias)
    return points


def _discriminator_loss(
    layers: Layers[jax.Array],
    real: jax.Array,
    labels: jax.Array,
    weight: jax.Array,
    generated: jax.Array,
) -> jax.Array:
    """Return the mean squared distance to 1 for points labelled 1, to -1 for all others."""
    output = _discriminate(layers, jnp.concatenate([real, generated]))
    desired = jnp.concatenate([2.0 * labels - 1.0, -jnp.ones(len(generated))])
    weight = jnp.concatenate([weight, jnp.ones(len(generated))])
    return (weight * (desired - output) ** 2).sum() / weight.sum()


def _generator_loss(generated: jax.Array, discriminator: Layers[jax.Array]) -> jax.Array:
    return ((_discriminate(discriminator, generated) - 1.0) ** 2).mean()


def _discriminate(layers: Layers[jax.Array], points: jax.Array) -> jax.Array:
    *hidden, (weight, bias) = layers
    for hidden_weight, hidden_bias in hidden:
        points = jax.nn.leaky_relu(points @ hidden_weight + hidden_bias, LEAK)
    return (points @ weight + bias)[:, 0]


def _wait(gradient: Layers[jax.Array]) -> Layers[jax.Array]:
    """Make every part of the gradient depend on the first layer's, which is computed last.

    All uses of the old weights are then over, and the compiler updates them in place instead of
    copying all of them first.
    """
    (first, _), *_ = gradient
    waited: Layers[jax.Array] = jax.tree.map(lambda part: part + 0.0 * first[0, 0], gradient)
    return waited
