"""The records that cross the seams between environments, learners, teachers and training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.errors import SelfpacedError

Array = NDArray[Any]  # on the host; JAX code uses jax.Array
Scalar = Any  # a NumPy scalar or array of no dimensions
Metrics = dict[str, Any]  # flat, `group/name`, for the human


class Episodes(NamedTuple):
    """Every episode of one seed that ended since the last teacher update, in order, no padding."""

    context: Array  # [E, C]
    first_observation: Array  # [E, O]
    discounted_return: Array  # [E]
    value: Array  # [E]  the learner's estimate at first_observation, after its update
    success: Array  # [E]
    length: Array  # [E]

    @property
    def num(self) -> int:
        """How many episodes ended."""
        return len(self.discounted_return)

    def require_finite(self, where: str) -> None:
        """Say which quantity of which episode is not a number, if any is not."""
        if not self.num:
            return
        for name in ("context", "first_observation", "discounted_return", "value"):
            column = np.asarray(getattr(self, name))
            finite = np.isfinite(column).reshape(len(column), -1).all(axis=1)
            if not finite.all():
                worst = int(np.flatnonzero(~finite)[0])
                raise SelfpacedError(
                    f"{where}: episode {worst} has a {name.replace('_', ' ')} that is not finite "
                    f"({column[worst]}); check the environment's rewards and observations, "
                    "or lower the learning rate"
                )
