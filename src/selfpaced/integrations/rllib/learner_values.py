"""Values of first observations, estimated by the learners of an RLlib algorithm.

Env runners have no critic; the learner group does.

| module | value |
|---|---|
| `ValueFunctionAPI`, as in PPO, APPO and IMPALA | the critic |
| SAC with continuous actions | the smaller Q of the twins, at the policy's mean action |
| others, and modules with a recurrent state | none |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.sac.default_sac_rl_module import DefaultSACRLModule
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchSquashedGaussian
from ray.rllib.core.learner.learner import Learner
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.utils.spaces.space_utils import batch
from ray.rllib.utils.torch_utils import convert_to_torch_tensor

from selfpaced.records import Array


def value_function(algorithm: Algorithm, observation_size: int) -> Callable[[Array], Array] | None:
    """Return a function of flat observations [M, O], or None if the algorithm has no such values.

    Args:
        algorithm: an algorithm with one module.
        observation_size: O, which differs from the module's if a connector has changed
            observations on their way to the module, but not in the episodes.
    """
    if not _first(algorithm, _can_estimate, observation_size):
        return None
    return lambda observations: np.asarray(_first(algorithm, _estimates, observations))


def _first(algorithm: Algorithm, function: Callable[[Learner, Any], Any], argument: Any) -> Any:
    """Return the function's result of the first learner; all learners have the same weights."""
    results = algorithm.learner_group.foreach_learner(
        lambda learner: function(learner, argument), remote_actor_ids=[0]
    )
    return next(iter(results)).get()


def _can_estimate(learner: Learner, observation_size: int) -> bool:
    module = learner.module[DEFAULT_MODULE_ID].unwrapped()
    is_known = isinstance(module, ValueFunctionAPI) or _is_continuous_sac(module)
    size = spaces.flatdim(module.observation_space)
    return bool(is_known and not module.is_stateful() and size == observation_size)


def _is_continuous_sac(module: RLModule) -> bool:
    return (
        isinstance(module, DefaultSACRLModule)
        and module.get_inference_action_dist_cls() is TorchSquashedGaussian
    )


def _estimates(learner: Learner, observations: Array) -> Array:
    import torch

    module = learner.module[DEFAULT_MODULE_ID].unwrapped()
    rows = [spaces.unflatten(module.observation_space, row) for row in observations]
    inputs = {Columns.OBS: convert_to_torch_tensor(batch(rows), device=learner.device)}
    with torch.no_grad():
        if isinstance(module, ValueFunctionAPI):
            estimates = module.compute_values(inputs)
        else:
            logits = module.forward_inference(inputs)[Columns.ACTION_DIST_INPUTS]
            # `to_deterministic` of this distribution returns the mean without squashing it
            actions = TorchSquashedGaussian.from_logits(logits).loc.tanh()
            estimates = module.compute_q_values({**inputs, Columns.ACTIONS: actions})
    found: Array = estimates.cpu().numpy()
    return found
