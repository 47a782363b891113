"""The policy and the critic of PPO and TRPO."""

from __future__ import annotations

from typing import NamedTuple, NotRequired, TypedDict

import jax
import numpy as np
import optax

from selfpaced.learners.action_distributions import ActionDistribution, Outputs, distribution_of
from selfpaced.learners.advantages import TimeOuts, advantages
from selfpaced.learners.base import Rollout
from selfpaced.learners.networks import Activation, Layers, apply_layers, orthogonal_layers
from selfpaced.learners.normalisation import (
    Scaling,
    add_rows,
    init_scaling,
    scale_of,
    standardise,
)
from selfpaced.records import Array, Spec


class PolicyParameters(TypedDict):
    """Parameters of the policy; the keys name arrays in saved files."""

    trunk: NotRequired[Layers]  # only if policy and critic share their hidden layers
    policy: Layers  # of the outputs of the network, see `Outputs`
    log_std: NotRequired[jax.Array]  # [A]  only of a Gaussian


class Parameters(PolicyParameters):
    """Parameters of policy and critic."""

    value: Layers


class OnPolicyState(NamedTuple):
    """Policy, critic, the state of the optimiser, and the scaling of observations and returns."""

    parameters: Parameters
    optimiser: optax.OptState
    distribution: ActionDistribution  # static: holds no arrays
    scaling: Scaling


class Samples(NamedTuple):
    """Steps to learn from; observations and target values are scaled."""

    observation: jax.Array  # [T, N, O], or [B, O] in any order
    action: jax.Array  # [..., A]
    log_probability: jax.Array  # [...]  under the policy that acted
    advantage: jax.Array  # [...]
    target_value: jax.Array  # [...]

    def in_one_row(self) -> Samples:
        """Return steps [T, N] as [T * N]."""
        return Samples(*(array.reshape(-1, *array.shape[2:]) for array in self))


