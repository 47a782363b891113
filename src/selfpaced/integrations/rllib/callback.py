"""A callback that gives the env runners of an RLlib algorithm the contexts of a curriculum.

RLlib makes one callback for the algorithm and one for every env runner. The teacher is in the
algorithm's process. At the end of every iteration, it gets the episodes of all runners and sends
each of their environments as many contexts as the next iteration can use.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, final

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.env.env_runner_group import EnvRunnerGroup
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedWarning, require
from selfpaced.integrations.context_supply import BATCH_SIZE, RESERVE
from selfpaced.integrations.curriculum import AnyCurriculum, Curriculum
from selfpaced.integrations.plain_state import Plain
from selfpaced.integrations.rllib.checkpoint import add_to_checkpoints
from selfpaced.integrations.rllib.env_runner import RunnerReport, keep_record, report, supply
from selfpaced.integrations.rllib.learner_values import value_function
from selfpaced.records import Metrics
from selfpaced.teachers.base import Teacher

MAX_BATCH_SIZE = 1024  # contexts that an environment gets, unless it has needed more before
RESULT_KEY = "curriculum"  # in the result of an iteration


@final
class CurriculumCallback(RLlibCallback):
    """Trains an algorithm with a curriculum; made by `curriculum_callbacks`."""

    def __init__(
        self, teacher: Teacher[Any], contexts: ContextSpace, seed: int, min_episodes: int
    ) -> None:
        super().__init__()
        self._settings = (teacher, contexts, seed)
        self._min_episodes = min_episodes
        self._batch_size = 0
        self._metrics: Metrics = {}  # of the latest update
        self.curriculum: AnyCurriculum | None = None  # None in env runners

    def on_algorithm_init(self, *, algorithm: Algorithm, **kwargs: Any) -> None:
        """Send the first contexts, and make the curriculum part of checkpoints."""
        require(
            algorithm.config.enable_env_runner_and_connector_v2,
            "RLlib must run on its new API stack; remove config.api_stack(...)",
        )
        reports = _reports(algorithm)
        require(
            all(each.has_curriculum_envs for each in reports),
            "environments of config.environment(...) must be wrapped in CurriculumEnv; return "
            "CurriculumEnv(gymnasium.make(...), contexts) from the function that makes them",
        )
        self.curriculum = Curriculum(*self._settings)
        self._batch_size = _batch_size(algorithm.config)
        self._supply(algorithm, reports)
        add_to_checkpoints(
            algorithm, self.curriculum.state_dict, partial(self._load, algorithm=algorithm)
        )

    def on_episode_end(
        self,
        *,
        episode: SingleAgentEpisode,
        prev_episode_chunks: Sequence[SingleAgentEpisode] = (),
        env_runner: SingleAgentEnvRunner,
        **kwargs: Any,
    ) -> None:
        """Keep the episode in its runner until the end of the iteration."""
        keep_record(env_runner, episode, prev_episode_chunks)

    def on_train_result(
        self, *, algorithm: Algorithm, result: dict[str, Any], **kwargs: Any
    ) -> None:
        """Record the episodes of the iteration, update the teacher, and send contexts."""
        curriculum = self._known_curriculum()
        reports = _reports(algorithm)
        for each in reports:
            for record in each.records:
                curriculum.record(**record)
        if curriculum.num_recorded >= self._min_episodes:
            observation_size = curriculum.first_observations.shape[1]
            self._metrics = curriculum.update(value_function(algorithm, observation_size))
        self._enlarge(min((each.num_unused for each in reports), default=1))
        self._supply(algorithm, reports)
        counts = {"num_updates": curriculum.num_updates, "num_recorded": curriculum.num_recorded}
        result[RESULT_KEY] = {**counts, **self._metrics}

    def on_env_runners_recreated(
        self,
        *,
        algorithm: Algorithm,
        env_runner_group: EnvRunnerGroup,
        env_runner_indices: list[int],
        is_evaluation: bool,
        **kwargs: Any,
    ) -> None:
        """Send contexts to training runners that have been started again."""
        if not is_evaluation:
            restarted = [
                each for each in _reports(algorithm) if each.worker_index in env_runner_indices
            ]
            self._supply(algorithm, restarted)

    def on_evaluate_start(self, *, algorithm: Algorithm, **kwargs: Any) -> None:
        """Require runners for evaluation, since those for training have training contexts."""
        require(
            algorithm.eval_env_runner_group is not None,
            "evaluation must have env runners of its own, which draw contexts from the target; set "
            "config.evaluation(evaluation_interval=...) before the algorithm is built",
        )

    def _known_curriculum(self) -> AnyCurriculum:
        assert self.curriculum is not None  # since `on_algorithm_init`
        return self.curriculum

    def _supply(self, algorithm: Algorithm, reports: list[RunnerReport]) -> None:
        """Send new contexts in place of unused ones, in the order in which they were drawn."""
        num_envs = sum(each.num_envs for each in reports)
        if not num_envs:
            return
        drawn = self._known_curriculum().sample(num_envs * self._batch_size)
        per_env = iter([drawn[row::num_envs] for row in range(num_envs)])
        batches = {
            each.worker_index: [next(per_env) for _ in range(each.num_envs)] for each in reports
        }
        algorithm.env_runner_group.foreach_env_runner(
            partial(supply, batches=batches, discount=algorithm.config.gamma)
        )

    def _enlarge(self, num_unused: int) -> None:
        """Send more contexts from now on if an environment has used more than half of its own."""
        if not num_unused:
            warnings.warn(
                f"an environment has used all {self._batch_size} contexts of an iteration and may "
                "have repeated some; from now on it gets twice as many",
                SelfpacedWarning,
                stacklevel=2,
            )
        self._batch_size = max(self._batch_size, 2 * (self._batch_size - num_unused))

    def _load(self, saved: Plain, algorithm: Algorithm) -> None:
        self._known_curriculum().load_state_dict(saved)
        self._supply(algorithm, _reports(algorithm))


def _reports(algorithm: Algorithm) -> list[RunnerReport]:
    """Return the reports of the training runners that have environments, in their order."""
    reports = algorithm.env_runner_group.foreach_env_runner(report)
    found = [each for each in reports if each is not None]
    return sorted(found, key=lambda each: each.worker_index)


def _batch_size(config: AlgorithmConfig) -> int:
    """Return how many contexts an environment can use in an iteration: one per step."""
    if config.min_time_s_per_iteration:  # the number of steps is unknown
        return MAX_BATCH_SIZE
    num_envs = config.num_envs_per_env_runner * max(config.num_env_runners, 1)
    num_steps = max(
        config.get_rollout_fragment_length(),
        math.ceil((config.min_sample_timesteps_per_iteration or 0) / num_envs),
    )
    return min(max(num_steps + RESERVE, BATCH_SIZE), MAX_BATCH_SIZE)
