"""A teacher bound to its contexts, state and random stream, for training loops of other libraries.

Random numbers are derived from (seed, number of updates, purpose, number of the call), so the
state of a curriculum has no random stream in it, and a restored one continues bit-identically.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.contexts import ContextSpace, real_contexts
from selfpaced.errors import SelfpacedWarning, require
from selfpaced.integrations.plain_state import Plain, from_plain, to_plain
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.advice import AdviceGiver
from selfpaced.teachers.base import ReusesEpisodes, Teacher, UsesValues
from selfpaced.teachers.border import (
    checked_init,
    checked_sample,
    checked_state,
    checked_update,
    may_leave_box,
)
from selfpaced.validation import is_real

S = TypeVar("S")
ValueFunction = Callable[[Array], ArrayLike]  # first observations [M, O] -> values [M]

FORMAT = 1  # of `state_dict`
_SAVED = ("teacher", "contexts", "seed", "num_updates", "num_draws", "records", "state")


class _Purpose(IntEnum):
    """What random numbers are for; renumbering would change results."""

    INIT = 0
    SAMPLE = 1
    UPDATE = 2


class EpisodeRecord(NamedTuple):
    """One episode that has ended, as `Curriculum.record` takes it."""

    context: Array  # [C]
    first_observation: Array  # [O]  empty if it is not known
    discounted_return: float
    success: bool
    length: int


@final
class Curriculum(Generic[S]):
    """A teacher for a training loop outside this library.

    Draw contexts with `sample`, report every episode that ends with `record`, and call `update`
    once in a while, best after an update of the learner.

    Args:
        teacher: settings of a teacher, as `SPDL()`.
        contexts: the box of contexts, where to start in it, and where to arrive.
        seed: of all random numbers.

    Raises:
        SelfpacedError: `teacher` is not a teacher, or does not fit the contexts.

    Examples:
        >>> from selfpaced import ContextSpace, Curriculum, Gaussian, Random
        >>> easy, hard = Gaussian.diagonal((1.0,), (0.1,)), Gaussian.diagonal((9.0,), (0.1,))
        >>> contexts = ContextSpace(("mass",), (0.0,), (10.0,), initial=easy, target=hard)
        >>> curriculum = Curriculum(Random(), contexts, seed=1)
        >>> for context in curriculum.sample(4):
        ...     curriculum.record(context, discounted_return=10.0 - context[0], length=20)
        >>> curriculum.update()["train/episodes"]
        4.0
    """

    def __init__(self, teacher: Teacher[S], contexts: ContextSpace, seed: int = 0) -> None:
        require(
            isinstance(teacher, Teacher) and not isinstance(teacher, type),
            f"teacher must be an instance of its settings, as SPDL(), got {teacher!r}",
        )
        require(
            isinstance(contexts, ContextSpace),
            f"contexts must be a selfpaced.ContextSpace, got {type(contexts).__name__}",
        )
        require(
            isinstance(seed, int | np.integer) and seed >= 0,
            f"seed must be a whole number, zero or above, got {seed!r}",
        )
        self.teacher = teacher
        self.contexts = contexts
        self.seed = int(seed)
        self._num_updates = 0
        self._num_draws = 0  # since the last update
        self._records: list[EpisodeRecord] = []
        self._has_warned = False
        self._advice = AdviceGiver(teacher, contexts)
        self.state: S = checked_init(teacher, teacher.init(self._rng(_Purpose.INIT), contexts))

    @property
    def num_updates(self) -> int:
        """Number of updates of the teacher so far."""
        return self._num_updates

    @property
    def num_recorded(self) -> int:
        """Number of episodes since the last update."""
        return len(self._records)

    @property
    def first_observations(self) -> Array:
        """The first observations [E, O] of the episodes since the last update."""
        return _stacked([record.first_observation for record in self._records])

    @property
    def uses_values(self) -> bool:
        """Whether the teacher declares that values matter to it."""
        return isinstance(self.teacher, UsesValues) and self.teacher.uses_values

    def sample(self, num: int) -> Array:
        """Draw the contexts [num, C] of the next episodes, in order."""
        require(
            isinstance(num, int | np.integer) and num > 0,
            f"num must be a positive whole number, got {num!r}",
        )
        rng = self._rng(_Purpose.SAMPLE, self._num_draws)
        drawn = self.teacher.sample(rng, self.contexts, self.state, int(num))
        self._num_draws += 1
        return checked_sample(self.teacher, self.contexts, drawn, int(num))

    def record(
        self,
        context: ArrayLike,
        discounted_return: float,
        length: int,
        success: bool = False,
        first_observation: ArrayLike = (),
    ) -> None:
        """Report an episode that has ended.

        Args:
            context: the context [C] that it took place in.
            discounted_return: its sum of discounted rewards.
            length: its number of steps.
            success: whether it fulfilled its purpose.
            first_observation: its first observation [O], needed if `update` gets a function.

        Raises:
            SelfpacedError: a number is not finite, the context lies outside the box, or the length
                is not a positive whole number; the episode is not recorded.
        """
        require(
            is_real(discounted_return),
            f"discounted_return must be a number, got {discounted_return!r}",
        )
        one = EpisodeRecord(
            np.array(real_contexts(context)),
            np.array(first_observation),
            float(discounted_return),
            bool(success),
            int(length),
        )
        require(
            one.context.shape == (self.contexts.size,),
            f"context must be {self.contexts.size} numbers ({', '.join(self.contexts.names)}), "
            f"got an array of shape {one.context.shape}",
        )
        require(length == one.length, f"length must be a whole number, got {length!r}")
        self._checked([one], np.array([one.discounted_return]))
        self._records.append(one)

    def update(self, values: ValueFunction | ArrayLike | None = None) -> Metrics:
        """Let the teacher learn from the episodes since the last update.

        Its advice is given as Python warnings of `SelfpacedWarning`, each kind once.

        Args:
            values: the learner's estimates at the first observations: a function of observations
                [M, O], or the numbers [E] in the order of the episodes. None uses the returns.

        Returns:
            The teacher's metrics, and averages of the episodes.

        Raises:
            SelfpacedError: an episode or a value is invalid; the curriculum is then unchanged.
        """
        if values is None:
            self._warn_of_returns()
        episodes = self._episodes(values)
        state = self._revalued(values) if callable(values) else self.state
        updated = self.teacher.update(self._rng(_Purpose.UPDATE), self.contexts, state, episodes)
        updated_state, metrics = checked_update(self.teacher, updated)
        self.state = checked_state(self.teacher, state, updated_state)
        self._advice.warn(self.state, stacklevel=3)
        self._num_updates += 1
        self._num_draws = 0
        self._records = []
        return _averages(self.contexts, episodes) | metrics

    def state_dict(self) -> dict[str, Plain]:
        """Return everything that has changed, as data that JSON can hold."""
        return {
            "format": FORMAT,
            "teacher": repr(self.teacher),
            "contexts": list(self.contexts.names),
            "seed": self.seed,
            "num_updates": self._num_updates,
            "num_draws": self._num_draws,
            "records": [to_plain(record) for record in self._records],
            "state": to_plain(self.state),
        }

    def load_state_dict(self, saved: dict[str, Plain]) -> None:
        """Continue from what `state_dict` returned.

        Raises:
            SelfpacedError: it was saved by another teacher, or is damaged; nothing is changed.
        """
        _require_saved(saved, repr(self.teacher), list(self.contexts.names))
        template = self.teacher.init(self._rng(_Purpose.INIT), self.contexts)
        state = from_plain(template, saved["state"])
        records = [_record(one) for one in saved["records"]]
        self.state, self._records = state, records
        self.seed = int(saved["seed"])
        self._num_updates, self._num_draws = int(saved["num_updates"]), int(saved["num_draws"])

    def _rng(self, purpose: _Purpose, number: int = 0) -> np.random.Generator:
        return np.random.default_rng((self.seed, self._num_updates, purpose, number))

    def _episodes(self, values: ValueFunction | ArrayLike | None) -> Episodes:
        if callable(values):
            values = self._estimates(values, self.first_observations)
        if values is None:
            values = [record.discounted_return for record in self._records]
        return self._checked(self._records, np.asarray(values, np.float64).reshape(-1))

    def _checked(self, records: list[EpisodeRecord], values: Array) -> Episodes:
        columns = list(zip(*records, strict=True)) or [()] * len(EpisodeRecord._fields)
        context, first_observation, discounted_return, success, length = columns
        episodes = Episodes(
            context=np.reshape(context, (len(records), self.contexts.size)),
            first_observation=_stacked(list(first_observation)),
            discounted_return=np.array(discounted_return, np.float64),
            value=values,
            success=np.array(success, bool),
            length=np.array(length, np.int64),
        )
        return self.contexts.check_episodes(episodes, not may_leave_box(self.teacher))

    def _estimates(self, function: ValueFunction, observations: Array) -> Array:
        if not len(observations):
            return np.zeros(0)
        require(
            observations.shape[1] > 0,
            "first_observation must be given to record() for update() with a function of it; give "
            "it, or call update() with one value per episode",
        )
        estimates = np.asarray(function(observations), np.float64)
        require(
            estimates.size == len(observations),
            f"values must be one number for each of {len(observations)} observations, got shape "
            f"{list(estimates.shape)}",
        )
        return estimates.reshape(-1)

    def _revalued(self, function: ValueFunction) -> S:
        """Remembered episodes, valued by the learner as it is now."""
        teacher = self.teacher
        if not isinstance(teacher, ReusesEpisodes):
            return self.state
        remembered = teacher.remembered(self.state)
        if not len(remembered):
            return self.state
        revalued: S = teacher.revalued(self.state, self._estimates(function, remembered))
        return revalued

    def _warn_of_returns(self) -> None:
        if self.uses_values and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{type(self.teacher).__name__} uses discounted returns in place of the learner's "
                "values, which are less noisy; give update() a function of first observations",
                SelfpacedWarning,
                stacklevel=3,
            )


AnyCurriculum = Curriculum[Any]


def _stacked(observations: list[Array]) -> Array:
    shapes = {observation.shape for observation in observations}
    require(
        len(shapes) <= 1 and all(len(shape) == 1 for shape in shapes),
        f"first observations must be vectors of one length, got shapes {sorted(shapes)}; flatten "
        "them by gymnasium.spaces.flatten",
    )
    return np.stack(observations) if observations else np.zeros((0, 0))


def _averages(contexts: ContextSpace, episodes: Episodes) -> Metrics:
    """Return averages over the episodes, if there are any."""
    if not episodes.num:
        return {"train/episodes": 0.0}
    spread = zip(contexts.names, episodes.context.mean(axis=0), strict=True)
    return {
        "train/episodes": float(episodes.num),
        "train/return": float(episodes.discounted_return.mean()),
        "train/success": float(episodes.success.mean()),
        "train/length": float(episodes.length.mean()),
        **{f"context/{name}_mean": float(mean) for name, mean in spread},
    }


def _require_saved(saved: dict[str, Plain], teacher: str, names: list[str]) -> None:
    require(
        isinstance(saved, dict) and saved.get("format") == FORMAT,
        f"saved curriculum must be of format {FORMAT}, got "
        f"{saved.get('format') if isinstance(saved, dict) else type(saved).__name__}; "
        "give what state_dict() returned",
    )
    lacking = [key for key in _SAVED if key not in saved]
    require(not lacking, f"saved curriculum must have {', '.join(lacking)}; use another save")
    for what, own in (("teacher", teacher), ("contexts", names)):
        require(
            saved.get(what) == own,
            f"saved curriculum must have the {what} {own}, got {saved.get(what)}; make the "
            "curriculum with the settings that it was saved with",
        )


def _record(plain: Plain) -> EpisodeRecord:
    empty = EpisodeRecord(np.zeros(0), np.zeros(0), 0.0, False, 0)
    context, observation, discounted_return, success, length = from_plain(empty, plain)
    return EpisodeRecord(context, observation, float(discounted_return), bool(success), int(length))
