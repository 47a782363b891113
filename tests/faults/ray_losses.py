"""Loss of workers and nodes of a Ray cluster, and the results beside those of local processes."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from selfpaced import Experiment, SelfpacedError, run
from selfpaced.runs.processes import Listener
from selfpaced.runs.storage import Notes
from selfpaced.studies.comparison import Cell, plan_cells, run_cells
from tests.faults.kills import Whole, carry_out, experiments
from tests.faults.outcomes import Tally
from tests.faults.ray_cluster import TwoNodes, two_nodes
from tests.faults.same_results import differing_files

METHODS = [
    ("spdl", "ppo"),
    ("random", "sac"),
    ("goal-gan", "trpo"),
    ("currot", "ppo"),
    ("alp-gmm", "ppo"),
]
TEACHERS = ("random", "default", "spdl", "alp-gmm", "goal-gan", "plr")
LEARNERS = ("ppo", "trpo")


@dataclass
class Saboteur(Listener):
    """Does something once, so many seconds after the first iteration of a run."""

    strike: Callable[[], None]
    seconds: float
    advice: list[str] = field(default_factory=list)
    _timer: threading.Timer | None = None
    _has_struck: bool = False

    def received(self, block: int, message: Notes) -> None:
        if "advice" in message:
            self.advice.append(message["advice"])
        if self._timer is None and message.get("iteration", 0) >= 1:
            self._timer = threading.Timer(self.seconds, self._strike)
            self._timer.start()

    def _strike(self) -> None:
        self.strike()
        self._has_struck = True

    def has_struck(self) -> bool:
        """Return whether it did it, and a block was lost in consequence."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        return self._has_struck and any("lost its worker" in text for text in self.advice)


def ray_kills(
    num: int, seed: int, place: Path, names: Sequence[tuple[str, str]] = METHODS
) -> Tally:
    """Kill workers and nodes in turn, at random moments of training, and compare all files."""
    rng = np.random.default_rng(seed)
    planned = [
        replace(each, iterations=40 if each.learner_name == "sac" else 150)
        for each in experiments(list(names))
    ]
    wholes = [carry_out(one, place / f"local-{n}") for n, one in enumerate(planned)]
    counts: Counter[str] = Counter()
    examples = []
    with two_nodes() as nodes:
        for number in range(num):
            whole = wholes[number // 2 % len(wholes)]
            victim = ("worker", "node")[number % 2]
            outcome, details = outcome_of_loss(whole, place / f"ray-{number}", nodes, victim, rng)
            counts[outcome] += 1
            if outcome != "bit-identical":
                experiment = whole.experiment
                method = f"{experiment.teacher_name} + {experiment.learner_name}"
                examples.append(f"{victim} of {method}: {outcome} {details}")
    return Tally("SIGKILLs of Ray workers and nodes", counts, examples)


def outcome_of_loss(
    whole: Whole, path: Path, nodes: TwoNodes, victim: str, rng: np.random.Generator
) -> tuple[str, str]:
    """Lose a worker or node while it trains; repeat it if the run was over before."""
    strike = nodes.kill_worker if victim == "worker" else nodes.kill_node
    trained = float(whole.folder.summary()["training_seconds"])
    while True:
        saboteur = Saboteur(strike, float(rng.uniform(0, trained)))
        try:
            folder = run(
                whole.experiment,
                path,
                workers=2,
                overwrite=True,
                listener=saboteur,
                engine=nodes.engine,
            )
        except SelfpacedError as error:
            return "DEAD END", str(error)
        finally:
            has_struck = saboteur.has_struck()
            nodes.repair()
        if has_struck:
            break
    different = differing_files(whole.folder.path, folder.path)
    return ("DIFFERENT", ", ".join(different)) if different else ("bit-identical", "")


def comparison_that_loses_a_node(place: Path) -> Tally:
    """Compare 12 cells on two nodes, one of which is killed half-way; compare with local ones."""
    cells = {
        engine: [
            replace(cell, experiment=small(cell.experiment))
            for cell in plan_cells("point-mass-2d", TEACHERS, LEARNERS, (1, 2, 3), place / engine)
        ]
        for engine in ("ray", "local")
    }
    half = len(cells["ray"]) // 2
    with two_nodes() as nodes:
        saboteur = Saboteur(nodes.kill_node, 1.0)

        def announce(number: int, cell: Cell, state: str) -> None:
            listener.current = saboteur if number == half else Listener()

        listener = Switch()
        run_cells(cells["ray"], 2, listener, announce, nodes.engine)
        has_struck = saboteur.has_struck()
    run_cells(cells["local"], 2)
    counts: Counter[str] = Counter()
    examples = [] if has_struck else ["the node was lost too late"]
    for one, two in zip(cells["local"], cells["ray"], strict=True):
        different = differing_files(one.path, two.path)
        counts["DIFFERENT" if different else "bit-identical"] += 1
        examples += [f"{one.path.name}: {', '.join(different)}"] if different else []
    return Tally("cells on Ray that lose a node half-way", counts, examples)


@dataclass
class Switch(Listener):
    """Passes messages on to another listener, which can be exchanged."""

    current: Listener = field(default_factory=Listener)

    def received(self, block: int, message: Notes) -> None:
        self.current.received(block, message)


def small(experiment: Experiment) -> Experiment:
    """Return an experiment with a small network and budget."""
    learner = replace(experiment.method.policy, hidden=(8,))
    budget = {"steps_per_iteration": 256, "evaluation_episodes": 10, "evaluate_every": 20}
    return replace(experiment.with_parts(learner=learner), iterations=150, **budget)
