"""Staircase: every particle climbs from easy to target contexts as fast as the learner follows.

Psychophysics' weighted up-down staircase, one per particle: a step forward after mastered episodes,
a step back after others, so that contexts settle where the learner masters the share LEVEL. The
path of a particle is the straight line between partners of the minimum-cost assignment from initial
to target contexts, in widths of the box. There is nothing to tune per problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.spatial import KDTree

from selfpaced.contexts import ContextSpace
from selfpaced.distributions.transport import assign
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.diagnosis import without_failure, without_success
from selfpaced.teachers.mastery import MasteryMemory
from selfpaced.validation import require_positive

LEVEL = 0.7  # share of mastered episodes at which a particle stays
GAIN = 0.2  # step of a particle for a share of one above the level
MEMORY = 0.8  # weight of an episode after each iteration
WINDOW = 2000  # episodes
LEAST_NEIGHBOURS = 5
REHEARSAL, PROBE = 0.1, 0.1  # shares of contexts behind and ahead of a particle
MIN_ANCHORS = 8  # mastered episodes that particles can start from
RENEWAL = 0.1  # probability of a new target for a particle that has arrived


class StaircaseState(NamedTuple):
    """Starts, targets and places of the particles, and the latest episodes."""

    start: Array  # [N, C] in unit coordinates
    target: Array  # [N, C]
    place: Array  # [N] share of the way
    context: Array  # [W, C] of the latest episodes
    mastered: Array  # [W]
    age: Array  # [W] in iterations
    memory: MasteryMemory  # for what counts as mastered
    num_iterations: Array  # []
    num_episodes: Array  # []
    num_successes: Array  # []


@final
@dataclass(frozen=True)
class Staircase:
    """Move particles to the target and back, such that a constant share of episodes is mastered.

    Needs only samples of the initial distribution and of the target. An episode is mastered if it
    succeeds, or if its return is nearer to the best than to the worst so far.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import ContextSpace, Samples, Staircase, Uniform
        >>> contexts = ContextSpace(
        ...     ("slope",), (0.0,), (1.0,),
        ...     Uniform((0.0,), (0.2,)), Samples(np.array([[0.9], [1.0]]))
        ... )
        >>> teacher, rng = Staircase(), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> bool(teacher.particles(contexts, state).max() <= 0.2)
        True
    """

    num_particles: int = 256
    """particles that represent the distribution of contexts"""

    def __post_init__(self) -> None:
        require_positive(self, "num_particles")

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> StaircaseState:
        """Pair initial contexts with target contexts."""
        start = contexts.to_unit(contexts.sample_initial(rng, self.num_particles))
        target = contexts.to_unit(contexts.sample_target(rng, self.num_particles))
        zero = np.zeros((), np.int64)
        return StaircaseState(
            start=start,
            target=target[assign(start, target)],
            place=np.zeros(self.num_particles),
            context=np.zeros((0, contexts.size)),
            mastered=np.zeros(0),
            age=np.zeros(0, np.int64),
            memory=MasteryMemory.empty(contexts.size),
            num_iterations=zero,
            num_episodes=zero,
            num_successes=zero,
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: StaircaseState, num: int
    ) -> Array:
        """Draw particles; some contexts lie behind them (rehearsal), some ahead (probes)."""
        chosen = rng.integers(self.num_particles, size=num)
        place, kind = state.place[chosen], rng.random(num)
        rehearsal = 0.0 if (state.place >= 1.0).all() else REHEARSAL
        along = rng.random(num)
        behind, ahead = along * place, place + along * (1.0 - place)
        place = np.where(kind < rehearsal, behind, np.where(kind > 1.0 - PROBE, ahead, place))
        return contexts.from_unit(_between(state.start[chosen], state.target[chosen], place))

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: StaircaseState,
        episodes: Episodes,
    ) -> tuple[StaircaseState, Metrics]:
        """Move every particle by the competence near its context."""
        episodes = contexts.check_episodes(episodes)
        if not episodes.num:
            return state, {}
        state = _remember(contexts, state, episodes)
        competence = _competence(state, _places(state))
        place = np.clip(state.place + GAIN * (competence - LEVEL), 0.0, 1.0)
        is_stuck = (state.place == 0.0) & (competence < LEVEL)
        has_arrived = (state.place == 1.0) & (competence >= LEVEL)
        state, num_anchored = _anchor(state._replace(place=place), np.flatnonzero(is_stuck))
        state = _renew(rng, contexts, state, has_arrived)
        moves = state.target - _places(state)
        metrics = {
            "teacher/place": float(state.place.mean()),
            "teacher/arrived": float((state.place == 1.0).mean()),
            "teacher/competence": float(competence.mean()),
            "teacher/anchored": float(num_anchored),
            "teacher/w2_to_target": float(np.sqrt((moves**2).sum(axis=1).mean())),
        }
        if np.isfinite(state.memory.threshold):
            metrics["teacher/return_threshold"] = state.memory.threshold
        return state, metrics

    def particles(self, contexts: ContextSpace, state: StaircaseState) -> Array:
        """Return the current context of every particle."""
        return contexts.from_unit(_places(state))

    def advice(
        self, contexts: ContextSpace, state: StaircaseState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn of too few iterations, and of a signal that does not tell good from poor."""
        needed = int(np.ceil((1.0 - state.place.min()) / (GAIN * (1.0 - LEVEL)) - 1e-9))
        num_episodes, num_successes = int(state.num_episodes), int(state.num_successes)
        if num_remaining < needed:
            return (
                f"{num_remaining} remaining iterations cannot reach the target: at least {needed} "
                "are needed; train longer",
            )
        if len(state.mastered) >= WINDOW // 4 and not state.mastered.any():
            return (
                f"none of the latest {len(state.mastered)} episodes is mastered: start from "
                "easier contexts, or report success",
            )
        text = without_success(
            num_episodes,
            num_successes,
            "mastery is judged by returns alone",
            "report success if the task defines it, or check that returns grow with it",
        ) or without_failure(
            num_episodes, num_successes, "particles move to the target as fast as they can"
        )
        return (text,) if text else ()


