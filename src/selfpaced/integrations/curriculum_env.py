"""A Gymnasium wrapper that starts every episode in the next context of a curriculum.

Vector environments and training libraries reset by themselves and drop the options of `reset`. The
contexts are therefore inside the wrapper, which takes the next one whenever it is reset. It works
inside Gymnasium's vectors in all three autoreset modes, and inside those of other libraries.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsFloat, final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from selfpaced.contexts import ContextSpace
from selfpaced.environments.hand_over import (
    CONTEXT_KEY,
    AppendedContext,
    HandOver,
    require_hand_over,
    reset_in_context,
)
from selfpaced.environments.watched_options import WatchedOptions
from selfpaced.errors import SelfpacedError, SelfpacedWarning, require
from selfpaced.records import Array
from selfpaced.validation import is_real

Info = dict[str, Any]
Success = Callable[[Any, Info], bool]  # last observation and info -> whether it succeeded

RECORD_KEY = "curriculum"  # in the info of the last step
MAX_CUT_SHORT = 8  # episodes in a row that end without being reported


@final
class CurriculumEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose contexts come from a curriculum.

    Wrap it around the time limit of `gymnasium.make`, and inside of wrappers that change rewards.
    Contexts arrive through `next_contexts`; `CurriculumVectorEnv` and the callbacks for other
    libraries set them. Without any, as in an environment for evaluation, contexts are drawn from
    the target.

    The info of `reset` has the `context`. The info of an episode's last step has `success`,
    `is_success` and, if the context came from a curriculum, `curriculum`: a dictionary with the
    arguments of `Curriculum.record`.

    Args:
        env: an environment with a time limit or another end.
        contexts: the box of contexts and the target.
        hand_over: how a context reaches the environment: "options" for
            `reset(options={"context": ...})`, names of attributes of `env.unwrapped`, one per
            component, or a function of the environment and the context.
        append_context: whether observations get the context: at the end of a flat observation, as
            the entry "context" of a dictionary.
        scale_context: whether the appended context is scaled from its box to [-1, 1].
        success: a function of the last observation and info; None takes `info["success"]` or
            `info["is_success"]`.
        discount: of the reported returns; callbacks set it to the learner's.

    Raises:
        SelfpacedError: the environment cannot take a context in this way, or its observations
            cannot be extended.

    Examples:
        >>> import gymnasium
        >>> from selfpaced import ContextSpace, CurriculumEnv, Gaussian
        >>> light, heavy = Gaussian.diagonal((1.0,), (0.1,)), Gaussian.diagonal((3.0,), (0.1,))
        >>> contexts = ContextSpace(("mass",), (0.5,), (4.0,), initial=light, target=heavy)
        >>> env = CurriculumEnv(gymnasium.make("Pendulum-v1"), contexts, hand_over=("m",))
        >>> env.next_contexts = [[1.0], [1.5]]
        >>> observation, info = env.reset(seed=1)
        >>> env.unwrapped.m, env.next_contexts.tolist()
        (1.0, [[1.5]])
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        contexts: ContextSpace,
        *,
        hand_over: HandOver = "options",
        append_context: bool = False,
        scale_context: bool = False,
        success: Success | None = None,
        discount: float = 0.99,
    ) -> None:
        require(
            isinstance(env, gymnasium.Env),
            f"env must be a gymnasium.Env, as of gymnasium.make, got {type(env).__name__}; make a "
            "vector of CurriculumEnvs: SyncVectorEnv([lambda: CurriculumEnv(...)] * 8)",
        )
        super().__init__(env)
        require(
            isinstance(contexts, ContextSpace),
            f"contexts must be a selfpaced.ContextSpace, got {type(contexts).__name__}",
        )
        require_hand_over(env, hand_over, contexts.size)
        require(
            isinstance(append_context, bool),
            f"append_context must be True or False, got {append_context!r}; scale_context=True "
            "scales an appended context",
        )
        require(
            append_context or not scale_context,
            "scale_context must be false without append_context; set append_context=True",
        )
        self.contexts = contexts
        self.discount = discount
        self.row = 0  # in a vector of environments
        self._hand_over = hand_over
        self._success = success
        self._appended = (
            AppendedContext(contexts.lower, contexts.upper, scale_context)
            if append_context
            else None
        )
        if self._appended is not None:
            self.observation_space = self._appended.space(env.observation_space)
        self._rng = np.random.default_rng()  # the environment's own stream stays untouched
        self._queue: deque[Array] = deque()
        self._latest: Array | None = None  # the latest batch of contexts
        self._context: Array = np.zeros(contexts.size)
        self._is_issued = False  # whether a curriculum has chosen the context
        self._first_observation: Any = None
        self._return = 0.0
        self._weight = 1.0  # discount to the power of the length
        self._length = 0
        self._num_cut_short = 0
        self._has_warned = False

    @property
    def next_contexts(self) -> Array:
        """The contexts [N, C] of the next episodes, in order; setting it drops unused ones."""
        return np.reshape(self._queue, (len(self._queue), self.contexts.size))

    @next_contexts.setter
    def next_contexts(self, batch: Iterable[ArrayLike]) -> None:
        checked = self._checked(batch)
        self._queue.clear()
        self._queue.extend(checked)

    @property
    def further_contexts(self) -> Array:
        """The same as `next_contexts`; setting it keeps unused ones and appends to them."""
        return self.next_contexts

    @further_contexts.setter
    def further_contexts(self, batch: Iterable[ArrayLike]) -> None:
        self._queue.extend(self._checked(batch))

    @property
    def contexts_of_rows(self) -> list[Array]:
        """The same as `next_contexts`; setting it takes the entry of this environment's row.

        One message with the contexts of all rows is faster than one message to every process.
        """
        return [self.next_contexts]

    @contexts_of_rows.setter
    def contexts_of_rows(self, batches: Sequence[Iterable[ArrayLike]]) -> None:
        self.next_contexts = batches[self.row]

    @property
    def is_from_curriculum(self) -> bool:
        """Whether the context of the current episode comes from a curriculum."""
        return self._is_issued

    @property
    def episode_length(self) -> int:
        """Number of steps of the current episode; zero before the first and after the last."""
        return self._length

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """Start an episode in the next context, or in `options["context"]`."""
        options = WatchedOptions(options or {})
        given = options.pop(CONTEXT_KEY, None)
        self._watch_for_ends()
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        if given is not None:
            self._context, self._is_issued = self.contexts.check(given), False
        else:
            self._context, self._is_issued = self._next_context()
        options.is_read = False
        observation, info = reset_in_context(
            self.env, self._hand_over, self._context.copy(), seed, options
        )
        if self._hand_over == "options" and not options.is_read:
            self._warn_of_ignored_context()
        observation = self._observed(observation)
        self._first_observation = observation
        self._return, self._weight, self._length = 0.0, 1.0, 0
        return observation, {**info, CONTEXT_KEY: self._context.copy()}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Apply one action; report the episode in the info of its last step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        observation = self._observed(observation)
        if not is_real(reward):
            name = type(self.unwrapped).__name__
            raise SelfpacedError(f"{name}.step must return a number as reward, got {reward!r}")
        self._return += self._weight * float(reward)
        self._weight *= self.discount
        self._length += 1
        if terminated or truncated:
            info = {**info, **self._ended(observation, info)}
        return observation, reward, terminated, truncated, info

    def _ended(self, observation: Any, info: Info) -> Info:
        succeeded = self._succeeded(observation, info)
        outcome: Info = {"success": succeeded, "is_success": succeeded}
        if self._is_issued:
            outcome[RECORD_KEY] = {
                "context": self._context.copy(),
                "first_observation": spaces.flatten(
                    self.observation_space, self._first_observation
                ),
                "discounted_return": self._return,
                "success": succeeded,
                "length": self._length,
            }
        self._length, self._num_cut_short = 0, 0
        return outcome

    def _succeeded(self, observation: Any, info: Info) -> bool:
        if self._success is not None:
            return bool(self._success(observation, info))
        return bool(info.get("success", info.get("is_success", False)))

    def _observed(self, observation: Any) -> Any:
        if self._appended is None:
            return observation
        return self._appended.observation(observation, self._context)

    def _next_context(self) -> tuple[Array, bool]:
        """Return the next context, and whether it comes from a curriculum."""
        if self._queue:
            return self._queue.popleft(), True
        if self._latest is None:
            target: Array = self.contexts.sample_target(self._rng, 1)[0]
            return target, False
        warnings.warn(
            "next_contexts ran out before the next update; contexts of the latest batch are drawn "
            "again: set more of them",
            SelfpacedWarning,
            stacklevel=3,
        )
        again: Array = self._rng.choice(self._latest)
        return again, True

    def _checked(self, batch: Iterable[ArrayLike]) -> Array:
        rows = [np.asarray(context, np.float64) for context in batch]
        for row in rows:
            if row.shape != (self.contexts.size,) or not self.contexts.contains(row):
                self.contexts.check(row)  # raises
        checked = self.contexts.clip(np.reshape(rows, (len(rows), self.contexts.size)))
        if len(checked):
            self._latest = checked
        return checked

    def _warn_of_ignored_context(self) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        warnings.warn(
            f"reset of {type(self.unwrapped).__name__} did not read options['context'], so the "
            "context has no effect; use it there, or set hand_over to attributes or a function",
            SelfpacedWarning,
            stacklevel=4,
        )

    def _watch_for_ends(self) -> None:
        """Warn if episodes seem to be ended by a wrapper outside, where they cannot be seen."""
        if not (self._is_issued and self._length):
            return
        self._num_cut_short += 1
        if self._num_cut_short == MAX_CUT_SHORT:
            warnings.warn(
                f"{MAX_CUT_SHORT} episodes in a row were reset before their end, so the curriculum "
                "does not see them; wrap CurriculumEnv around the time limit, not inside of it",
                SelfpacedWarning,
                stacklevel=4,
            )
