"""The trained policy of a run, for use outside this library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from selfpaced.errors import require
from selfpaced.learners.base import policy_of
from selfpaced.records import Array
from selfpaced.runs.folder import RunFolder


def load_policy(
    folder: Path | str, seed: int | None = None, deterministic: bool = True
) -> Callable[[ArrayLike], Array]:
    """The final policy of one seed, from an observation to an action inside the box.

    Without a seed, that of the first one. Observations are those of our Gymnasium environments.
    SPRL always acts with its mean weights.
    """
    run = RunFolder(Path(folder))
    experiment = run.experiment()
    spec, learner = experiment.resolve_problem().spec, experiment.learner
    seed = experiment.seeds[0] if seed is None else seed
    state = final_learner(run, seed)
    rng = np.random.default_rng(seed)

    def act(observation: ArrayLike) -> Array:
        seen = np.asarray(observation, np.float32)
        require(
            seen.shape == (spec.observation_size,),
            f"an observation wants {spec.observation_size} numbers, got shape {seen.shape}",
        )
        noise = np.zeros(spec.action_size, np.float32)
        if not deterministic:
            noise = rng.standard_normal(spec.action_size, np.float32)
        action = np.asarray(act_once(learner, noise, state, seen))
        return np.clip(action, spec.action_low, spec.action_high).astype(np.float32)

    return act


def final_learner(run: RunFolder, seed: int) -> Any:
    """The state of one seed's learner, as arrays on the host."""
    seeds = run.experiment().seeds
    known = ", ".join(map(str, seeds))
    require(seed in seeds, f"{run.path} has the seeds {known}, got {seed}")
    place = seeds.index(seed)
    return jax.tree.map(lambda array: np.asarray(array[place]), run.learner_states())


@partial(jax.jit, static_argnums=0)
def act_once(learner: Any, noise: jax.Array, state: Any, observation: jax.Array) -> jax.Array:
    """The action of one policy, outside training."""
    return policy_of(learner)(noise, state, observation)
