"""The process that trains one block of seeds: `python -m selfpaced.runs.worker`.

It reads the experiment from the run folder, reports to its parent process in lines of JSON, and
keeps a checkpoint from which it continues bit-identically.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Metrics
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.runs.devices import require_device
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.stopwatch import Stopwatch, TimedTeachers
from selfpaced.runs.storage import Notes
from selfpaced.runs.warm_start import start_learners
from selfpaced.training.discounting import faint_target
from selfpaced.training.loop import AnyLoop
from selfpaced.training.simulator import EpisodeBatch

SECONDS_BETWEEN_REPORTS = 0.2


def main() -> None:
    """Train block number `argv[2]` of the run folder `argv[1]` on the cores `argv[3]`."""
    folder, block = RunFolder(Path(sys.argv[1])), int(sys.argv[2])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(map(int, sys.argv[3].split(","))))
    parent = Parent()
    try:
        require_device()
        BlockRun(folder, block, parent).run()
    except SelfpacedError as error:
        parent.send({"error": str(error)})
        sys.exit(1)
    except Exception as error:
        traceback.print_exc()
        text = f"unexpected {type(error).__name__}: {error}\n\n{traceback.format_exc()}"
        parent.send({"error": text})
        sys.exit(1)


def seconds_between_checkpoints() -> float:
    """Return the value of the user's environment variable, or 20."""
    given = os.environ.get("SELFPACED_CHECKPOINT_SECONDS", "20")
    try:
        return float(given)
    except ValueError:
        raise SelfpacedError(
            f"SELFPACED_CHECKPOINT_SECONDS must be a number of seconds, got {given!r}"
        ) from None


