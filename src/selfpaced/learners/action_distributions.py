"""Distributions of actions of PPO and TRPO: Gaussian for boxes, categorical for whole numbers.

A distribution is a static part of a learner's state: it holds sizes, and no arrays. Its functions
work on the `Outputs` of a policy, in NumPy if these are NumPy arrays (see `ActsInNumPy`).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple, Protocol, final

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads its parts on first use

from selfpaced.records import Spec


class Outputs(NamedTuple):
    """The numbers that determine a policy's distribution at one or several observations."""

    network: jax.Array  # [..., noise_size]  means of a Gaussian, or logits of all choices
    log_std: jax.Array | None  # [A]  of a Gaussian; it does not depend on the observation


class ActionDistribution(Protocol):
    """How the outputs of a policy become actions."""

    def init_log_std(self) -> jax.Array | None:
        """Return the log-std before training; None for a distribution without one."""

    def sample(self, noise: jax.Array, outputs: Outputs) -> jax.Array:
        """Return actions [..., A]; zero noise gives the most likely ones."""

    def log_probability(self, outputs: Outputs, action: jax.Array) -> jax.Array:
        """Return the log-probability, or log-density, of actions [..., A]."""

    def entropy(self, outputs: Outputs) -> jax.Array:
        """Return the entropy, averaged over observations."""

    def kl(self, old: Outputs, new: Outputs) -> jax.Array:
        """Return KL(old ‖ new), averaged over observations."""

    def fisher(self, outputs: Outputs, direction: Outputs) -> Outputs:
        """Multiply with the Hessian of `kl` in `new`, at `new = old`."""

    def metrics(self, outputs: Outputs) -> dict[str, jax.Array]:
        """Return how random the policy is."""


def distribution_of(spec: Spec) -> ActionDistribution:
    """Return the distribution that fits the actions of an environment."""
    if spec.has_discrete_actions:
        return Categorical(spec.action_low, spec.num_choices)
    return DiagonalGaussian(spec.action_size)


@final
@jax.tree_util.register_static
@dataclass(frozen=True)
class DiagonalGaussian:
    """Independent normal components. Actions are unbounded; the environment gets clipped ones.

    Examples:
        >>> import jax.numpy as jnp
        >>> from selfpaced.learners.action_distributions import DiagonalGaussian, Outputs
        >>> outputs = Outputs(network=jnp.array([0.5]), log_std=jnp.zeros(1))
        >>> DiagonalGaussian(1).sample(jnp.array([2.0]), outputs)
        Array([2.5], dtype=float32)
    """

    size: int

    def init_log_std(self) -> jax.Array:
        """Return zeros: the std is one, in units of the environment."""
        return jnp.zeros(self.size)

    def sample(self, noise: jax.Array, outputs: Outputs) -> jax.Array:
        """Return actions; zero noise gives the mean."""
        std: jax.Array = _library(outputs).exp(_log_std(outputs))
        return outputs.network + std * noise

    def log_probability(self, outputs: Outputs, action: jax.Array) -> jax.Array:
        """Return the log-density of actions before clipping."""
        log_std = _log_std(outputs)
        standard = (action - outputs.network) * jnp.exp(-log_std)
        return -0.5 * (standard**2 + jnp.log(2.0 * jnp.pi)).sum(-1) - log_std.sum()

    def entropy(self, outputs: Outputs) -> jax.Array:
        """Return the differential entropy, which is the same for all observations."""
        return (_log_std(outputs) + 0.5 * jnp.log(2.0 * jnp.pi * jnp.e)).sum()

    def kl(self, old: Outputs, new: Outputs) -> jax.Array:
        """Return KL(old ‖ new), averaged over observations."""
        old_log_std, new_log_std = _log_std(old), _log_std(new)
        moved = jnp.exp(2.0 * old_log_std) + (new.network - old.network) ** 2
        each = new_log_std - old_log_std + 0.5 * moved * jnp.exp(-2.0 * new_log_std) - 0.5
        return each.sum(-1).mean()

    def fisher(self, outputs: Outputs, direction: Outputs) -> Outputs:
        """Multiply means with 1/std² and log-stds with 2."""
        precision = jnp.exp(-2.0 * _log_std(outputs)) / len(outputs.network)
        return Outputs(precision * direction.network, 2.0 * _log_std(direction))

    def metrics(self, outputs: Outputs) -> dict[str, jax.Array]:
        """Return the mean standard deviation."""
        return {"learner/policy_std": jnp.exp(_log_std(outputs)).mean()}


