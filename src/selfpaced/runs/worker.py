"""The process that trains one block of seeds on its cores: `python -m selfpaced.runs.worker`.

It reads the experiment from the run folder, tells its parent how it goes in lines of JSON, and
keeps a checkpoint from which it continues exactly where it stopped.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.records import Array, Metrics
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.runs.folder import RunFolder
from selfpaced.training.loop import Training, TrainingState

SECONDS_BETWEEN_REPORTS = 0.2


def main() -> None:
    """Train block number `argv[2]` of the run folder `argv[1]` on the cores `argv[3]`."""
    folder, block = RunFolder(Path(sys.argv[1])), int(sys.argv[2])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(map(int, sys.argv[3].split(","))))
    parent = Parent()
    try:
        Block(folder, block, parent).run()
    except SelfpacedError as error:
        parent.tell({"error": str(error)})
        sys.exit(1)
    except Exception as error:
        traceback.print_exc()
        text = f"unexpected {type(error).__name__}: {error}\n\n{traceback.format_exc()}"
        parent.tell({"error": text})
        sys.exit(1)


def seconds_between_checkpoints() -> float:
    """What the user has set, or 20."""
    given = os.environ.get("SELFPACED_CHECKPOINT_SECONDS", "20")
    try:
        return float(given)
    except ValueError:
        raise SelfpacedError(
            f"SELFPACED_CHECKPOINT_SECONDS wants a number of seconds, got {given!r}"
        ) from None


class Parent:
    """The process that started this one: listens to lines of JSON, and may ask to stop."""

    def __init__(self) -> None:
        self.wants_stop = False
        # what anybody's code prints goes to the log: here it would be taken for messages
        self._messages = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message; a parent that is gone is a reason to save and leave."""
        try:
            self._messages.write(json.dumps(message) + "\n")
            self._messages.flush()
        except BrokenPipeError:
            self.wants_stop = True
            self._messages = open(os.devnull, "w")  # noqa: SIM115 (for the rest of this life)

    def _stop(self, *_: Any) -> None:
        self.wants_stop = True


