"""Users' environments, teachers and learners that break their contract in one place each.

Every case is a registered name, so that a worker process finds it too. Outcomes are judged by what
a user reads: the report of a failed seed or a refusal must be one line that names the class.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from selfpaced import Experiment, Problem
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.errors import SelfpacedError, users_place
from selfpaced.runs.replacement import create_run
from selfpaced.runs.worker import BlockRun
from tests.faults.outcomes import Tally, tally
from tests.probes import HOSTED, UserTeacher
from tests.runs.small_runs import SMALL

SEEDS = (1, 2)


def _raise(error: BaseException) -> Any:
    raise error


def _nested() -> Any:
    inner: list[Any] = []
    inner.append(inner)
    return inner


# what comes instead of what belongs there: the right value is given
WRONG: dict[str, Callable[[Any], Any]] = {
    "none": lambda right: None,
    "text": lambda right: "text",
    "nan": lambda right: np.asarray(right, float) * np.nan,
    "infinite": lambda right: np.asarray(right, float) + np.inf,
    "huge": lambda right: np.asarray(right, float) + 1e30,
    "too-long": lambda right: np.concatenate([np.ravel(right), np.ravel(right)]),
    "empty": lambda right: np.zeros(0),
    "nested": lambda right: _nested(),
    "objects": lambda right: np.array([object()]),
    "complex": lambda right: np.asarray(right) * 1j,
    "raises": lambda right: 1 / 0,
    "raises-silently": lambda right: _raise(AssertionError()),
    "raises-lines": lambda right: _raise(ValueError("one\ntwo\nthree")),
    "exits": lambda right: sys.exit(0),
    "interrupts-itself": lambda right: _raise(StopIteration()),
    "exhausts-memory": lambda right: _raise(MemoryError()),
    "recurses": lambda right: WRONG["recurses"](right),
}
PLACES = ("reset", "observation", "reward", "terminated", "info", "success", "outcome")
TEACHER_PLACES = ("sample", "update", "state", "metrics", "init")


class Misbehaving(gymnasium.Env[Any, Any]):
    """An environment of four steps that goes wrong in the third step of its second episode."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, place: str, how: str) -> None:
        self.place, self.how, self.num_episodes, self.time = place, how, 0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.num_episodes, self.time = self.num_episodes + 1, 0
        return self._maybe("reset", np.zeros(2, np.float32), 0), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        outcome = (
            self._maybe("observation", np.full(2, 0.1 * self.time, np.float32)),
            self._maybe("reward", 1.0),
            self._maybe("terminated", self.time >= 4),
            False,
            self._maybe("info", {"success": self._maybe("success", True)}),
        )
        return self._maybe("outcome", outcome)

    def _maybe(self, place: str, right: Any, moment: int = 3) -> Any:
        goes_wrong = place == self.place and self.num_episodes >= 2 and self.time == moment
        return WRONG[self.how](right) if goes_wrong else right


@dataclass(frozen=True)
class MisbehavingTeacher(UserTeacher):
    """A teacher that goes wrong in one place."""

    place: str = "sample"
    how: str = "none"

    def init(self, rng, contexts):
        return self._maybe("init", (np.zeros(1),))

    def sample(self, rng, contexts, state, num):
        return self._maybe("sample", super().sample(rng, contexts, state, num))

    def update(self, rng, contexts, state, episodes):
        state = self._maybe("state", (state[0] + 1.0,))
        metrics = {"teacher/number": self._maybe("metrics", 1.0)}
        return self._maybe("update", (state, metrics))

    def _maybe(self, place: str, right: Any) -> Any:
        return WRONG[self.how](right) if place == self.place else right


def _register() -> dict[str, Problem]:
    problems = {}
    for place in PLACES:
        for how in WRONG:
            name = f"{place}-{how}"
            make = partial(Misbehaving, place, how)
            gymnasium.register(f"Misbehaving-{name}-v0", make, max_episode_steps=10)
            environment = GymnasiumEnvironment(
                f"tests.faults.misbehaviours:Misbehaving-{name}-v0", time_limit=10
            )
            problems[name] = Problem(name, name, environment, HOSTED.contexts, 0.9)
    return problems


PROBLEMS = _register()
globals().update(  # so that they can be named as module:NAME
    {f"PROBLEM_{name.replace('-', '_')}": problem for name, problem in PROBLEMS.items()}
)


def misbehaviours(num: int, place: Path) -> Tally:
    """Train with misbehaving environments and teachers, at most this many of them."""
    cases: list[tuple[str, Experiment]] = []
    budget: dict[str, Any] = {"steps_per_iteration": 32, "iterations": 3, "seeds": SEEDS}
    learner = type(SMALL.method.learner)(hidden=(4,), num_minibatches=2)
    budget |= {"evaluation_episodes": 2, "num_environments": 1}
    small = SMALL.with_parts(teacher=UserTeacher(), learner=learner)
    for name in PROBLEMS:
        problem = f"tests.faults.misbehaviours:PROBLEM_{name.replace('-', '_')}"
        cases.append((f"environment {name}", replace(small, problem=problem, **budget)))
    hosted = replace(small, problem="tests.probes:HOSTED", **budget)
    for where in TEACHER_PLACES:
        for how in WRONG:
            teacher = MisbehavingTeacher(where, how)
            cases.append((f"teacher {where}-{how}", hosted.with_parts(teacher=teacher)))
    step = max(len(cases) // num, 1)
    attempts = [
        (name, partial(attempt, experiment, place / name.replace(" ", "-")))
        for name, experiment in cases[::step]
    ]
    return tally("misbehaving environments and teachers", attempts)


def attempt(experiment: Experiment, path: Path) -> bool:
    """Train a block in this process; return whether everything that was recorded is finite.

    Raises:
        SelfpacedError: the report of a failed seed, or of a refusal.
    """
    folder = create_run(path, experiment, [SEEDS])
    try:
        messages = list(BlockRun(folder, 0, _Parent()).events())
    except (Exception, SystemExit) as error:  # as a worker does
        if isinstance(error, SelfpacedError) or not users_place(error):
            raise
        raise SelfpacedError(f"traceback to {users_place(error)}") from error
    reports = [message["failure"] for message in messages if "failure" in message]
    for report in reports:
        if "Misbehaving" not in report["reason"] and "misbehaviours.py" not in report["reason"]:
            raise RuntimeError(f"a report that does not name the class: {report['reason']}")
        raise SelfpacedError(report["reason"])
    (files,) = folder.files()
    tables = [part.tables["evaluations"]["return"] for part in files.parts(files.read())]
    return all(np.isfinite(column).all() for column in tables)


class _Parent:
    stop_requested = False
