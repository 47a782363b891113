"""Records exchanged between environments, learners, teachers and training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.errors import SelfpacedError

Array = NDArray[Any]  # on the host; code that runs in JAX uses jax.Array
Metrics = dict[str, float]  # flat, `group/name`


class Spec(NamedTuple):
    """Sizes, bounds and discount that a learner is built from; hashable, a key of compiled code."""

    observation_size: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    discount: float
    has_discrete_actions: bool = False  # whole numbers from low to high, both included

    @property
    def action_size(self) -> int:
        """Number of action components."""
        return len(self.action_low)

    @property
    def num_choices(self) -> tuple[int, ...]:
        """Number of whole numbers that each component of a discrete action can take."""
        bounds = zip(self.action_low, self.action_high, strict=True)
        return tuple(round(high - low) + 1 for low, high in bounds)

    @property
    def noise_size(self) -> int:
        """Standard normals per action: one per component, or per choice of a discrete one."""
        return sum(self.num_choices) if self.has_discrete_actions else self.action_size


class Episodes(NamedTuple):
    """The episodes of one seed that ended since the last update of its teacher, in order.

    A teacher gets no other information about the progress of learning.

    Examples:
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

    def checked(self, names: Sequence[str], box: Array | None) -> Episodes:
        """Return the episodes as NumPy arrays; `ContextSpace.check_episodes` fills the arguments.

        Args:
            names: the components of a context.
            box: lower and upper bounds [2, C] of contexts; None allows every finite context.

        Raises:
            SelfpacedError: a column has another shape than the contexts or is not numeric, a number
                is not finite, a context lies outside the box, a success is neither true nor false,
                or a length is not positive.
        """
        columns = Episodes(*map(_numeric, self._fields, self))
        context, first_observation, discounted_return, value, success, length = columns
        num, size = len(context) if context.ndim else 0, len(names)
        if context.shape != (num, size):
            if context.size or discounted_return.size:
                raise SelfpacedError(
                    f"context of the episodes must have shape [episodes, {size}] for "
                    f"{', '.join(names)}, got {list(context.shape)}; give one row per episode"
                )
            columns, num = columns._replace(context=context.reshape(0, size)), 0
        for name, column in zip(self._fields[1:], columns[1:], strict=True):
            shape = column.shape[:1] if name == "first_observation" else column.shape
            if shape != (num,):
                raise SelfpacedError(
                    f"{_spoken(name)} must have one entry for each of {num} contexts, got shape "
                    f"{list(column.shape)}; give all columns one row per episode"
                )
        if num:
            _require_finite("first_observation", first_observation)
            _require_finite("discounted_return", discounted_return)
            _require_finite("value", value)
            _require_inside(context, names, box)
            if success.dtype != bool:
                is_boolean = (success == 0) | (success == 1)
                _require_all("success", success, is_boolean, "true or false", "give True or False")
            if not 0 < length.min() <= length.max() < np.inf:
                is_positive = (length > 0) & np.isfinite(length)
                _require_all("length", length, is_positive, "positive", "count the steps")
        return columns


def _numeric(name: str, column: ArrayLike) -> Array:
    try:
        array = np.asarray(column)
    except ValueError:  # rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        if not array.size and array.dtype != object:
            return np.zeros(array.shape)  # of any type: a cast might warn
        raise SelfpacedError(
            f"{_spoken(name)} must be an array of numbers, got {type(column).__name__} of "
            f"{array.dtype}; stack the episodes with numpy.array"
        )
    return array


def _spoken(name: str) -> str:
    return f"{name.replace('_', ' ')} of the episodes"


def _require_finite(name: str, column: Array) -> None:
    if not np.logical_and.reduce(np.isfinite(column), axis=None):
        remedy = "check the environment's rewards and observations, or lower the learning rate"
        _require_all(name, column, np.isfinite(column), "finite", remedy)


def _require_inside(context: Array, names: Sequence[str], box: Array | None) -> None:
    if box is None:
        _require_finite("context", context)
        return
    inside = (context >= box[0]) & (context <= box[1])  # false for NaN
    if not np.logical_and.reduce(inside, axis=None):
        episode, component = np.argwhere(~inside)[0]
        low, high = box[:, component]
        raise SelfpacedError(
            f"context component {names[component]!r} must lie in [{low:g}, {high:g}], got "
            f"{context[episode, component]:.9g} in episode {episode}; give the contexts that "
            "sample has returned"
        )


def _require_all(name: str, column: Array, fits: Array, condition: str, remedy: str) -> None:
    """Raise an error that names the first episode that does not fit."""
    bad = np.flatnonzero(~fits.reshape(len(fits), -1).all(axis=1))
    if len(bad):
        raise SelfpacedError(
            f"{_spoken(name)} must be {condition}, got {column[bad[0]]} in episode {bad[0]}; "
            f"{remedy}"
        )
