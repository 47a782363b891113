"""Fresh episodes of the final policies on the target, for problems simulated outside JAX."""

from __future__ import annotations

from selfpaced.errors import require
from selfpaced.runs.folder import RunFolder
from selfpaced.training.episodes_host import HostEpisodes
from selfpaced.training.host import HostTraining
from selfpaced.training.streams import Purpose


def run_target_episodes(
    folder: RunFolder, num_episodes: int, keep_path: bool = False
) -> HostEpisodes:
    """So many stochastic episodes [S, 1, M] of a run, the same ones every time."""
    experiment = folder.experiment()
    training = experiment.training(experiment.seeds)
    require(
        isinstance(training, HostTraining), f"{experiment.problem} is not simulated outside JAX"
    )
    assert isinstance(training, HostTraining)
    iteration = folder.summary()["iterations"]
    states = folder.learner_states()
    return training.target_episodes(
        states, iteration, num_episodes, Purpose.REPORT, boldness=(1.0,), keep_path=keep_path
    )
