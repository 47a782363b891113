"""A teacher that notes what it has issued and what came back, in the process of the algorithm."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from selfpaced import Episodes
from selfpaced.records import Array
from tests.integrations.counting import CONTEXTS

Seen = list[list[float]]  # the contexts of one environment, in order
issued: list[Array] = []  # one batch [num_envs * N, C] per call of `sample`
recorded: list[Episodes] = []  # one entry per update


class NoState(NamedTuple):
    """The teacher does not change."""


@dataclass(frozen=True)
class Noting:
    """Draws contexts uniformly, and uses values."""

    uses_values = True

    def init(self, rng: np.random.Generator, contexts: Any) -> NoState:
        return NoState()

    def sample(self, rng: np.random.Generator, contexts: Any, state: NoState, num: int) -> Array:
        issued.append(CONTEXTS.sample_uniform(rng, num))
        return issued[-1]

    def update(
        self, rng: np.random.Generator, contexts: Any, state: NoState, episodes: Episodes
    ) -> tuple[NoState, dict[str, float]]:
        recorded.append(episodes)
        return state, {"teacher/value": float(episodes.value.mean())}


def forget() -> None:
    issued.clear()
    recorded.clear()


def recorded_contexts() -> Seen:
    return [context for episodes in recorded for context in episodes.context.tolist()]


def check_used_in_order(seen: Seen, env_number: int, num_envs: int) -> None:
    """Check that an environment has used the beginning of every batch, and nothing else."""
    batches = [batch[env_number::num_envs].tolist() for batch in issued]
    places = [
        next(
            (number, batch.index(context))
            for number, batch in enumerate(batches)
            if context in batch
        )
        for context in seen
    ]
    assert places[0] == (0, 0)
    for (batch, position), following in pairwise(places):
        is_next = following == (batch, position + 1)
        assert is_next or (following[0] > batch and following[1] == 0)
