"""The teachers of a block of seeds: the place where a teacher's optional abilities are used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, final

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.advice import advice_of
from selfpaced.teachers.base import (
    HasGaussian,
    HasParticles,
    ReusesEpisodes,
    Teacher,
    UpdatesBlocks,
)
from selfpaced.teachers.border import checked_init, checked_sample, checked_state, checked_update
from selfpaced.training.failures import SeedError, cause_of, for_each_seed
from selfpaced.training.simulator import ContextSource
from selfpaced.training.streams import Purpose, host_stream

T = TypeVar("T")
R = TypeVar("R")
Values = Callable[[Sequence[Array]], list[Array]]  # observations of every seed -> their values


class Teachers(Protocol[T]):
    """The teachers of several seeds that advance together."""

    def init(self) -> tuple[T, ...]:
        """Return the state of every seed before the first iteration."""

    def sample(self, iteration: int, states: tuple[T, ...], num: int) -> ContextSource:
        """Draw `num` contexts per seed, and more on demand."""

    def update(
        self, iteration: int, states: tuple[T, ...], episodes: Sequence[Episodes], values: Values
    ) -> tuple[tuple[T, ...], list[Metrics]]:
        """Let every teacher learn; `values` estimates observations with the current learner."""

    def gaussians(self, states: tuple[T, ...]) -> list[Gaussian | None]:
        """Return what contexts are drawn from, where that is a Gaussian."""

    def particles(self, states: tuple[T, ...]) -> list[Array | None]:
        """Return the particles of every seed, where contexts are represented by them."""

    def advice(self, states: tuple[T, ...], num_remaining: int) -> Counter[str]:
        """Return warnings and the number of seeds that each applies to."""


AnyTeachers = Teachers[Any]


@final
@dataclass(frozen=True)
class TeacherBlock(Generic[T]):
    """One teacher with a state for every seed."""

    teacher: Teacher[T]
    contexts: ContextSpace
    seeds: tuple[int, ...]

    def init(self) -> tuple[T, ...]:
        """Return the state of every seed before the first iteration."""
        rngs, teacher = self._rngs(0, Purpose.INIT), self.teacher
        return tuple(
            self._for_each_seed(
                lambda index: checked_init(teacher, teacher.init(rngs[index], self.contexts))
            )
        )

    def sample(self, iteration: int, states: tuple[T, ...], num: int) -> ContextSource:
        """Draw `num` contexts per seed, and more on demand."""

        def draw(rng: np.random.Generator, state: T) -> Array:
            drawn = self.teacher.sample(rng, self.contexts, state, num)
            return checked_sample(self.teacher, self.contexts, drawn, num)

        rngs = self._rngs(iteration, Purpose.SAMPLE)
        first = self._for_each_seed(lambda index: draw(rngs[index], states[index]))
        more: dict[int, np.random.Generator] = {}

        def draw_more(index: int) -> Array:
            if index not in more:
                more[index] = host_stream(self.seeds[index], iteration, Purpose.SAMPLE_MORE)
            try:
                return draw(more[index], states[index])
            except (Exception, SystemExit) as error:
                raise SeedError({index: cause_of("teacher", error)}) from error

        return ContextSource(np.stack(first), draw_more)

    def update(
        self, iteration: int, states: tuple[T, ...], episodes: Sequence[Episodes], values: Values
    ) -> tuple[tuple[T, ...], list[Metrics]]:
        """Let every teacher learn, all seeds at once if it can."""
        rngs, teacher = self._rngs(iteration, Purpose.UPDATE), self.teacher
        states = self._revalued(states, values)

        def update_one(index: int) -> tuple[T, Metrics]:
            updated = teacher.update(rngs[index], self.contexts, states[index], episodes[index])
            state, metrics = checked_update(teacher, updated)
            return checked_state(teacher, states[index], state), metrics

        if isinstance(teacher, UpdatesBlocks):
            try:
                updated = teacher.update_block(rngs, self.contexts, states, episodes)
            except (Exception, SystemExit):  # of which seed, only single updates show
                rngs = self._rngs(iteration, Purpose.UPDATE)
                updated = self._for_each_seed(update_one)
        else:
            updated = self._for_each_seed(update_one)
        return tuple(state for state, _ in updated), [metrics for _, metrics in updated]

    def gaussians(self, states: tuple[T, ...]) -> list[Gaussian | None]:
        """Return what contexts are drawn from, where that is a Gaussian."""
        teacher = self.teacher
        if not isinstance(teacher, HasGaussian):
            return [None] * len(states)
        return self._for_each_seed(lambda index: teacher.gaussian(self.contexts, states[index]))

    def particles(self, states: tuple[T, ...]) -> list[Array | None]:
        """Return the particles of every seed, where contexts are represented by them."""
        teacher = self.teacher
        if not isinstance(teacher, HasParticles):
            return [None] * len(states)
        return self._for_each_seed(lambda index: teacher.particles(self.contexts, states[index]))

    def advice(self, states: tuple[T, ...], num_remaining: int) -> Counter[str]:
        """Return warnings and the number of seeds that each applies to."""
        given = self._for_each_seed(
            lambda index: advice_of(self.teacher, self.contexts, states[index], num_remaining)
        )
        return Counter(text for one in given for text in one)

    def _for_each_seed(self, call: Callable[[int], R]) -> list[R]:
        return for_each_seed(len(self.seeds), "teacher", call)

    def _rngs(self, iteration: int, purpose: Purpose) -> list[np.random.Generator]:
        return [host_stream(seed, iteration, purpose) for seed in self.seeds]

    def _revalued(self, states: tuple[T, ...], values: Values) -> tuple[T, ...]:
        """Remembered episodes, valued by the learner as it is now."""
        teacher = self.teacher
        if not isinstance(teacher, ReusesEpisodes):
            return states
        remembered = [teacher.remembered(state) for state in states]
        if not any(map(len, remembered)):
            return states
        return tuple(map(teacher.revalued, states, values(remembered)))
