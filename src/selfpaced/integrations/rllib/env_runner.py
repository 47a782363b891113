"""What happens inside RLlib's env runners: contexts arrive, and episodes are kept until collected.

The functions run in the process of the runner that they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tree
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from selfpaced.integrations.curriculum_env import RECORD_KEY
from selfpaced.integrations.curriculum_vector_env import curriculum_rows
from selfpaced.records import Array

Record = dict[str, Any]  # the arguments of `Curriculum.record`

_RECORDS = "selfpaced_records"  # attribute of a runner


class RunnerReport(NamedTuple):
    """The state of a runner, and the episodes that have ended in it since the last report."""

    worker_index: int
    num_envs: int
    has_curriculum_envs: bool
    num_unused: int  # contexts, of the environment with fewest
    records: list[Record]


def report(runner: SingleAgentEnvRunner) -> RunnerReport | None:
    """Hand over the episodes of a runner; return None if it has no environments."""
    if runner.env is None:
        return None
    rows = curriculum_rows(runner.env)
    num_unused = 0 if rows is None else min(map(len, rows.get_attr("next_contexts")))
    records = vars(runner).pop(_RECORDS, [])
    return RunnerReport(
        runner.worker_index, runner.env.num_envs, rows is not None, num_unused, records
    )


def supply(runner: SingleAgentEnvRunner, batches: dict[int, list[Array]], discount: float) -> None:
    """Replace the unused contexts of a runner by its entry of the batches, one per environment."""
    if runner.env is None or runner.worker_index not in batches:
        return
    rows = curriculum_rows(runner.env)
    if rows is not None:
        rows.set_attr("next_contexts", batches[runner.worker_index])
        rows.set_attr("discount", discount)


def keep_record(
    runner: SingleAgentEnvRunner,
    episode: SingleAgentEpisode,
    previous_chunks: Sequence[SingleAgentEpisode],
) -> None:
    """Keep the record of an episode that has ended in a context of the curriculum."""
    record = episode.get_infos(-1).get(RECORD_KEY)
    if record is None:  # the context came from the target, as in evaluations
        return
    # connectors write the observations that they make for the module into the episode
    first = [*previous_chunks, episode][0].get_observations(0)
    flat = np.concatenate([np.ravel(part) for part in tree.flatten(first)])
    vars(runner).setdefault(_RECORDS, []).append({**record, "first_observation": flat})
