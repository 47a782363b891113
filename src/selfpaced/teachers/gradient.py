"""GRADIENT: interpolate between initial particles and the target (Huang et al., NeurIPS 2022).

Contexts lie on the Wasserstein geodesic from the initial distribution to the target. A stage ends
when the mean outcome of a chunk of episodes reaches a threshold. It never goes back.

Deviations, the first two as in the experiments of CURROT (Klink et al., TPAMI 2024):
D1  the share of the target grows by a constant step, and target samples are drawn anew each time,
D2  outcomes are those of training episodes, not of an evaluation,
D3  for equally many particles the barycentre is exact: each moves on a straight line to its partner
    in the minimum-cost assignment; distances are measured in widths of the box,
D4  without `threshold`, it is found from the returns so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, final, get_args

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.distributions.transport import assign
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.diagnosis import without_failure, without_success
from selfpaced.teachers.mastery import MasteryMemory
from selfpaced.teachers.outcome import Outcomes, Signal, outcome_of, threshold_of
from selfpaced.validation import require_choice, require_positive


class GRADIENTState(NamedTuple):
    """First and current particles, the share of the target, and an incomplete chunk."""

    first: Array  # [N, C]
    particles: Array  # [N, C]
    share: Array  # []  of the target, alpha
    pending: Outcomes  # [< num_rollouts]
    memory: MasteryMemory  # for the automatic threshold
    num_iterations: Array  # []
    num_episodes: Array  # []
    num_successes: Array  # []


@final
@dataclass(frozen=True)
class GRADIENT:
    """Interpolate between first particles and target samples, one stage after the other.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import GRADIENT, ContextSpace, Samples, Uniform
        >>> contexts = ContextSpace(
        ...     ("slope",), (0.0,), (1.0,),
        ...     Uniform((0.0,), (1.0,)), Samples(np.array([[0.9], [1.0]]))
        ... )
        >>> teacher, rng = GRADIENT(step=0.1), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.sample(rng, contexts, state, num=8).shape
        (8, 1)
    """

    step: float = 0.05
    """share of the way to the target in one stage"""
    num_particles: int = 100
    """particles that represent the distribution of contexts"""
    num_rollouts: int = 20
    """episodes whose mean outcome decides on the next stage"""
    threshold: float | None = None
    """mean outcome that ends a stage; None finds it from the returns so far"""
    signal: Signal = "return"
    """outcome of an episode: its discounted "return", or its "success" (0 or 1)"""
    start: Literal["uniform", "initial"] = "uniform"
    """the distribution to start from: the whole box, or the initial distribution"""

    def __post_init__(self) -> None:
        require(0 < self.step <= 1, f"step must lie in (0, 1], got {self.step}; 0.05 is usual")
        require_positive(self, "num_particles", "num_rollouts")
        require_choice("signal", self.signal, get_args(Signal))
        require_choice("start", self.start, ("uniform", "initial"))

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> GRADIENTState:
        """Draw the first particles."""
        draw = contexts.sample_uniform if self.start == "uniform" else contexts.sample_initial
        first, zero = draw(rng, self.num_particles), np.zeros((), np.int64)
        return GRADIENTState(
            first=first,
            particles=first,
            share=np.zeros(()),
            pending=Outcomes.empty(contexts.size),
            memory=MasteryMemory.empty(contexts.size),
            num_iterations=zero,
            num_episodes=zero,
            num_successes=zero,
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: GRADIENTState, num: int
    ) -> Array:
        """Draw particles."""
        drawn: Array = state.particles[rng.integers(len(state.particles), size=num)]
        return drawn

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: GRADIENTState,
        episodes: Episodes,
    ) -> tuple[GRADIENTState, Metrics]:
        """Enter the next stage after every chunk whose mean outcome reaches the threshold."""
        episodes = contexts.check_episodes(episodes)
        iteration = int(state.num_iterations)
        memory = state.memory.remember(iteration, episodes, is_untrained=iteration == 0)
        new = Outcomes(np.asarray(episodes.context, np.float64), outcome_of(episodes, self.signal))
        chunks, pending = state.pending.followed_by(new).chunks(self.num_rollouts)
        state = state._replace(
            memory=memory,
            pending=pending,
            num_iterations=state.num_iterations + 1,
            num_episodes=state.num_episodes + episodes.num,
            num_successes=state.num_successes + int(np.count_nonzero(episodes.success)),
        )
        threshold = threshold_of(self.threshold, self.signal, memory)
        for chunk in chunks:
            if chunk.outcome.mean() >= threshold:
                state = self._advance(rng, contexts, state)
        metrics = {"teacher/share_of_target": float(state.share)}
        if np.isfinite(threshold):
            metrics["teacher/threshold"] = threshold
        return state, metrics

    def particles(self, contexts: ContextSpace, state: GRADIENTState) -> Array:
        """Return the particles."""
        return state.particles

    def advice(
        self, contexts: ContextSpace, state: GRADIENTState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn of too few episodes, and of a success signal that is never or always true."""
        num_episodes, num_successes = int(state.num_episodes), int(state.num_successes)
        texts = [self._too_few_stages(state, num_remaining)]
        if self.signal == "success":
            never, always = "no stage ends", "every chunk of episodes ends a stage"
            remedy = 'report it, or set signal="return"'
            texts.append(without_success(num_episodes, num_successes, never, remedy))
            texts.append(without_failure(num_episodes, num_successes, always))
        return tuple(text for text in texts if text)

    def _too_few_stages(self, state: GRADIENTState, num_remaining: int) -> str:
        """Return a warning if the target is out of reach even if every chunk ends a stage."""
        if not state.num_episodes:
            return ""
        per_iteration = int(state.num_episodes) / int(state.num_iterations)
        num_chunks = per_iteration * num_remaining / self.num_rollouts
        num_needed = int(np.ceil((1.0 - float(state.share)) / self.step - 1e-9))
        if num_needed <= num_chunks + 1:
            return ""
        return (
            f"{num_remaining} remaining iterations cannot reach the target: {num_needed} stages "
            f"are needed, about {num_chunks:.0f} can end; train longer, lower num_rollouts, or "
            "raise step"
        )

    def _advance(
        self, rng: np.random.Generator, contexts: ContextSpace, state: GRADIENTState
    ) -> GRADIENTState:
        """Interpolate between the first particles and new target samples (D1, D3)."""
        share = min(1.0, round(float(state.share) + self.step, 12))
        first = contexts.to_unit(state.first)
        targets = contexts.to_unit(contexts.sample_target(rng, self.num_particles))
        particles = (1.0 - share) * first + share * targets[assign(first, targets)]
        return state._replace(particles=contexts.from_unit(particles), share=np.array(share))
