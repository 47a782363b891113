"""Advice of teachers in loops outside the library: each kind once, as a Python warning.

Texts of one kind differ in digits only; see `diagnosis.py`.
"""

from __future__ import annotations

import re
import warnings
from typing import Generic, TypeVar, final

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedWarning
from selfpaced.teachers.base import GivesAdvice, Teacher

S = TypeVar("S")

EVERY = 10  # updates between two looks at the state
FOREVER = 10**9  # remaining updates of a loop without a known end


def advice_of(
    teacher: Teacher[S], contexts: ContextSpace, state: S, num_remaining: int
) -> tuple[str, ...]:
    """Return the warnings of a teacher, none if it does not give advice."""
    return (
        teacher.advice(contexts, state, num_remaining) if isinstance(teacher, GivesAdvice) else ()
    )


def kind_of(text: str) -> str:
    """Return what texts of one kind have in common."""
    return re.sub(r"\d+", "", text)


@final
class AdviceGiver(Generic[S]):
    """Warns with the advice of a teacher, each kind once.

    Args:
        teacher: the teacher; one without advice never warns.
        contexts: its context space.
        num_updates: updates in all, if known; without it, there are never too few.

    Examples:
        >>> import warnings
        >>> import numpy as np
        >>> from selfpaced import SPDL, ContextSpace, Gaussian
        >>> from selfpaced.teachers.advice import AdviceGiver
        >>> easy, hard = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=easy, target=hard)
        >>> teacher = SPDL()
        >>> state = teacher.init(np.random.default_rng(0), contexts)
        >>> giver = AdviceGiver(teacher, contexts, num_updates=20)
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     giver.warn(state)
        ...     giver.warn(state)
        >>> [str(warning.message)[:47] for warning in caught]
        ['20 remaining iterations cannot reach the target']
    """

    def __init__(
        self, teacher: Teacher[S], contexts: ContextSpace, num_updates: int | None = None
    ) -> None:
        self._teacher, self._contexts = teacher, contexts
        self._num_updates = FOREVER if num_updates is None else num_updates
        self._given: set[str] = set()
        self._num_calls = 0

    def new(self, state: S) -> tuple[str, ...]:
        """Return the advice that has not been given yet; call once per update."""
        self._num_calls += 1
        num_past = self._num_calls - 1
        if num_past % EVERY:
            return ()
        num_remaining = max(self._num_updates - num_past, 0)
        texts = []
        for text in advice_of(self._teacher, self._contexts, state, num_remaining):
            if kind_of(text) not in self._given:
                self._given.add(kind_of(text))
                texts.append(text)
        return tuple(texts)

    def warn(self, state: S, stacklevel: int = 2) -> None:
        """Raise Python warnings of the category `SelfpacedWarning` for new advice."""
        for text in self.new(state):
            warnings.warn(text, SelfpacedWarning, stacklevel=stacklevel)