class ActorCritic:
    """Everything that PPO and TRPO share: all but `init` and `update`."""

    activation: Activation

    @property
    def steps_per_update(self) -> None:
        """Update once per iteration, from all of its steps."""
        return None

    def act(self, noise: jax.Array, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """Sample the policy. A continuous action is unbounded; the caller clips it."""
        return state.distribution.sample(noise, self.outputs(state, observation))

    def policy(self, noise: jax.Array, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """Act as in training."""
        return self.act(noise, state, observation)

    def outputs(self, state: OnPolicyState, observation: jax.Array) -> Outputs:
        """Apply the policy to observations as the environment gives them."""
        seen = standardise(state.scaling.observation, observation)
        return outputs_of(state.parameters, seen, self.activation)

    def value(self, state: OnPolicyState, observation: jax.Array) -> jax.Array:
        """Estimate the discounted return with the critic, in units of the rewards."""
        seen = standardise(state.scaling.observation, observation)
        value = estimate_value(critic_of(state.parameters), seen, self.activation)
        return value if state.scaling.returns is None else value * scale_of(state.scaling.returns)

    def host_state(self, state: OnPolicyState) -> OnPolicyState:
        """Return the policies of several seeds as NumPy arrays, without critic and optimiser."""
        policy, scaling = policy_of(state.parameters), state.scaling._replace(returns=None)
        return OnPolicyState(
            jax.tree.map(_for_rows, policy),
            None,
            state.distribution,
            jax.tree.map(_for_rows, scaling),
        )

    def parameters(self, state: OnPolicyState) -> Parameters:
        """Return the parameters of policy and critic."""
        return state.parameters

    def with_parameters(self, state: OnPolicyState, parameters: Parameters) -> OnPolicyState:
        """Return the state with these parameters of policy and critic."""
        return state._replace(parameters=parameters)


def init_state(
    key: jax.Array,
    spec: Spec,
    hidden: tuple[int, ...],
    normalise_observations: bool,
    normalise_rewards: bool,
    shared_trunk: bool = False,
) -> OnPolicyState:
    """Draw orthogonal networks; the state of the optimiser is left to the learner."""
    key_policy, key_value = jax.random.split(key)
    inputs, distribution = (spec.observation_size, *hidden), distribution_of(spec)
    policy = orthogonal_layers(key_policy, (*inputs, spec.noise_size), output_gain=0.01)
    critic_inputs = inputs[-1:] if shared_trunk else inputs
    value = orthogonal_layers(key_value, (*critic_inputs, 1), output_gain=1.0)
    parameters: Parameters = {"policy": policy, "value": value}
    if shared_trunk:
        parameters = {"trunk": policy[:-1], "policy": policy[-1:], "value": value}
    log_std = distribution.init_log_std()
    if log_std is not None:
        parameters["log_std"] = log_std
    scaling = init_scaling(spec.observation_size, normalise_observations, normalise_rewards)
    return OnPolicyState(parameters, None, distribution, scaling)


def policy_of(parameters: Parameters) -> PolicyParameters:
    """Return the parameters without the critic's."""
    policy: PolicyParameters = {"policy": parameters["policy"]}
    if "trunk" in parameters:
        policy["trunk"] = parameters["trunk"]
    if "log_std" in parameters:
        policy["log_std"] = parameters["log_std"]
    return policy


def critic_of(parameters: Parameters) -> Layers:
    """Return all layers of the critic, those of a shared trunk first."""
    return [*parameters.get("trunk", []), *parameters["value"]]


def outputs_of(
    policy: PolicyParameters, observation: jax.Array, activation: Activation = "tanh"
) -> Outputs:
    """Apply the policy to scaled observations [..., O]."""
    layers = [*policy.get("trunk", []), *policy["policy"]]
    return Outputs(apply_layers(layers, observation, activation), policy.get("log_std"))


def estimate_value(
    layers: Layers, observation: jax.Array, activation: Activation = "tanh"
) -> jax.Array:
    """Apply the critic to scaled observations [..., O]; the result is scaled, too."""
    return apply_layers(layers, observation, activation)[..., 0]


def prepare(
    critic: ActorCritic,
    spec: Spec,
    state: OnPolicyState,
    rollout: Rollout,
    gae_lambda: float,
    time_outs: TimeOuts,
) -> tuple[OnPolicyState, Samples]:
    """Take the steps into the statistics; return that state, and the steps to learn from.

    The critic predicts returns in units of their scale. When the scale moves, the last layer moves
    the other way, so that values do not jump (as in PopArt, van Hasselt et al., 2016).
    """
    outputs = critic.outputs(state, rollout.observation)
    before = state.distribution.log_probability(outputs, rollout.action)
    observation, returns = state.scaling
    if observation is not None:
        observation = add_rows(observation, rollout.observation)
    state = state._replace(scaling=Scaling(observation, returns))
    value = critic.value(state, rollout.observation)
    next_value = critic.value(state, rollout.next_observation)
    advantage = advantages(rollout, value, next_value, spec.discount, gae_lambda, time_outs)
    target = advantage + value
    if returns is not None:
        moved = add_rows(returns, target[..., None])
        target = target / scale_of(moved)
        state = _in_units_of(state, scale_of(returns), scale_of(moved))
        state = state._replace(scaling=Scaling(observation, moved))
    seen = standardise(observation, rollout.observation)
    return state, Samples(seen, rollout.action, before, advantage, target)


def _for_rows(array: jax.Array) -> Array:
    """Return matrices [S, I, O] as they are, and vectors [S, O] as [S, 1, O] for rows [S, N, O]."""
    copy = np.array(array)
    return copy[:, None] if copy.ndim == 2 else copy


def _in_units_of(state: OnPolicyState, old: jax.Array, new: jax.Array) -> OnPolicyState:
    """Return the state whose critic estimates the same in another unit."""
    *layers, last = state.parameters["value"]
    scaled = jax.tree.map(lambda array: array * (old / new), last)
    parameters: Parameters = {**state.parameters, "value": [*layers, scaled]}
    return state._replace(parameters=parameters)