def _remember(contexts: ContextSpace, state: StaircaseState, episodes: Episodes) -> StaircaseState:
    iteration = int(state.num_iterations)
    memory = state.memory.remember(iteration, episodes, is_untrained=iteration == 0)
    mastered = np.asarray(episodes.success, bool) | (episodes.discounted_return >= memory.threshold)
    return state._replace(
        context=np.concatenate([state.context, contexts.to_unit(episodes.context)])[-WINDOW:],
        mastered=np.concatenate([state.mastered, mastered])[-WINDOW:],
        age=np.concatenate([state.age + 1, np.zeros(episodes.num, np.int64)])[-WINDOW:],
        memory=memory,
        num_iterations=state.num_iterations + 1,
        num_episodes=state.num_episodes + episodes.num,
        num_successes=state.num_successes + int(np.count_nonzero(episodes.success)),
    )


def _competence(state: StaircaseState, places: Array) -> Array:
    """Return the share of mastered episodes near each place, older episodes counting less."""
    num = min(max(LEAST_NEIGHBOURS, int(np.ceil(np.sqrt(len(state.age))))), len(state.age))
    _, nearest = KDTree(state.context).query(places, k=num)
    nearest = np.asarray(nearest).reshape(len(places), num)
    weights = MEMORY ** state.age[nearest]
    total = (weights * state.mastered[nearest]).sum(axis=1)
    competence: Array = (0.5 + total) / (1.0 + weights.sum(axis=1))
    return competence


def _anchor(state: StaircaseState, stuck: Array) -> tuple[StaircaseState, int]:
    """Let particles that fail at their start begin where episodes are mastered."""
    mastered = np.flatnonzero(state.mastered)
    if not len(stuck) or len(mastered) < MIN_ANCHORS:
        return state, 0
    easy = state.context[mastered]
    easy = easy[_competence(state, easy) >= LEVEL]
    if len(easy) < MIN_ANCHORS:
        return state, 0
    chosen = stuck[: len(easy)]
    start = state.start.copy()
    start[chosen] = easy[assign(start[chosen], easy)]
    return state._replace(start=start), len(chosen)


def _renew(
    rng: np.random.Generator, contexts: ContextSpace, state: StaircaseState, arrived: Array
) -> StaircaseState:
    """Give some particles that have arrived new targets, so that all of the target is seen."""
    chosen = np.flatnonzero(arrived & (rng.random(len(arrived)) < RENEWAL))
    if not len(chosen):
        return state
    target = state.target.copy()
    target[chosen] = contexts.to_unit(contexts.sample_target(rng, len(chosen)))
    return state._replace(target=target)


def _places(state: StaircaseState) -> Array:
    return _between(state.start, state.target, state.place)


def _between(start: Array, target: Array, place: Array) -> Array:
    between: Array = start + place[:, None] * (target - start)
    return between
