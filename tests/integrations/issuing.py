"""A teacher whose contexts are never the same, and how to tell that all of them were used."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from selfpaced import Curriculum, Episodes
from selfpaced.integrations.context_supply import BATCH_SIZE
from selfpaced.records import Array
from tests.integrations.counting import CONTEXTS


class Place(NamedTuple):
    """Where a context was issued: before which update, in which batch, at which position."""

    num_updates: int
    batch: int
    position: int


def follows(place: Place, following: Place) -> bool:
    """Return whether a context is the next one of its row, or the first after an update."""
    is_next = following == place._replace(position=place.position + 1)
    is_first = following.position == 0
    is_of_later_update = following.num_updates > place.num_updates
    return is_next or (is_first and (is_of_later_update or place.position == BATCH_SIZE - 1))


class Journal:
    """Remembers which contexts a curriculum has issued, and which episodes came back."""

    def __init__(self, curriculum: Curriculum) -> None:
        self.issued: dict[tuple[float, ...], Place] = {}
        self.recorded: list[list[float]] = []
        self._curriculum = curriculum
        self._sample, self._record = curriculum.sample, curriculum.record
        curriculum.sample, curriculum.record = self.sample, self.record  # type: ignore[method-assign]

    def sample(self, num: int) -> Array:
        drawn = self._sample(num)
        for number, context in enumerate(drawn.tolist()):
            batch, position = divmod(number, BATCH_SIZE)
            place = Place(self._curriculum.num_updates, len(self.issued) - number + batch, position)
            self.issued[tuple(context)] = place
        return drawn

    def record(self, **episode: Any) -> None:
        self.recorded.append(episode["context"].tolist())
        self._record(**episode)

    def check(self, seen: list[list[list[float]]]) -> None:
        """Check the contexts that every environment has seen, in order."""
        places = [[self.issued[tuple(context)] for context in row] for row in seen]
        used = [place for row in places for place in row]
        assert len(set(used)) == len(used), "a context is used twice"
        for row in places:
            assert all(follows(*pair) for pair in pairwise(row)), "a context is left out"
        for row in seen:  # every episode but the one in flight is reported, in the order of its row
            reported = [context for context in self.recorded if context in row]
            assert len(row) - 1 <= len(reported) <= len(row)
            assert reported == row[: len(reported)]
        assert all(sum(context in row for row in seen) == 1 for context in self.recorded)


class NoState(NamedTuple):
    """The teacher below does not change."""


@dataclass(frozen=True)
class Drawing:
    """Draws contexts uniformly, and uses values."""

    uses_values = True

    def init(self, rng: np.random.Generator, contexts: Any) -> NoState:
        return NoState()

    def sample(self, rng: np.random.Generator, contexts: Any, state: NoState, num: int) -> Array:
        return CONTEXTS.sample_uniform(rng, num)

    def update(
        self, rng: np.random.Generator, contexts: Any, state: NoState, episodes: Episodes
    ) -> tuple[NoState, dict[str, float]]:
        return state, {"teacher/value": float(episodes.value.mean()) if episodes.num else 0.0}
