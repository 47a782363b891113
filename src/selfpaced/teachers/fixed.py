"""Two teachers without a curriculum: Default (the target) and Random (the whole box)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.records import Array, Episodes, Metrics


class FixedState(NamedTuple):
    """Empty: nothing changes."""


@final
@dataclass(frozen=True)
class Default:
    """Draw contexts from the target distribution: no curriculum.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ContextSpace, Default, Gaussian
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = Default(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> bool((teacher.sample(rng, contexts, state, num=8) > 0.5).all())
        True
    """

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> FixedState:
        """Return the empty state."""
        return FixedState()

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: FixedState, num: int
    ) -> Array:
        """Draw from the target, inside the box."""
        return contexts.sample_target(rng, num)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: FixedState,
        episodes: Episodes,
    ) -> tuple[FixedState, Metrics]:
        """Change nothing."""
        contexts.check_episodes(episodes)
        return state, {}

    def gaussian(self, contexts: ContextSpace, state: FixedState) -> Gaussian | None:
        """Return the target if it is a Gaussian."""
        return contexts.target if isinstance(contexts.target, Gaussian) else None


@final
@dataclass(frozen=True)
class Random:
    """Draw contexts uniformly from the box.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ContextSpace, Gaussian, Random
        >>> flat, steep = Gaussian.diagonal((0.0,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = Random(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.sample(rng, contexts, state, num=8).shape
        (8, 1)
    """

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> FixedState:
        """Return the empty state."""
        return FixedState()

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: FixedState, num: int
    ) -> Array:
        """Draw uniformly from the box."""
        return contexts.sample_uniform(rng, num)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: FixedState,
        episodes: Episodes,
    ) -> tuple[FixedState, Metrics]:
        """Change nothing."""
        contexts.check_episodes(episodes)
        return state, {}