class Parent:
    """The channel to the parent process: lines of JSON out, a request to stop in."""

    def __init__(self) -> None:
        """Use standard output for messages only; everything else printed goes to the log."""
        self.stop_requested = False
        self._messages = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        signal.signal(signal.SIGTERM, self._request_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C

    def send(self, message: Notes) -> None:
        """Send a message; if the parent is gone, stop after saving."""
        try:
            self._messages.write(json.dumps(message) + "\n")
            self._messages.flush()
        except BrokenPipeError:
            self.stop_requested = True
            self._messages = open(os.devnull, "w")  # noqa: SIM115 (open until the process ends)

    def _request_stop(self, *_: object) -> None:
        self.stop_requested = True


class BlockRun:
    """Trains some seeds of an experiment, from their checkpoint to the last iteration."""

    def __init__(self, folder: RunFolder, block: int, parent: Parent) -> None:
        """Read the experiment and the seeds of this block."""
        self.parent = parent
        self.experiment = folder.experiment()
        self.seeds = folder.blocks()[block]
        self.path = folder.checkpoint_path(block)
        self.start_path = folder.start_path
        self.stopwatch = Stopwatch()
        self.evaluated_after = frozenset(self.experiment.evaluation_iterations)
        self.evaluated: Notes = {}
        self.has_warned = False

    def run(self) -> None:
        """Train, and save checkpoints on the way."""
        timed = partial(TimedTeachers, stopwatch=self.stopwatch)
        with self.experiment.training(self.seeds, timed) as training:
            self._run(training)

    def _run(self, training: AnyLoop) -> None:
        checkpoint = Checkpoint.start(training, self.experiment)
        if self.path.exists():
            checkpoint = checkpoint.restore(self.path)
        else:
            learners = checkpoint.state.learner
            learners = start_learners(self.start_path, self.experiment, learners)
            checkpoint.state = checkpoint.state._replace(learner=learners)
        self.stopwatch.seconds = checkpoint.teacher_seconds
        self._report_iteration(checkpoint.iteration)
        saved = reported = time.monotonic()
        if checkpoint.iteration == 0:
            self._evaluate(training, checkpoint)
        patience = seconds_between_checkpoints()
        while checkpoint.iteration < self.experiment.iterations and not self.parent.stop_requested:
            rows = self._iterate(training, checkpoint)
            now = time.monotonic()
            if now - saved > patience:
                checkpoint.save(self.path)
                saved = time.monotonic()  # so that a slow disk is not used again at once
            if now - reported > SECONDS_BETWEEN_REPORTS or checkpoint.iteration == 1:
                self._report(checkpoint.iteration, rows)
                reported = now
        checkpoint.save(self.path)
        self._report_iteration(checkpoint.iteration)

    def _iterate(self, training: AnyLoop, checkpoint: Checkpoint) -> list[Metrics]:
        """Run one iteration with the clock running, and an evaluation if one is due."""
        self._advise(training, checkpoint)
        start = time.perf_counter()
        checkpoint.state, rows = training.iterate(checkpoint.state, checkpoint.iteration)
        checkpoint.iteration += 1
        if checkpoint.iteration in self.evaluated_after:
            self._evaluate(training, checkpoint)
        checkpoint.teacher_seconds = self.stopwatch.seconds
        checkpoint.training_seconds += time.perf_counter() - start
        timing = {
            "time/training_seconds": checkpoint.training_seconds,
            "time/teacher_seconds": checkpoint.teacher_seconds,
        }
        checkpoint.history.record_iteration(checkpoint.iteration, [row | timing for row in rows])
        counts = [row.get("train/unstable", 0) for row in rows]
        self._warn_of_instability(checkpoint.iteration, counts)
        return rows

    def _evaluate(self, training: AnyLoop, checkpoint: Checkpoint) -> None:
        """Evaluate on the target, and record the contexts that the next iteration trains on."""
        state, iteration = checkpoint.state, checkpoint.iteration
        contexts = training.sample_contexts(state, iteration)
        batch = training.target_episodes(
            state.learner, iteration, self.experiment.evaluation_episodes
        )
        for seed, returns in zip(self.seeds, batch.discounted_return, strict=True):
            require(
                bool(np.isfinite(returns).all()),
                f"seed {seed}, evaluation after iteration {iteration}: returns on the target must "
                "be finite; check the environment's rewards",
            )
        if batch.unstable is not None:
            self._warn_of_instability(iteration, batch.unstable.sum(axis=(1, 2)))
        checkpoint.history.record_evaluation(
            iteration, batch, contexts, training.gaussians(state), training.particles(state)
        )
        self.evaluated = {
            "target_return": float(batch.discounted_return[:, 0].mean()),
            "target_success": float(batch.success[:, 0].mean()) if batch.reports_success else None,
        }
        self._warn_of_discount(iteration, batch)

    def _advise(self, training: AnyLoop, checkpoint: Checkpoint) -> None:
        """Pass on advice at the start and after each quarter of the iterations."""
        iterations, iteration = self.experiment.iterations, checkpoint.iteration
        if iteration not in {iterations * quarter // 4 for quarter in range(4)}:
            return
        advice = training.advice(checkpoint.state, iterations - iteration)
        for text, num in advice.items():
            self.parent.send({"advice": text, "iteration": iteration, "num_seeds": num})

    def _warn_of_discount(self, iteration: int, batch: EpisodeBatch) -> None:
        """Warn if nothing can be gained on the target; the parent shows it once."""
        discount = self.experiment.resolved.discount
        if text := faint_target(discount, batch.discounted_return, batch.length):
            num_seeds = len(self.seeds)
            self.parent.send({"advice": text, "iteration": iteration, "num_seeds": num_seeds})

    def _warn_of_instability(self, iteration: int, per_seed: Iterable[float]) -> None:
        """Warn once; the tables count every case."""
        num = sum(1 for count in per_seed if count > 0)
        if num and not self.has_warned:
            self.has_warned = True
            text = (
                "a simulation became unstable and its episode was ended (see train/unstable in "
                "metrics.csv, unstable in evaluations.csv)"
            )
            self.parent.send({"advice": text, "iteration": iteration, "num_seeds": num})

    def _report_iteration(self, iteration: int) -> None:
        self.parent.send({"iteration": iteration, "num_seeds": len(self.seeds)})

    def _report(self, iteration: int, rows: Sequence[Metrics]) -> None:
        def mean(name: str) -> float | None:
            values = [row[name] for row in rows if np.isfinite(row.get(name, np.nan))]
            return float(np.mean(values)) if values else None

        names = self.experiment.resolved.contexts.names
        self.parent.send(
            {
                "iteration": iteration,
                "num_seeds": len(rows),
                "train_return": mean("train/return"),
                "kl_to_target": mean("teacher/kl_to_target"),
                "context_mean": [mean(f"context/{name}_mean") for name in names],
                "context_std": [mean(f"context/{name}_std") for name in names],
                **self.evaluated,
            }
        )


if __name__ == "__main__":
    main()
