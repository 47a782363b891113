"""Episodes of a policy on the target as pictures, for every problem that can be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from selfpaced.experiment import Experiment
from selfpaced.integrations.host_adapter import HostFace
from selfpaced.integrations.jax_adapter import GymnasiumFace
from selfpaced.learners import EpisodicPolicy
from selfpaced.records import Array
from selfpaced.runs.policies import act_once
from selfpaced.sprl.policy import policy_features
from selfpaced.sprl.weighted_fit import LinearGaussian

Policy = Callable[[Array], Array]
_MARGIN = 4  # pixels around a caption


@dataclass(frozen=True)
class Scene:
    """How an episode on film ended."""

    num_steps: int
    success: bool
    last_picture: Array  # uint8 [height, width, 3]


def open_face(experiment: Experiment, width: int, height: int) -> gymnasium.Env[Any, Any]:
    """The problem of an experiment, ready to be looked at; some pictures have a size of their own.

    How many steps a second has in life is `metadata["render_fps"]`.
    """
    problem = experiment.resolve_problem()
    if experiment.is_hosted:
        return HostFace(problem, "rgb_array", width, height)
    return GymnasiumFace(problem, "rgb_array")


def film_episode(
    face: gymnasium.Env[Any, Any],
    experiment: Experiment,
    learner_state: Any,
    rng: np.random.Generator,
    every: int,
    show: Callable[[Any], object],
    deterministic: bool = False,
    after_step: Callable[[], object] = lambda: None,
) -> Scene:
    """One episode in a target context, with a picture at its start and after `every` so many steps.

    The last picture is not shown but returned: only then is it known how the episode ended.
    """
    problem = experiment.resolve_problem()
    context = problem.contexts.sample_target(rng, 1)[0]
    seed = int(rng.integers(2**31))
    policy = choose_policy(experiment, learner_state, rng, context, deterministic)
    observation, _ = face.reset(seed=seed, options={"context": context})
    show(face.render())
    num_steps, over, success = 0, False, False
    while not over:
        action = np.clip(policy(observation), problem.spec.action_low, problem.spec.action_high)
        observation, _, terminated, truncated, info = face.step(action)
        num_steps, over, success = num_steps + 1, terminated or truncated, info["success"]
        if not over and num_steps % every == 0:
            show(face.render())
        after_step()
    last_picture: Any = face.render()
    return Scene(num_steps, success, last_picture)


def choose_policy(
    experiment: Experiment,
    learner_state: Any,
    rng: np.random.Generator,
    context: Array,
    deterministic: bool,
) -> Policy:
    """How to act in one episode: with new noise in every step, or with weights drawn once."""
    problem, learner = experiment.resolve_problem(), experiment.learner
    size = problem.spec.action_size
    if isinstance(learner, EpisodicPolicy):
        gaussian = LinearGaussian(*(np.asarray(array) for array in learner_state[:2]))
        features = policy_features(context[None])
        drawn = gaussian.mean(features) if deterministic else gaussian.sample(rng, features)
        network = learner.network(problem.spec, problem.contexts.size)
        weights = drawn[0].astype(np.float32)
        return lambda seen: np.asarray(act_once(network, np.zeros(size, np.float32), weights, seen))
    boldness = 0.0 if deterministic else 1.0

    def act(observation: Array) -> Array:
        noise = boldness * rng.standard_normal(size)
        return np.asarray(act_once(learner, noise.astype(np.float32), learner_state, observation))

    return act


def finish_picture(picture: Array, caption: str, size: tuple[int, int]) -> Array:
    """The picture in the size (width, height) wanted, with a caption in its upper left corner."""
    image = Image.fromarray(picture)
    if image.size != size:
        image = image.resize(size, Image.Resampling.LANCZOS)
    pencil, font = ImageDraw.Draw(image), ImageFont.load_default(max(size[1] / 22, 10))
    left, top, right, bottom = pencil.textbbox((2 * _MARGIN, 2 * _MARGIN), caption, font)
    box = (left - _MARGIN, top - _MARGIN, right + _MARGIN, bottom + _MARGIN)
    pencil.rectangle(box, fill="white")
    pencil.text((2 * _MARGIN, 2 * _MARGIN), caption, "#222222", font)
    return np.asarray(image)
