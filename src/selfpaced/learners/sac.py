"""Soft actor-critic (Haarnoja et al., 2018), with a state-value network or without.

The variant of the paper's experiments has a policy, two action values, a state value and its slow
copy. Later experiments leave the state value out and keep slow copies of the action values.
Defaults and initialisation follow the library that the paper used. The paper's own settings are in
the presets.

All gradients of an update are taken at the same parameters, with one sample of the policy per
state, and Adam treats every number separately. One gradient of the sum of the losses and one
optimiser are therefore equivalent to that library's three optimisers for the policy, the values and
the coefficient. Deviations from it:
D1  with several environments there is one update per `update_every` steps of all of them,
D2  random numbers come from a hash of the key, see `random_words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict, final, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax

from selfpaced.errors import require
from selfpaced.learners.advantages import TimeOuts
from selfpaced.learners.base import Rollout
from selfpaced.learners.columns import apply_to_columns
from selfpaced.learners.hashed_random import normals, random_words
from selfpaced.learners.networks import Activation, Layers, apply_layers, glorot_networks
from selfpaced.learners.normalisation import Moments, init_moments, standardise
from selfpaced.learners.normalisation import add_rows as add_moments
from selfpaced.learners.replay import Replay, add_rows, empty_replay, sample_rows
from selfpaced.records import Spec
from selfpaced.validation import (
    require_choice,
    require_layers,
    require_not_negative,
    require_positive,
)

LOG_STD_RANGE = (-20.0, 2.0)
SQUASH_EPSILON = 1e-6  # keeps the log-probability finite at the border of the box


@final
@dataclass(frozen=True)
class SAC:
    """Maximise reward and entropy with a squashed Gaussian policy in the action box; off-policy.

    Raises:
        SelfpacedError: a setting is out of range, the actions are discrete or unbounded, or
            `buffer_size` is smaller than the number of environments.

    Examples:
        >>> import jax
        >>> from selfpaced import SAC
        >>> from selfpaced.records import Spec
        >>> learner = SAC(hidden=(21,), buffer_size=1000)
        >>> spec = Spec(observation_size=4, action_low=(-1.0,), action_high=(3.0,), discount=0.95)
        >>> state = learner.init(jax.random.key(0), spec)
        >>> learner.policy(jax.numpy.zeros(1), state, jax.numpy.zeros(4))  # centre of the box
        Array([1.], dtype=float32)
    """

    hidden: tuple[int, ...] = (64, 64)
    """units of each hidden layer, in every network"""
    learning_rate: float = 3e-4
    """of Adam, for all networks"""
    buffer_size: int = 50_000
    """number of latest steps that are kept for updates"""
    learning_starts: int = 100
    """steps of uniformly random actions before the first update"""
    batch_size: int = 64
    """steps per update"""
    target_rate: float = 0.005
    """tau: share of the way to the value network that its slow copy moves in an update"""
    target_entropy: float | None = None
    """entropy that the coefficient aims for; None means minus the number of action components"""
    time_outs: TimeOuts = "bootstrap"
    """treat truncation as "terminal" (as in the paper), or "bootstrap" with the value behind it"""
    normalise_observations: bool = False
    """scale observations by running mean and standard deviation"""
    update_every: int = 1
    """steps of each environment per update, at most those of an iteration; the last update of an
    iteration follows the steps that remain"""
    activation: Activation = "tanh"
    """function between the layers: "tanh" or "relu" (rectified linear)"""
    state_value: bool = True
    """learn a state value (as in the paper); otherwise learn from slow copies of action values"""

    def __post_init__(self) -> None:
        require_layers(self, "hidden")
        require_positive(self, "learning_rate", "buffer_size", "batch_size", "update_every")
        require_not_negative(self, "learning_starts")
        require(
            self.buffer_size >= self.batch_size,
            f"buffer_size must be at least batch_size ({self.batch_size}), got {self.buffer_size}; "
            "the paper uses 10000",
        )
        require(
            0.0 < self.target_rate <= 1.0,
            f"target_rate must lie in (0, 1], got {self.target_rate}; the paper uses 0.005",
        )
        require_choice("time_outs", self.time_outs, get_args(TimeOuts))
        require_choice("activation", self.activation, get_args(Activation))

    @property
    def steps_per_update(self) -> int:
        """Update after every few steps (D1)."""
        return self.update_every

    def require_workload(self, spec: Spec, steps_per_iteration: int, num_environments: int) -> None:
        """Require actions in a finite box."""
        del steps_per_iteration, num_environments
        _require_box(spec)

    def init(self, key: jax.Array, spec: Spec) -> SACState:
        """Draw Glorot networks; the coefficient is one and the replay is empty."""
        _require_box(spec)
        low, high = np.array(spec.action_low), np.array(spec.action_high)
        parameters = self._init_parameters(key, spec)
        return SACState(
            parameters,
            _critic_of(parameters),
            self._optimiser().init(parameters),
            empty_replay(self.buffer_size, 2 * spec.observation_size + spec.action_size + 2),
            jnp.array([(high + low) / 2.0, (high - low) / 2.0], jnp.float32),
            init_moments(spec.observation_size) if self.normalise_observations else None,
        )

    def act(self, noise: jax.Array, state: SACState, observation: jax.Array) -> jax.Array:
        """Sample the policy, or the uniform distribution until learning starts.

        In both cases the noise selects the quantile: zeros give the median.
        """
        explores = self._explores(_replay_of(state))
        uniform = state.box[0] + state.box[1] * (2.0 * jax.scipy.stats.norm.cdf(noise) - 1.0)
        return jnp.where(explores, uniform, self.policy(noise, state, observation))

    def policy(self, noise: jax.Array, state: SACState, observation: jax.Array) -> jax.Array:
        """Sample the policy, whether learning has started or not; the replay is not needed."""
        seen = standardise(state.scaling, observation)
        mean, log_std = _gaussian(apply_layers(state.parameters["policy"], seen, self.activation))
        return state.box[0] + state.box[1] * jnp.tanh(mean + jnp.exp(log_std) * noise)

    def value(self, state: SACState, observation: jax.Array) -> jax.Array:
        """Estimate the discounted return with the critic, which includes later entropy.

        Without a state value it is the smaller action value of the policy's median action.
        """
        seen = standardise(state.scaling, observation)
        if "value" in state.parameters:
            return apply_layers(state.parameters["value"], seen, self.activation)[..., 0]
        mean, _ = _gaussian(apply_layers(state.parameters["policy"], seen, self.activation))
        inputs = jnp.concatenate([seen, jnp.tanh(mean)], -1)
        pair = (_of_pair(state.parameters["action_values"], index) for index in range(2))
        first, second = (apply_layers(layers, inputs, self.activation)[..., 0] for layers in pair)
        return jnp.minimum(first, second)

    def update(
        self, key: jax.Array, spec: Spec, state: SACState, rollout: Rollout
    ) -> tuple[SACState, dict[str, jax.Array]]:
        """Store the steps, then learn from a batch of past steps."""
        rows = self.rows(state.box, rollout)
        require(
            len(rows) <= self.buffer_size,
            f"buffer_size must be at least the number of environments ({len(rows)}), got "
            f"{self.buffer_size}; raise it",
        )
        past = _replay_of(state)
        replay = add_rows(past, rows)
        learns = ~self._explores(past) & (replay.num_added >= self.batch_size)
        # first the words that choose the batch, then those for the policy (D2)
        num_actions = 1 if self.state_value else 2  # without it, also at the next observation
        words = random_words(key, (1 + num_actions * spec.action_size, self.batch_size))
        scaling = state.scaling
        if scaling is not None:
            scaling = add_moments(scaling, rollout.observation)
        batch = _unpack(spec, scaling, sample_rows(words[0], replay))
        noise, *later_noise = jnp.split(normals(words[1:]), num_actions)

        next_value = self._next_value(state, batch.next_observation, *later_noise)
        target = batch.reward + spec.discount * batch.future * next_value
        gradient, metrics = jax.grad(self.loss, has_aux=True)(
            state.parameters, batch, noise, target
        )
        # seeds are vectorised, so a branch would compute both sides; a mask costs less
        gradient = jax.tree.map(lambda array: jnp.where(learns, array, 0.0), gradient)
        steps, memory = self._optimiser().update(gradient, state.optimiser)
        memory = jax.tree.map(lambda new, old: jnp.where(learns, new, old), memory, state.optimiser)
        parameters = jax.tree.map(
            lambda array, step: array + jnp.where(learns, step, 0.0), state.parameters, steps
        )
        slow = jax.tree.map(
            lambda slow, fast: slow + self.target_rate * (fast - slow),
            state.target,
            _critic_of(parameters),
        )
        return SACState(parameters, slow, memory, replay, state.box, scaling), metrics

    def parameters(self, state: SACState) -> Parameters:
        """Return the parameters of all networks."""
        return state.parameters

    def with_parameters(self, state: SACState, parameters: Parameters) -> SACState:
        """Return the state with these parameters of all networks; the slow copy stays."""
        return state._replace(parameters=parameters)

    def without_replay(self, state: SACState) -> SACState:
        """Return the state without past steps: `policy` and `value` work, `act` does not."""
        return state._replace(replay=None)

    def rows(self, box: jax.Array, rollout: Rollout) -> jax.Array:
        """Return steps as rows [M, F] of the replay, with actions scaled to [-1, 1]."""
        ended = rollout.terminated
        if self.time_outs == "terminal":
            ended = ended | rollout.truncated
        columns = (
            rollout.observation,
            (rollout.action - box[0]) / box[1],
            rollout.reward[..., None],
            1.0 - ended[..., None],
            rollout.next_observation,
        )
        rows = jnp.concatenate(columns, axis=-1)
        return rows.reshape(-1, rows.shape[-1])

    def loss(
        self, parameters: Parameters, batch: Batch, noise: jax.Array, target: jax.Array
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        """Return the sum of all losses; each has a gradient in its own parameters only."""
        log_coefficient = parameters["log_coefficient"]
        coefficient = jnp.exp(jax.lax.stop_gradient(log_coefficient))
        action, log_probability = sample_squashed(
            parameters["policy"], noise, batch.observation, self.activation
        )

        # one by one, not stacked: the policy's loss needs no gradient through the second
        frozen = jax.lax.stop_gradient(parameters["action_values"])
        first = self._action_value(_of_pair(frozen, 0), batch.observation, action)
        second = self._action_value(
            _of_pair(frozen, 1),
            batch.observation,
            jax.lax.stop_gradient(action) if self.state_value else action,
        )
        smaller = jnp.minimum(first, second)
        aim = first if self.state_value else smaller  # Q1 in the variant of the paper
        policy_loss = (coefficient * log_probability - aim).mean()

        remembered = self._action_value(
            parameters["action_values"], batch.observation, batch.action
        )
        action_value_loss = 0.5 * ((remembered - target) ** 2).mean(-1).sum()

        value_loss = jnp.float32(0.0)
        if self.state_value:
            soft_value = jax.lax.stop_gradient(smaller - coefficient * log_probability)
            value = apply_to_columns(parameters["value"], batch.observation, self.activation)[0]
            value_loss = 0.5 * ((value - soft_value) ** 2).mean()

        entropy = -jax.lax.stop_gradient(log_probability).mean()
        target_entropy = -len(action) if self.target_entropy is None else self.target_entropy
        coefficient_loss = log_coefficient * (entropy - target_entropy)
        return policy_loss + action_value_loss + value_loss + coefficient_loss, {
            "learner/policy_loss": policy_loss,
            "learner/action_value_loss": action_value_loss,
            "learner/value_loss": value_loss,
            "learner/entropy": entropy,
            "learner/entropy_coefficient": coefficient,
        }

    def _next_value(
        self, state: SACState, observation: jax.Array, noise: jax.Array | None = None
    ) -> jax.Array:
        """Estimate the value of next observations with the slow copy."""
        if noise is None:
            return apply_to_columns(state.target, observation, self.activation)[0]
        action, log_probability = sample_squashed(
            state.parameters["policy"], noise, observation, self.activation
        )
        smaller = self._action_value(state.target, observation, action).min(0)
        return smaller - jnp.exp(state.parameters["log_coefficient"]) * log_probability

    def _action_value(self, layers: Layers, observation: jax.Array, action: jax.Array) -> jax.Array:
        inputs = jnp.concatenate([observation, action])
        return apply_to_columns(layers, inputs, self.activation)[..., 0, :]

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(optax.adam(self.learning_rate))  # one vector: fewer operations

    def _explores(self, replay: Replay) -> jax.Array:
        """Return whether actions are still uniformly random, without updates."""
        return replay.num_added < self.learning_starts

    def _init_parameters(self, key: jax.Array, spec: Spec) -> Parameters:
        trunk = (spec.observation_size, *self.hidden)
        with_action = (spec.observation_size + spec.action_size, *self.hidden, 1)
        state_values = [(*trunk, 1)] if self.state_value else []
        mean, log_std, first, second, *values = glorot_networks(
            key,
            [
                (*trunk, spec.action_size),
                (trunk[-1], spec.action_size),
                with_action,
                with_action,
                *state_values,
            ],
        )
        heads = jax.tree.map(lambda *head: jnp.concatenate(head, -1), mean[-1], log_std[0])
        parameters: Parameters = {
            "policy": [*mean[:-1], heads],
            "action_values": jax.tree.map(lambda *pair: jnp.stack(pair), first, second),
            "log_coefficient": jnp.float32(0.0),
        }
        if values:
            parameters["value"] = values[0]
        return parameters


class Parameters(TypedDict):
    """Parameters of all networks; the keys name arrays in saved files."""

    policy: Layers  # mean and log-std, one after the other
    action_values: Layers  # two networks, stacked
    value: NotRequired[Layers]  # only of the variant with a state value
    log_coefficient: jax.Array  # of the entropy


class SACState(NamedTuple):
    """Networks, the slow copy of the critic, the state of the optimiser, and past steps."""

    parameters: Parameters
    target: Layers  # slow copy of the state value, or of the action values
    optimiser: optax.OptState
    replay: Replay | None  # None outside training
    box: jax.Array  # [2, A] centre and half-width of the legal actions
    scaling: Moments | None  # of observations; the replay has them unscaled


class Batch(NamedTuple):
    """Past steps as columns: with the batch as the last axis, an update takes half the time."""

    observation: jax.Array  # [O, B]
    action: jax.Array  # [A, B]  in [-1, 1]
    reward: jax.Array  # [B]
    future: jax.Array  # [B]  0 where the episode ended, else 1
    next_observation: jax.Array  # [O, B]


def sample_squashed(
    layers: Layers, noise: jax.Array, observation: jax.Array, activation: Activation = "tanh"
) -> tuple[jax.Array, jax.Array]:
    """Return actions in [-1, 1] and their log-probabilities; all arguments are columns."""
    mean, log_std = _gaussian(apply_to_columns(layers, observation, activation), axis=0)
    action = jnp.tanh(mean + jnp.exp(log_std) * noise)
    unsquashed = -0.5 * (noise**2 + jnp.log(2.0 * jnp.pi)) - log_std
    return action, (unsquashed - jnp.log(1.0 - action**2 + SQUASH_EPSILON)).sum(0)


def _replay_of(state: SACState) -> Replay:
    assert state.replay is not None, "training needs the replay"
    return state.replay


def _gaussian(outputs: jax.Array, axis: int = -1) -> tuple[jax.Array, jax.Array]:
    mean, log_std = jnp.split(outputs, 2, axis)
    return mean, jnp.clip(log_std, *LOG_STD_RANGE)


def _critic_of(parameters: Parameters) -> Layers:
    """Return the network whose slow copy gives the targets."""
    return parameters.get("value", parameters["action_values"])


def _of_pair(layers: Layers, index: int) -> Layers:
    return [(weight[index], bias[index]) for weight, bias in layers]


def _unpack(spec: Spec, scaling: Moments | None, rows: jax.Array) -> Batch:
    sizes = (spec.observation_size, spec.action_size, 1, 1)
    observation, action, reward, future, next_observation = jnp.split(rows.T, np.cumsum(sizes))
    seen, after = (
        standardise(scaling, columns.T).T if scaling else columns
        for columns in (observation, next_observation)
    )
    return Batch(seen, action, reward[0], future[0], after)


def _require_box(spec: Spec) -> None:
    require(
        not spec.has_discrete_actions,
        "actions must be continuous for SAC, got discrete ones; use PPO or TRPO",
    )
    require(
        bool(np.isfinite((spec.action_low, spec.action_high)).all()),
        f"action bounds must be finite for SAC, got {spec.action_low} to {spec.action_high}; "
        "give the environment finite bounds, or use PPO or TRPO",
    )
