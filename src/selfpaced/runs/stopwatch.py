"""Measure the time that teachers take, and observe the episodes that they learn from."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar, final

from selfpaced.contexts import Gaussian
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.training.simulator import ContextSource
from selfpaced.training.teaching import Teachers, Values

T = TypeVar("T")


@dataclass
class Stopwatch:
    """Adds up seconds."""

    seconds: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add the time spent in this context."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start


@final
@dataclass(frozen=True)
class TimedTeachers(Generic[T]):
    """Teachers whose sampling and updates are timed."""

    teachers: Teachers[T]
    stopwatch: Stopwatch
    observe: Callable[[Sequence[Episodes]], object] = lambda _: None
    """receives the episodes of every update"""

    def init(self) -> tuple[T, ...]:
        """Return the state of every seed before the first iteration."""
        return self.teachers.init()

    def sample(self, iteration: int, states: tuple[T, ...], num: int) -> ContextSource:
        """Draw `num` contexts per seed, and more on demand."""
        with self.stopwatch.running():
            return self.teachers.sample(iteration, states, num)

    def update(
        self, iteration: int, states: tuple[T, ...], episodes: Sequence[Episodes], values: Values
    ) -> tuple[tuple[T, ...], list[Metrics]]:
        """Let every teacher learn."""
        self.observe(episodes)
        with self.stopwatch.running():
            return self.teachers.update(iteration, states, episodes, values)

    def gaussians(self, states: tuple[T, ...]) -> list[Gaussian | None]:
        """Return what contexts are drawn from, where that is a Gaussian."""
        return self.teachers.gaussians(states)

    def particles(self, states: tuple[T, ...]) -> list[Array | None]:
        """Return the particles of every seed, where contexts are represented by them."""
        return self.teachers.particles(states)

    def advice(self, states: tuple[T, ...], num_remaining: int) -> Counter[str]:
        """Return warnings and the number of seeds that each applies to."""
        return self.teachers.advice(states, num_remaining)
