"""Values of observations from the critics of SBX models, which are Stable-Baselines3 in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sbx.dqn.policies as dqn
import sbx.ppo.policies as ppo
import sbx.sac.policies as sac
import sbx.td3.policies as td3
import sbx.tqc.policies as tqc

from selfpaced.records import Array

Estimator = Callable[[Any], Array]


def find_sbx_estimator(policy: object) -> Estimator | None:
    """Return the values [M] of observations under a policy of SBX, or None if it is not known."""
    found = next((critic for kind, critic in _CRITICS if isinstance(policy, kind)), None)
    if found is None:
        return None
    critic, known = found, policy

    def estimate(observations: Any) -> Array:
        prepared, _ = known.prepare_obs(observations)  # type: ignore[attr-defined]
        return np.asarray(critic(known, prepared), np.float64).reshape(-1)

    return estimate


def _value(policy: Any, observations: Any) -> Any:
    return policy.vf_state.apply_fn(policy.vf_state.params, observations)


def _smallest_q(policy: Any, observations: Any) -> Any:
    return _q(policy, observations).min(axis=0)  # of [critics, M, 1]


def _mean_quantile(policy: Any, observations: Any) -> Any:
    action = policy._predict(observations, deterministic=True)
    states = (policy.qf1_state, policy.qf2_state)
    both = [state.apply_fn(state.params, observations, action) for state in states]
    return np.stack([np.asarray(quantiles).mean(axis=1) for quantiles in both]).mean(axis=0)


def _largest_q(policy: Any, observations: Any) -> Any:
    return policy.qf_state.apply_fn(policy.qf_state.params, observations).max(axis=1)


def _q(policy: Any, observations: Any) -> Any:
    action = policy._predict(observations, deterministic=True)
    return policy.qf_state.apply_fn(policy.qf_state.params, observations, action)


_CRITICS: tuple[tuple[type, Callable[[Any, Any], Any]], ...] = (
    (ppo.PPOPolicy, _value),
    (sac.SACPolicy, _smallest_q),
    (td3.TD3Policy, _smallest_q),
    (tqc.TQCPolicy, _mean_quantile),
    (dqn.DQNPolicy, _largest_q),
)
