"""Automatic: CURROT with the threshold and the radius that its rules find, and nothing to set.

The rules replace the two settings that CURROT has per problem. The threshold is the middle between
the returns of poor and of good episodes so far. The radius is 5 % of the diagonal of the box, or
more if the target is noisy, in widths of the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.currot import CURROT, CURROTState
from selfpaced.teachers.diagnosis import equal_returns

_CURROT = CURROT()


@final
@dataclass(frozen=True)
class Automatic:
    """Move particles from the whole box to the target, without settings.

    Needs the box, samples of the target, and returns that are higher where the learner does better.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ContextSpace, Samples, Uniform
        >>> from selfpaced.teachers.automatic import Automatic
        >>> contexts = ContextSpace(
        ...     ("slope",), (0.0,), (1.0,),
        ...     Uniform((0.0,), (1.0,)), Samples(np.array([[0.9], [1.0]]))
        ... )
        >>> teacher, rng = Automatic(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.sample(rng, contexts, state, num=8).shape
        (8, 1)
    """

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> CURROTState:
        """Spread the particles uniformly over the box."""
        return _CURROT.init(rng, contexts)

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: CURROTState, num: int
    ) -> Array:
        """Draw particles with a little noise."""
        return _CURROT.sample(rng, contexts, state, num)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: CURROTState,
        episodes: Episodes,
    ) -> tuple[CURROTState, Metrics]:
        """Move the particles."""
        return _CURROT.update(rng, contexts, state, episodes)

    def particles(self, contexts: ContextSpace, state: CURROTState) -> Array:
        """Return the particles."""
        return _CURROT.particles(contexts, state)

    def advice(
        self, contexts: ContextSpace, state: CURROTState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn of too few updates, and of returns that do not tell easy contexts from hard ones."""
        texts = (
            _CURROT.budget_advice(contexts, state, num_remaining, "train longer"),
            equal_returns(int(state.num_episodes), state.memory.threshold),
        )
        return tuple(text for text in texts if text)
