"""The entry point of RLlib's integration, importable without RLlib."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.integrations.curriculum import Curriculum
from selfpaced.teachers.base import Teacher
from selfpaced.validation import require_extra

if TYPE_CHECKING:
    from selfpaced.integrations.rllib.callback import CurriculumCallback

S = TypeVar("S")


def curriculum_callbacks(
    teacher: Teacher[S], contexts: ContextSpace, seed: int = 0, *, min_episodes: int = 20
) -> Callable[[], CurriculumCallback]:
    """Return what `AlgorithmConfig.callbacks` takes to train an algorithm with a curriculum.

    The environments must have `CurriculumEnv` among their wrappers. Together with callbacks of
    your own, give a list: `config.callbacks([curriculum_callbacks(...), MyCallbacks])`.

    Args:
        teacher: settings of a teacher, as `SPDL()`.
        contexts: the box of contexts, where to start in it, and where to arrive.
        seed: of the curriculum's random numbers.
        min_episodes: the teacher is updated at the end of an iteration if at least so many
            episodes have ended since its last update.

    Raises:
        MissingPartError: RLlib is not installed.
        SelfpacedError: the teacher does not fit the contexts.

    Examples:
        >>> from ray.rllib.algorithms.ppo import PPOConfig
        >>> from selfpaced import SPDL, ContextSpace, Gaussian
        >>> from selfpaced.integrations.rllib import curriculum_callbacks
        >>> light, heavy = Gaussian.diagonal((1.0,), (0.1,)), Gaussian.diagonal((3.0,), (0.1,))
        >>> contexts = ContextSpace(("mass",), (0.5,), (4.0,), initial=light, target=heavy)
        >>> config = PPOConfig().callbacks(curriculum_callbacks(SPDL(), contexts))
    """
    require_extra("rllib", "ray.rllib", "curriculum_callbacks")
    from selfpaced.integrations.rllib.callback import CurriculumCallback

    Curriculum(teacher, contexts, seed)  # raises here, not while an algorithm is built
    require(
        isinstance(min_episodes, int) and min_episodes > 0,
        f"min_episodes must be a positive whole number, got {min_episodes!r}",
    )
    return partial(CurriculumCallback, teacher, contexts, seed, min_episodes)