class Block:
    """Some seeds of an experiment, from wherever their checkpoint is to the last iteration."""

    def __init__(self, folder: RunFolder, block: int, parent: Parent) -> None:
        self.parent = parent
        self.experiment: Experiment = folder.experiment()
        self.seeds = folder.blocks()[block]
        self.path = folder.checkpoint_path(block)
        self.training: Training = self.experiment.training(self.seeds)
        self.evaluated: dict[str, float] = {}
        self.has_warned = False

    def run(self) -> None:
        """Train, and keep checkpoints on the way."""
        checkpoint = Checkpoint.begin(self.training, self.experiment)
        if self.path.exists():
            checkpoint = checkpoint.restore(self.path)
        where = {"iteration": checkpoint.iteration, "num_seeds": len(self.seeds)}
        self.parent.tell(where)
        saved = reported = time.monotonic()
        if checkpoint.iteration == 0:
            self._evaluate(checkpoint)
        patience = seconds_between_checkpoints()
        while checkpoint.iteration < self.experiment.iterations and not self.parent.wants_stop:
            contexts, rows = self._iterate(checkpoint)
            now = time.monotonic()
            if now - saved > patience:
                checkpoint.save(self.path)
                saved = time.monotonic()  # a slow disk is not asked again at once
            if now - reported > SECONDS_BETWEEN_REPORTS or checkpoint.iteration == 1:
                self._report(checkpoint.iteration, contexts, rows)
                reported = now
        checkpoint.save(self.path)
        self.parent.tell({"iteration": checkpoint.iteration, "num_seeds": len(self.seeds)})

    def _iterate(self, checkpoint: Checkpoint) -> tuple[Array, list[Metrics]]:
        """One iteration with the clock running, then perhaps an evaluation."""
        training, iteration = self.training, checkpoint.iteration
        self._advise(checkpoint.state, iteration)
        began = time.perf_counter()
        contexts = training.sample_contexts(checkpoint.state, iteration)
        sampled = time.perf_counter()
        state, lesson = training.learn(checkpoint.state, contexts, iteration)
        learned = time.perf_counter()
        checkpoint.state, rows = training.teach(state, lesson, iteration)
        taught = time.perf_counter()
        checkpoint.iteration += 1
        checkpoint.history.record_contexts(checkpoint.iteration, contexts)
        if checkpoint.iteration in self.experiment.evaluation_iterations:
            self._evaluate(checkpoint)
        checkpoint.teacher_seconds += (sampled - began) + (taught - learned)
        checkpoint.training_seconds += time.perf_counter() - began
        timing = {
            "time/training_seconds": checkpoint.training_seconds,
            "time/teacher_seconds": checkpoint.teacher_seconds,
        }
        checkpoint.history.record_iteration(checkpoint.iteration, [row | timing for row in rows])
        self._warn_of_instability(
            checkpoint.iteration, [row.get("train/unstable", 0) for row in rows]
        )
        return contexts, rows

    def _warn_of_instability(self, iteration: int, per_seed: Iterable[float]) -> None:
        """Say it once; how often it happens is in the tables."""
        num = sum(1 for count in per_seed if count > 0)
        if num and not self.has_warned:
            self.has_warned = True
            text = (
                "a simulation became unstable: its episode was ended (see train/unstable in "
                "metrics.csv, unstable in evaluations.csv)"
            )
            self.parent.tell({"advice": text, "iteration": iteration, "num_seeds": num})

    def _evaluate(self, checkpoint: Checkpoint) -> None:
        """Try the policy on the target, and keep what the next iteration will train on."""
        state, num = checkpoint.state, self.experiment.evaluation_episodes
        contexts = self.training.sample_contexts(state, checkpoint.iteration)
        evaluation = self.training.evaluate(state, checkpoint.iteration, num)
        for seed, returns in zip(self.seeds, evaluation.discounted_return, strict=True):
            require(
                bool(np.isfinite(returns).all()),
                f"seed {seed}, evaluation after iteration {checkpoint.iteration}: a return on the "
                "target is not finite; check the environment's rewards",
            )
        if evaluation.unstable is not None:
            self._warn_of_instability(checkpoint.iteration, evaluation.unstable.sum(axis=(1, 2)))
        gaussians = [self.training.teacher.distribution(teacher) for teacher in state.teachers]
        checkpoint.history.record_evaluation(checkpoint.iteration, evaluation, contexts, gaussians)
        self.evaluated = {
            "target_return": float(evaluation.discounted_return[:, 0].mean()),
            "target_success": float(evaluation.success[:, 0].mean()),
        }

    def _advise(self, state: TrainingState, iteration: int) -> None:
        """Ask the teachers at the quarters of the way whether all is well."""
        quarters = {self.experiment.iterations * quarter // 4 for quarter in range(4)}
        if iteration not in quarters:
            return
        remaining = self.experiment.iterations - iteration
        advice = Counter(
            text
            for teacher in state.teachers
            for text in self.training.teacher.advice(teacher, remaining)
        )
        for text, num in advice.items():
            self.parent.tell({"advice": text, "iteration": iteration, "num_seeds": num})

    def _report(self, iteration: int, contexts: Array, rows: list[Metrics]) -> None:
        def mean(name: str) -> float | None:
            values = [row[name] for row in rows if np.isfinite(row.get(name, np.nan))]
            return float(np.mean(values)) if values else None

        self.parent.tell(
            {
                "iteration": iteration,
                "num_seeds": len(rows),
                "train_return": mean("train/return"),
                "kl_to_target": mean("teacher/kl_to_target"),
                "context_mean": contexts.mean(axis=(0, 1)).tolist(),
                "context_std": contexts.std(axis=1).mean(axis=0).tolist(),
                **self.evaluated,
            }
        )


if __name__ == "__main__":
    main()
