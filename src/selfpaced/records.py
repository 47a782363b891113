"""Records exchanged between environments, learners, teachers and training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.errors import SelfpacedError

Array = NDArray[Any]  # on the host; code that runs in JAX uses jax.Array
Metrics = dict[str, float]  # flat, `group/name`


class Spec(NamedTuple):
    """Sizes, bounds and discount that a learner is built from; hashable, a key of compiled code."""

    observation_size: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    discount: float

    @property
    def action_size(self) -> int:
        """Number of action components."""
        return len(self.action_low)


class Episodes(NamedTuple):
    """The episodes of one seed that ended since the last update of its teacher, in order.

    A teacher gets no other information about the progress of learning.

    Example:
        >>> import numpy as np
        >>> from selfpaced import Episodes
        >>> episodes = Episodes(
        ...     context=np.array([[0.5], [0.9]]),
        ...     first_observation=np.zeros((2, 4)),
        ...     discounted_return=np.array([3.0, 1.0]),
        ...     value=np.array([2.5, 1.5]),
        ...     success=np.array([True, False]),
        ...     length=np.array([20, 100]),
        ... )
        >>> episodes.context[episodes.success]
        array([[0.5]])
    """

    context: Array  # [E, C]
    first_observation: Array  # [E, O]
    discounted_return: Array  # [E]
    value: Array  # [E]  the learner's estimate at first_observation, after its update
    success: Array  # [E]
    length: Array  # [E]

    @property
    def num(self) -> int:
        """Number of episodes."""
        return len(self.discounted_return)

    def require_finite(self, where: str) -> None:
        """Raise `SelfpacedError` naming the first quantity that is not finite."""
        if not self.num:
            return
        for name in ("context", "first_observation", "discounted_return", "value"):
            column = np.asarray(getattr(self, name))
            finite = np.isfinite(column).reshape(len(column), -1).all(axis=1)
            if not finite.all():
                worst = int(np.flatnonzero(~finite)[0])
                raise SelfpacedError(
                    f"{where}: {name.replace('_', ' ')} of episode {worst} must be finite, got "
                    f"{column[worst]}; check the environment's rewards and observations, "
                    "or lower the learning rate"
                )
