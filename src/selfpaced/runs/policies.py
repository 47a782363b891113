"""The trained policy of a run, for use outside this library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from numpy.typing import ArrayLike

from selfpaced.errors import require
from selfpaced.learners.base import Policy
from selfpaced.records import Array
from selfpaced.runs.folder import RunFolder

S = TypeVar("S")


def load_policy(
    folder: Path | str, seed: int | None = None, deterministic: bool = True
) -> Callable[[ArrayLike], Array]:
    """Return the final policy of one seed: a function from an observation to a legal action.

    Args:
        folder: the run folder.
        seed: which of its seeds; None takes the first.
        deterministic: act without noise. SPRL always acts with its mean weights.

    Returns:
        A function of one observation, as our Gymnasium environments give them.

    Raises:
        SelfpacedError: the folder is not a run folder, or has no such seed.

    Example:
        >>> import gymnasium
        >>> from selfpaced import load_policy
        >>> environment = gymnasium.make("selfpaced/PointMass3D-v0")
        >>> observation, info = environment.reset(seed=0, options={"context": (2.0, 1.0, 0.0)})
        >>> act = load_policy("runs/point-mass-3d-spdl-ppo", seed=1)
        >>> environment.action_space.contains(act(observation))
        True
    """
    run = RunFolder(Path(folder))
    experiment = run.experiment()
    spec, policy = experiment.resolved.spec, experiment.method.policy
    seed = experiment.seeds[0] if seed is None else seed
    state = jax.tree.map(lambda array: array[0], final_learners(run, (seed,)))
    rng = np.random.default_rng(seed)

    def act(observation: ArrayLike) -> Array:
        observed = np.asarray(observation, np.float32)
        require(
            observed.shape == (spec.observation_size,),
            f"observation must have shape ({spec.observation_size},), got {observed.shape}",
        )
        noise = np.zeros(spec.action_size, np.float32)
        if not deterministic:
            noise = rng.standard_normal(spec.action_size, np.float32)
        action = np.asarray(_act_once(policy, noise, state, observed))
        legal: Array = np.clip(action, spec.action_low, spec.action_high)
        return legal.astype(np.float32)

    return act


def final_learners(run: RunFolder, seeds: tuple[int, ...]) -> Any:
    """Return the learners of some seeds, as arrays on the host with a leading axis of seeds."""
    known = run.experiment().seeds
    for seed in seeds:
        names = ", ".join(map(str, known))
        require(seed in known, f"seed must be one of {names} in {run.path}, got {seed}")
    places = [known.index(seed) for seed in seeds]
    return jax.tree.map(lambda array: np.asarray(array)[places], run.learner_states())


@partial(jax.jit, static_argnums=0)
def _act_once(
    policy: Policy[S], noise: jax.typing.ArrayLike, state: S, observation: jax.typing.ArrayLike
) -> jax.Array:
    return policy.policy(noise, state, observation)  # type: ignore[arg-type]