@final
@jax.tree_util.register_static
@dataclass(frozen=True)
class Categorical:
    """Independent components, each with a probability for every whole number of its range.

    The noise becomes Gumbel noise, whose sum with the logits is largest at a random choice (the
    Gumbel-max trick). Zero noise adds the same to all logits: the most likely choice is taken.

    Examples:
        >>> import jax.numpy as jnp
        >>> from selfpaced.learners.action_distributions import Categorical, Outputs
        >>> one_to_three = Categorical(low=(1.0,), num_choices=(3,))
        >>> outputs = Outputs(jnp.log(jnp.array([0.2, 0.5, 0.3])), None)
        >>> one_to_three.sample(jnp.zeros(3), outputs)
        Array([2.], dtype=float32)
        >>> float(jnp.exp(one_to_three.log_probability(outputs, jnp.array([3.0])))).__round__(3)
        0.3
    """

    low: tuple[float, ...]  # the smallest whole number of every component
    num_choices: tuple[int, ...]

    def init_log_std(self) -> None:
        """Return None: there is no standard deviation."""
        return None

    def sample(self, noise: jax.Array, outputs: Outputs) -> jax.Array:
        """Return whole numbers, as floats; zero noise gives the most likely ones."""
        library = _library(outputs)
        log_ndtr = scipy.special.log_ndtr if library is np else jax.scipy.special.log_ndtr
        gumbel = -library.log(-log_ndtr(noise))  # in logarithms: finite far into the tails
        scores = self._split(outputs.network + gumbel)
        index = library.stack([score.argmax(-1) for score in scores], -1)
        action: jax.Array = index.astype(np.float32) + np.array(self.low, np.float32)
        return action

    def log_probability(self, outputs: Outputs, action: jax.Array) -> jax.Array:
        """Return the log-probability of whole numbers [..., A]."""
        index = (action - jnp.array(self.low)).astype(jnp.int32)
        components = enumerate(self._log_probabilities(outputs))
        picked = [
            jnp.take_along_axis(logs, index[..., [component]], -1) for component, logs in components
        ]
        return jnp.concatenate(picked, -1).sum(-1)

    def entropy(self, outputs: Outputs) -> jax.Array:
        """Return the entropy, summed over components and averaged over observations."""
        each = [-(jnp.exp(logs) * logs).sum(-1) for logs in self._log_probabilities(outputs)]
        return jnp.stack(each).sum(0).mean()

    def kl(self, old: Outputs, new: Outputs) -> jax.Array:
        """Return KL(old ‖ new), summed over components and averaged over observations."""
        pairs = zip(self._log_probabilities(old), self._log_probabilities(new), strict=True)
        each = [(jnp.exp(before) * (before - after)).sum(-1) for before, after in pairs]
        return jnp.stack(each).sum(0).mean()

    def fisher(self, outputs: Outputs, direction: Outputs) -> Outputs:
        """Multiply logits with diag(p) - ppᵀ."""
        pairs = zip(self._log_probabilities(outputs), self._split(direction.network), strict=True)
        products = [
            jnp.exp(logs) * (move - (jnp.exp(logs) * move).sum(-1, keepdims=True))
            for logs, move in pairs
        ]
        return Outputs(jnp.concatenate(products, -1) / len(outputs.network), None)

    def metrics(self, outputs: Outputs) -> dict[str, jax.Array]:
        """Return the mean entropy."""
        return {"learner/policy_entropy": self.entropy(outputs)}

    def _log_probabilities(self, outputs: Outputs) -> list[jax.Array]:
        return [jax.nn.log_softmax(logits) for logits in self._split(outputs.network)]

    def _split(self, array: jax.Array) -> list[jax.Array]:
        """Return the part [..., n] of every component."""
        parts: list[jax.Array] = _library_of(array).split(
            array, np.cumsum(self.num_choices)[:-1], -1
        )
        return parts


def _library(outputs: Outputs) -> ModuleType:
    return _library_of(outputs.network)


def _library_of(array: jax.Array) -> ModuleType:
    return np if isinstance(array, np.ndarray) else jnp


def _log_std(outputs: Outputs) -> jax.Array:
    assert outputs.log_std is not None
    return outputs.log_std
