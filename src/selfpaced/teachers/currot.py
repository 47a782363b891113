"""CURROT: particles move to the target by optimal transport (Klink et al., TPAMI 2024).

Particles approach the target in the sense of W2, but only through contexts in which the estimated
outcome is above a threshold, each by a bounded step per update.

Deviations from the published experiments:
D1  the kernel regression uses all data within reach, not a random half,
D2  only particles below the threshold are paired with easy contexts,
D3  redrawn noise starts again from the entry of the buffer,
D4  updates within an iteration use its episodes in chunks, while contexts are drawn before it,
D5  without `threshold` or `radius`, both follow rules that do not depend on the problem, and
    distances are measured in widths of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final, get_args

import numpy as np

from selfpaced.contexts import ContextSpace
from selfpaced.distributions.transport import assign, wasserstein
from selfpaced.errors import require
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.teachers.diagnosis import equal_returns, without_failure, without_success
from selfpaced.teachers.kernel_regression import regress
from selfpaced.teachers.mastery import MasteryMemory
from selfpaced.teachers.outcome import Outcomes, Signal, outcome_of, threshold_of
from selfpaced.teachers.success_buffer import SuccessBuffer
from selfpaced.validation import require_choice, require_positive

Estimate = Callable[[Array], Array]  # outcomes [N] of contexts [N, C]
BANDWIDTH = 0.3  # of the radius
NUM_IN_BALL = 100  # candidates around a particle
LINE = np.arange(0.1, 1.05, 0.1)  # candidates on the way to the target, as shares of the step
FIRST_TRIED = (8, 32)  # nearest candidates that are tried before the others
JITTER = 0.001  # of the box, added to particles when contexts are drawn
LEAST_RADIUS = 0.05  # of the diagonal of the box (D5)
ABOVE_FLOOR = 1.2  # times W2 between two draws from the target (D5)


class CURROTState(NamedTuple):
    """Particles, good and failed episodes, and what is left of an incomplete chunk."""

    particles: Array  # [N, C]
    successes: SuccessBuffer  # contexts in the coordinates of distances
    failures: Outcomes  # [<= N] the newest, in the same coordinates
    pending: Outcomes  # [< num_rollouts]
    is_moving: Array  # []  whether particles have reached the threshold once
    radius: Array  # []
    memory: MasteryMemory  # for the automatic threshold
    num_iterations: Array  # []
    num_episodes: Array  # []
    num_successes: Array  # []


@final
@dataclass(frozen=True)
class CURROT:
    """Move particles to the target by optimal transport, through contexts that are easy enough.

    Needs only samples of the target: several modes, boxes and recorded contexts are kept as they
    are. By default the threshold and the radius are chosen automatically.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import CURROT, ContextSpace, Samples, Uniform
        >>> contexts = ContextSpace(
        ...     ("slope",), (0.0,), (1.0,),
        ...     Uniform((0.0,), (1.0,)), Samples(np.array([[0.9], [1.0]]))
        ... )
        >>> teacher, rng = CURROT(num_particles=50), np.random.default_rng(0)
        >>> state = teacher.init(rng, contexts)
        >>> teacher.particles(contexts, state).shape
        (50, 1)
    """

    num_particles: int = 100
    """N: particles that represent the distribution of contexts"""
    num_rollouts: int = 20
    """episodes from one update to the next"""
    threshold: float | None = None
    """delta: outcome that a context must have; None finds it from the returns so far"""
    radius: float | None = None
    """epsilon: longest move of a particle per update, in units of the contexts; None takes 5 % of
    the diagonal of the box, or more if the target is noisy"""
    signal: Signal = "return"
    """outcome of an episode: its discounted "return", or its "success" (0 or 1)"""
    wait: bool = False
    """whether particles stay until their mean outcome reaches the threshold; otherwise they follow
    the better contexts so far"""

    def __post_init__(self) -> None:
        require_positive(self, "num_particles", "num_rollouts")
        require_positive(self, "radius", none_allowed=True)
        require_choice("signal", self.signal, get_args(Signal))
        require(
            self.num_rollouts < self.num_particles,
            f"num_rollouts must be below num_particles ({self.num_particles}), got "
            f"{self.num_rollouts}; a fifth is usual",
        )

    def init(self, rng: np.random.Generator, contexts: ContextSpace) -> CURROTState:
        """Spread the particles uniformly over the box."""
        zero = np.zeros((), np.int64)
        return CURROTState(
            particles=contexts.sample_uniform(rng, self.num_particles),
            successes=SuccessBuffer.empty(contexts.size),
            failures=Outcomes.empty(contexts.size),
            pending=Outcomes.empty(contexts.size),
            is_moving=np.zeros((), bool),
            radius=np.array(self._radius(rng, contexts)),
            memory=MasteryMemory.empty(contexts.size),
            num_iterations=zero,
            num_episodes=zero,
            num_successes=zero,
        )

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: CURROTState, num: int
    ) -> Array:
        """Draw particles with a little noise."""
        chosen = state.particles[rng.integers(len(state.particles), size=num)]
        noise = JITTER * rng.uniform(-1.0, 1.0, chosen.shape)
        return contexts.from_unit(contexts.to_unit(chosen) + noise)

    def update(
        self,
        rng: np.random.Generator,
        contexts: ContextSpace,
        state: CURROTState,
        episodes: Episodes,
    ) -> tuple[CURROTState, Metrics]:
        """Move the particles once for every complete chunk of episodes (D4)."""
        episodes = contexts.check_episodes(episodes)
        iteration = int(state.num_iterations)
        state = state._replace(
            memory=state.memory.remember(iteration, episodes, is_untrained=iteration == 0),
            num_iterations=state.num_iterations + 1,
            num_episodes=state.num_episodes + episodes.num,
            num_successes=state.num_successes + int(np.count_nonzero(episodes.success)),
        )
        new = Outcomes(self._coordinates(contexts, episodes.context), self._outcome(episodes))
        chunks, pending = state.pending.followed_by(new).chunks(self.num_rollouts)
        state, metrics = state._replace(pending=pending), Metrics()
        for chunk in chunks:
            state, metrics = self._learn(rng, contexts, state, chunk)
        return state, metrics

    def particles(self, contexts: ContextSpace, state: CURROTState) -> Array:
        """Return the particles."""
        return state.particles

    def advice(
        self, contexts: ContextSpace, state: CURROTState, num_remaining: int
    ) -> tuple[str, ...]:
        """Warn of too few updates, and of outcomes that do not tell what is easy."""
        num_episodes, num_successes = int(state.num_episodes), int(state.num_successes)
        remedy = "train longer, lower num_rollouts, or raise radius"
        texts = [self.budget_advice(contexts, state, num_remaining, remedy)]
        if self.signal == "success":
            consequence, remedy = "contexts cannot move", 'report it, or set signal="return"'
            texts.append(without_success(num_episodes, num_successes, consequence, remedy))
            consequence = "contexts move to the target as fast as radius allows"
            texts.append(without_failure(num_episodes, num_successes, consequence))
        elif self.threshold is None:
            texts.append(equal_returns(num_episodes, state.memory.threshold))
        return tuple(text for text in texts if text)

    def budget_advice(
        self, contexts: ContextSpace, state: CURROTState, num_remaining: int, remedy: str
    ) -> str:
        """Return a warning if particles cannot arrive even if nothing stops them."""
        if not state.num_iterations or not state.num_episodes:
            return ""
        per_iteration = int(state.num_episodes) / int(state.num_iterations)
        num_updates = per_iteration * num_remaining / self.num_rollouts
        targets = contexts.sample_target(np.random.default_rng(0), self.num_particles)
        here, there = (self._coordinates(contexts, each) for each in (state.particles, targets))
        farthest = np.linalg.norm(here - there[assign(here, there)], axis=1).max()
        num_needed = int(np.ceil(farthest / float(state.radius)))
        if num_needed <= num_updates + 1:
            return ""
        return (
            f"{num_remaining} remaining iterations cannot reach the target: {num_needed} updates "
            f"are needed, about {num_updates:.0f} will be made; {remedy}"
        )

    def _learn(
        self, rng: np.random.Generator, contexts: ContextSpace, state: CURROTState, new: Outcomes
    ) -> tuple[CURROTState, Metrics]:
        """Remember a chunk of episodes, and move the particles."""
        threshold = threshold_of(self.threshold, self.signal, state.memory)
        num, radius, box = self.num_particles, float(state.radius), self._box(contexts)
        targets = self._targets(rng, contexts)
        successes, failed = state.successes.after(new, threshold, num, targets)
        state = state._replace(successes=successes)
        if state.is_moving:
            failures = state.failures.followed_by(failed).at(slice(-num, None))
            state = state._replace(failures=failures)
        data = successes.episodes.followed_by(state.failures)

        def estimate(places: Array) -> Array:
            return regress(places, data.context, data.outcome, BANDWIDTH * radius)

        particles = self._coordinates(contexts, state.particles)
        outcomes = estimate(particles)
        mean_outcome = float(outcomes.mean())
        is_moving = bool(state.is_moving) or mean_outcome >= threshold
        distance = float("nan")
        if is_moving or not self.wait:
            easy = successes.draw(rng, num, threshold, radius, box)
        if is_moving:
            particles, outcomes = _repair(particles, outcomes, easy, threshold, estimate)
            goals = self._targets(rng, contexts)
            goals = goals[assign(particles, goals)]
            distance = float(np.sqrt(((particles - goals) ** 2).sum(axis=1).mean()))
            is_good = outcomes >= threshold
            particles = _step(rng, particles, goals, is_good, threshold, radius, box, estimate)
        elif not self.wait:
            particles = easy
        state = state._replace(
            particles=self._from_coordinates(contexts, particles), is_moving=np.array(is_moving)
        )
        return state, _metrics(mean_outcome, threshold, is_moving, outcomes, distance)

    def _targets(self, rng: np.random.Generator, contexts: ContextSpace) -> Array:
        return self._coordinates(contexts, contexts.sample_target(rng, self.num_particles))

    def _outcome(self, episodes: Episodes) -> Array:
        return outcome_of(episodes, self.signal)

    def _radius(self, rng: np.random.Generator, contexts: ContextSpace) -> float:
        if self.radius is not None:
            return self.radius
        first, second = self._targets(rng, contexts), self._targets(rng, contexts)
        floor = wasserstein(first, second)
        return max(LEAST_RADIUS * float(np.sqrt(contexts.size)), ABOVE_FLOOR * floor)  # D5

    def _coordinates(self, contexts: ContextSpace, raw: Array) -> Array:
        """Return contexts in the coordinates of distances: widths of the box without `radius`."""
        return contexts.to_unit(raw) if self.radius is None else contexts.coordinates(raw)

    def _from_coordinates(self, contexts: ContextSpace, coordinates: Array) -> Array:
        if self.radius is None:
            return contexts.from_unit(coordinates)
        return contexts.clip(contexts.from_coordinates(coordinates))

    def _box(self, contexts: ContextSpace) -> Array:
        if self.radius is None:
            return np.array([np.zeros(contexts.size), np.ones(contexts.size)])
        return contexts.coordinate_box


def _repair(
    particles: Array, outcomes: Array, easy: Array, threshold: float, estimate: Estimate
) -> tuple[Array, Array]:
    """Move particles below the threshold to easy contexts (D2)."""
    failing = np.flatnonzero(outcomes < threshold)
    if not len(failing):
        return particles, outcomes
    particles, outcomes = particles.copy(), outcomes.copy()
    particles[failing] = easy[assign(particles[failing], easy)]
    outcomes[failing] = estimate(particles[failing])
    return particles, outcomes


def _step(
    rng: np.random.Generator,
    particles: Array,
    goals: Array,
    is_good: Array,
    threshold: float,
    radius: float,
    box: Array,
    estimate: Estimate,
) -> Array:
    """Move each particle to the candidate above the threshold that is nearest to its goal.

    Without such a candidate, it moves to the one with the best estimate. The end of the straight
    line is the nearest of all, so that other candidates are needed only where it fails.
    """
    way = goals - particles
    distance = np.linalg.norm(way, axis=1)
    length = np.minimum(radius, distance)
    direction = way / np.maximum(distance, 1e-300)[:, None]
    moved: Array = particles + length[:, None] * direction
    outcomes = estimate(moved)
    rest = np.flatnonzero(~(outcomes > threshold))
    if not len(rest):
        return moved
    offsets = _in_unit_ball(rng, NUM_IN_BALL, particles.shape[1])
    towards = direction[rest]
    along = towards @ offsets.T  # [R, B]
    backwards = np.where(is_good[rest, None], np.minimum(along, 0.0), 0.0)
    around = offsets - 2.0 * backwards[:, :, None] * towards[:, None, :]  # to the near half
    line = LINE[:, None] * towards[:, None, :]
    candidates = np.concatenate([around, line], axis=1) * length[rest, None, None]
    candidates = np.clip(particles[rest, None] + candidates, *box)
    far = ((candidates - goals[rest, None]) ** 2).sum(axis=2)
    chosen = _nearest_good(candidates, far, threshold, estimate)
    moved[rest] = candidates[np.arange(len(rest)), chosen]
    return moved


def _nearest_good(candidates: Array, far: Array, threshold: float, estimate: Estimate) -> Array:
    """Return which candidate [R] of each particle is the nearest one above the threshold.

    Without one above it, return that with the best estimate. Near candidates are tried first, the
    others only for particles that still have none.
    """
    num, num_candidates, size = candidates.shape
    order = far.argsort(axis=1, kind="stable")
    estimates = np.full(far.shape, -np.inf)
    chosen, searching, begin = np.zeros(num, np.int64), np.arange(num), 0
    for end in (*FIRST_TRIED, num_candidates):
        tried = order[searching, begin:end]
        found = estimate(candidates[searching[:, None], tried].reshape(-1, size))
        found = found.reshape(tried.shape)
        estimates[searching[:, None], tried] = found
        passes = found > threshold
        has_passed = passes.any(axis=1)
        first = passes.argmax(axis=1)[has_passed]
        chosen[searching[has_passed]] = tried[has_passed, first]
        searching, begin = searching[~has_passed], end
    chosen[searching] = estimates[searching].argmax(axis=1)
    return chosen


def _in_unit_ball(rng: np.random.Generator, num: int, size: int) -> Array:
    directions = rng.standard_normal((num, size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    inside: Array = directions * rng.random((num, 1)) ** (1.0 / size)
    return inside


def _metrics(
    mean_outcome: float, threshold: float, is_moving: bool, outcomes: Array, distance: float
) -> Metrics:
    metrics = {
        "teacher/outcome": mean_outcome,
        "teacher/moving": float(is_moving),
        "teacher/above_threshold": float((outcomes >= threshold).mean()),
    }
    if np.isfinite(threshold):
        metrics["teacher/threshold"] = threshold
    if np.isfinite(distance):
        metrics["teacher/w2_to_target"] = distance
    return metrics
