"""ADR: automatic domain randomisation (OpenAI et al., 2019): a box that grows where it is mastered.

Deviations; D1 as in TeachMyAgent (Romac et al., ICML 2021):
D1  an episode at a bound has all other components drawn from the current box,
D2  a bound moves by a share of the box of contexts, not by the same amount in all components,
D3  episodes at a bound are recognised by their contexts, up to single precision,
D4  an outcome is the success of an episode unless `signal` chooses its return.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final, get_args

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.diagnosis import without_failure, without_success
from selfpaced.teachers.outcome import Signal, outcome_of
from selfpaced.validation import require_choice, require_positive

SAME = 1e-6  # of the box, by which a context may differ from a bound (D3)
NUM_FOR_MEAN = 1000  # draws from the initial distribution


class ADRState(NamedTuple):
    """The current box in unit coordinates, and the outcomes at each of its bounds."""

    box: Array  # [2, C] lower and upper bounds, as shares of the box of contexts
    outcomes: Array  # [2, C, queue_size] the first `counts` are filled
    counts: Array  # [2, C]
    num_episodes: Array  # []
    num_successes: Array  # []


@final
@dataclass(frozen=True)
class ADR:
    """Grow a box of contexts around the mean of the initial distribution; ignore the target.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ADR, ContextSpace, Gaussian
        >>> flat, steep = Gaussian.diagonal((0.5,), (0.1,)), Gaussian.diagonal((1.0,), (0.1,))
        >>> contexts = ContextSpace(("slope",), (0.0,), (1.0,), initial=flat, target=steep)
        >>> teacher, rng = ADR(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> bool(np.ptp(teacher.sample(rng, contexts, state, num=8)) < 0.01)
        True
    """

    p_bound: float = 0.7
    """share of contexts with one component at its bound"""
    step: float = 0.033
    """move of a bound, as a share of the box of contexts"""
    low: float = 0.3
    """mean outcome at a bound from which it moves in"""
    high: float = 0.7
    """mean outcome at a bound from which it moves out"""
    queue_size: int = 10
    """episodes at a bound before it moves"""
    signal: Signal = "success"
    """outcome of an episode: its "success" (0 or 1), or its discounted "return\""""

    def __post_init__(self) -> None:
        require(0 < self.p_bound <= 1, f"p_bound must lie in (0, 1], got {self.p_bound}")
        require(0 < self.step <= 1, f"step must lie in (0, 1], got {self.step}; 0.033 is usual")
        require(self.low < self.high, f"low must be below high ({self.high}), got {self.low}")
        require_positive(self, "queue_size")
        require_choice("signal", self.signal, get_args(Signal))

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> ADRState:
        """Start from a single context, the mean of the initial distribution."""
        drawn = contexts.to_unit(contexts.sample_initial(rng, NUM_FOR_MEAN))
        middle = np.clip(drawn.mean(axis=0), 0.0, 1.0)
        return ADRState(
            box=np.array([middle, middle]),
            outcomes=np.zeros((2, contexts.size, self.queue_size)),
            counts=np.zeros((2, contexts.size), np.int64),
            num_episodes=np.zeros((), np.int64),
            num_successes=np.zeros((), np.int64),
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: ADRState, num: int
    ) -> Array:
        """Draw uniformly from the current box, often with one component at a bound."""
        lower, upper = state.box
        unit = rng.uniform(lower, upper, (num, contexts.size))
        at_bound = np.flatnonzero(rng.random(num) < self.p_bound)
        side = rng.integers(2, size=len(at_bound))
        component = rng.integers(contexts.size, size=len(at_bound))
        unit[at_bound, component] = state.box[side, component]
        return contexts.from_unit(unit)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: ADRState,
        episodes: Episodes,
    ) -> tuple[ADRState, Metrics]:
        """Move every bound at which enough episodes have ended."""
        episodes = contexts.check_episodes(episodes)
        box, outcomes, counts = state.box.copy(), state.outcomes.copy(), state.counts.copy()
        units = contexts.to_unit(episodes.context)
        # bounds change below, but contexts were drawn from those before the iteration
        meets = np.abs(units[:, None, :] - state.box) <= SAME  # [E, 2, C]
        for met, outcome in zip(meets, outcome_of(episodes, self.signal), strict=True):
            for side, component in np.argwhere(met):
                outcomes[side, component, counts[side, component]] = outcome
                counts[side, component] += 1
                if counts[side, component] == self.queue_size:
                    self._move(box, side, component, float(outcomes[side, component].mean()))
                    counts[side, component] = 0
        state = ADRState(
            box,
            outcomes,
            counts,
            state.num_episodes + episodes.num,
            state.num_successes + int(np.count_nonzero(episodes.success)),
        )
        return state, {"teacher/box_share": float((box[1] - box[0]).mean())}

    def advice(
        self, contexts: ContextSpace, state: ADRState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn of a success signal that is always false or always true."""
        if self.signal == "return":
            return ()
        num_episodes, num_successes = int(state.num_episodes), int(state.num_successes)
        remedy = 'report success, start from an easier context, or set signal="return"'
        texts = (
            without_success(
                num_episodes, num_successes, "the box of contexts does not grow", remedy
            ),
            without_failure(num_episodes, num_successes, "the box of contexts always grows"),
        )
        return tuple(text for text in texts if text)

    def _move(self, box: Array, side: int, component: int, mean: float) -> None:
        """Move a bound out or in, never beyond the box of contexts or the opposite bound."""
        out = -1.0 if side == 0 else 1.0
        if mean >= self.high:
            box[side, component] = np.clip(box[side, component] + out * self.step, 0.0, 1.0)
        elif mean <= self.low:
            moved, opposite = box[side, component] - out * self.step, box[1 - side, component]
            box[side, component] = min(moved, opposite) if side == 0 else max(moved, opposite)
