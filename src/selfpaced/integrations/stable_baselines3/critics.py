"""Values of first observations from the critics of Stable-Baselines3 and sb3-contrib models.

On-policy models have a value function. Off-policy ones have Q functions, which are evaluated at the
policy's deterministic action; of several, the smallest counts, as in their training.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from selfpaced.integrations.curriculum import ValueFunction
from selfpaced.records import Array
from selfpaced.validation import require_extra

require_extra("sb3", "stable_baselines3", "CurriculumCallback")

import sb3_contrib.common.recurrent.policies as recurrent  # noqa: E402
import sb3_contrib.crossq.policies as crossq  # noqa: E402
import sb3_contrib.qrdqn.policies as qrdqn  # noqa: E402
import sb3_contrib.tqc.policies as tqc  # noqa: E402
import stable_baselines3.dqn.policies as dqn  # noqa: E402
import stable_baselines3.sac.policies as sac  # noqa: E402
import stable_baselines3.td3.policies as td3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3.common.base_class import BaseAlgorithm  # noqa: E402
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy  # noqa: E402

Observations = Any  # as a policy takes them: an array, or a dictionary of arrays
Critic = Callable[[Any, Any], torch.Tensor]  # policy, observations as tensors -> values [M]


def find_critic(model: BaseAlgorithm) -> ValueFunction | None:
    """Return the values of flat observations under a model, or None if its critic is not known.

    The observations are those before normalisation, the values are in units of the rewards.
    """
    estimate = _estimator(model.policy)
    if estimate is None:
        return None

    def values(flat: Array) -> Array:
        observations = _unflattened(model.observation_space, flat)
        normalisation = model.get_vec_normalize_env()
        if normalisation is None:
            return estimate(observations)
        estimates = estimate(normalisation.normalize_obs(observations))
        return (
            normalisation.unnormalize_reward(estimates) if normalisation.norm_reward else estimates
        )

    return values


def _estimator(policy: BasePolicy) -> Callable[[Observations], Array] | None:
    if "sbx" in sys.modules:  # models in JAX exist only where it is imported
        from selfpaced.integrations.stable_baselines3.sbx_critics import find_sbx_estimator

        found = find_sbx_estimator(policy)
        if found is not None:
            return found
    critic = next((critic for kind, critic in _CRITICS if isinstance(policy, kind)), None)
    if critic is None:
        return None

    def estimate(observations: Observations) -> Array:
        policy.set_training_mode(False)
        with torch.no_grad():
            tensors, _ = policy.obs_to_tensor(observations)
            return np.asarray(critic(policy, tensors).cpu(), np.float64).reshape(-1)

    return estimate


def _value(policy: Any, observations: Any) -> torch.Tensor:
    found: torch.Tensor = policy.predict_values(observations)
    return found


def _recurrent_value(policy: Any, observations: Any) -> torch.Tensor:
    """The value at the start of an episode, when the memory is empty."""
    first = next(iter(observations.values())) if isinstance(observations, dict) else observations
    num, lstm = len(first), policy.lstm_actor
    empty = torch.zeros(lstm.num_layers, num, lstm.hidden_size, device=first.device)
    starts = torch.ones(num, device=first.device)
    found: torch.Tensor = policy.predict_values(observations, (empty, empty), starts)
    return found


def _smallest_q(policy: Any, observations: Any) -> torch.Tensor:
    action = policy._predict(observations, deterministic=True)
    return torch.cat(policy.critic(observations, action), dim=1).min(dim=1).values


def _mean_quantile(policy: Any, observations: Any) -> torch.Tensor:
    action = policy._predict(observations, deterministic=True)
    quantiles: torch.Tensor = policy.critic(observations, action)  # [M, critics, quantiles]
    return quantiles.mean(dim=(1, 2))


def _largest_q(policy: Any, observations: Any) -> torch.Tensor:
    found: torch.Tensor = policy.q_net(observations).max(dim=1).values
    return found


def _largest_mean_quantile(policy: Any, observations: Any) -> torch.Tensor:
    quantiles: torch.Tensor = policy.quantile_net(observations)  # [M, quantiles, actions]
    return quantiles.mean(dim=1).max(dim=1).values


_CRITICS: tuple[tuple[type[BasePolicy], Critic], ...] = (
    (recurrent.RecurrentActorCriticPolicy, _recurrent_value),  # before what it derives from
    (ActorCriticPolicy, _value),
    (sac.SACPolicy, _smallest_q),
    (td3.TD3Policy, _smallest_q),
    (crossq.CrossQPolicy, _smallest_q),
    (tqc.TQCPolicy, _mean_quantile),
    (dqn.DQNPolicy, _largest_q),
    (qrdqn.QRDQNPolicy, _largest_mean_quantile),
)


def _unflattened(space: spaces.Space[Any], flat: Array) -> Observations:
    if isinstance(space, spaces.Dict):
        rows: list[Any] = [spaces.unflatten(space, row) for row in flat]
        return {key: np.stack([row[key] for row in rows]) for key in space.spaces}
    return flat.reshape(len(flat), *(space.shape or ())).astype(space.dtype)
