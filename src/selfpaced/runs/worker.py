"""The process that trains one block of seeds: `python -m selfpaced.runs.worker`.

It reads the experiment from the run folder, reports to its parent process in lines of JSON, and
keeps a checkpoint from which it continues bit-identically.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from selfpaced.errors import SelfpacedError, describe_exception, users_place
from selfpaced.records import Array, Episodes, Metrics
from selfpaced.runs.checkpoint import Checkpoint, without_replay
from selfpaced.runs.devices import require_device
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.history import describe_outcome
from selfpaced.runs.kept import PREFIX, keep_better
from selfpaced.runs.processes import seconds_of
from selfpaced.runs.stopwatch import Stopwatch, TimedTeachers
from selfpaced.runs.storage import Notes, describe_disk_error
from selfpaced.runs.warm_start import start_learners
from selfpaced.training.discounting import faint_target
from selfpaced.training.failures import Cause, SeedError
from selfpaced.training.loop import AnyLoop
from selfpaced.training.simulator import EpisodeBatch
from selfpaced.training.streams import Purpose

SECONDS_BETWEEN_REPORTS = 0.2


def main() -> None:
    """Train block number `argv[2]` of the run folder `argv[1]` on the cores `argv[3]`."""
    # an environment may change the working directory
    folder, block = RunFolder(Path(sys.argv[1]).absolute(), trust=True), int(sys.argv[2])
    faulthandler.enable(all_threads=False)  # names the line of a crash
    faulthandler.register(signal.SIGUSR1, all_threads=False)  # shows where the process hangs
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(map(int, sys.argv[3].split(","))))
    parent = Parent()
    parent.send({"started": True})
    try:
        require_device()
        for message in BlockRun(folder, block, parent).events():
            parent.send(message)
    except SelfpacedError as error:
        parent.send({"error": str(error)})
        _leave(1)
    except BaseException as error:  # a user's code may raise anything
        with suppress(OSError):  # the disk of the log may be full
            traceback.print_exc()
        text = f"unexpected {describe_exception(error)}\n\n{traceback.format_exc()}"
        if isinstance(error, OSError) and not users_place(error):
            text = describe_disk_error(folder.path, error)
        parent.send({"error": text})
        _leave(1)
    _leave(0)


def _leave(code: int) -> None:
    """End this process even if a user's code has left threads behind."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a full disk, or a stream that a user's code has replaced
            stream.flush()
    os._exit(code)


def seconds_between_checkpoints() -> float:
    """Return the value of the user's environment variable, or 20."""
    return seconds_of("SELFPACED_CHECKPOINT_SECONDS", 20.0)


class Requests(Protocol):
    """What the parent asks of a block."""

    @property
    def stop_requested(self) -> bool:
        """Whether to save and stop after the current iteration."""


class Failure(NamedTuple):
    """Why a seed fails, and the number of iterations that it has completed before."""

    after: int
    cause: Cause

    def notes(self, seed: int) -> Notes:
        """Return a report, as in `summary.json`."""
        cause = self.cause
        return {
            "seed": seed,
            "iteration": self.after + 1,
            "part": cause.part,
            "reason": cause.reason,
            "details": cause.details,
        }


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
    """Trains some seeds of an experiment, from their checkpoint to the last iteration.

    A seed that fails is set aside as it was before. For that, the block goes back to its last
    checkpoint and trains again up to the failure, which costs seconds: random streams do not depend
    on the past, so it takes the same course.
    """

    def __init__(self, folder: RunFolder, block: int, parent: Requests) -> None:
        """Read the experiment and the seeds of this block."""
        self.parent = parent
        self.experiment = folder.experiment()
        self.files = folder.files()[block]
        self.start_path = folder.start_path
        self.stopwatch = Stopwatch()
        self.evaluated: Notes = {}
        self.has_warned = False
        self.episodes: Sequence[Episodes] = ()  # of the last iteration
        self.failing: dict[int, Failure] = {}  # seeds that are to be set aside

    def events(self) -> Iterator[Notes]:
        """Train, and save checkpoints on the way; give messages for the parent."""
        is_over = False
        while not is_over and self.files.active_seeds():
            timed = partial(TimedTeachers, stopwatch=self.stopwatch, observe=self._keep_episodes)
            with self.experiment.training(self.files.active_seeds(), timed) as training:
                try:
                    is_over = yield from self._train(training)
                except SeedError as error:
                    self._note_failures(training.seeds, error)
        yield {"done": True}

    def _train(self, training: AnyLoop) -> Generator[Notes, None, bool]:
        """Return whether the block has ended; not if seeds were set aside."""
        self.episodes = ()
        self.iteration = 0
        try:
            checkpoint = Checkpoint.start(training, self.experiment)
        except SeedError as error:
            self._note_failures(training.seeds, error)
            self._require_first_start(error)
            checkpoint = Checkpoint.without_teachers(training, self.experiment)
            yield from self._set_aside(checkpoint)
            return False
        if self.files.newest.exists():
            checkpoint = checkpoint.restore(self.files.newest)
        if checkpoint.iteration == 0:
            learners = checkpoint.state.learner
            learners = start_learners(self.start_path, self.experiment, learners)
            checkpoint.state = checkpoint.state._replace(learner=learners)
        self.iteration = checkpoint.iteration
        self.stopwatch.seconds = checkpoint.teacher_seconds
        yield self._place(checkpoint)
        began = saved = reported = time.monotonic()
        if self._must_leave(checkpoint):
            yield from self._set_aside(checkpoint)
            return False
        if checkpoint.iteration == 0:
            yield from self._evaluate(training, checkpoint)
        patience = seconds_between_checkpoints()
        while checkpoint.iteration < self.experiment.iterations and not self.parent.stop_requested:
            if self._must_leave(checkpoint):
                yield from self._set_aside(checkpoint)
                return False
            rows = yield from self._iterate(training, checkpoint)
            now = time.monotonic()
            # the first ones after 1, 2, 4, ... seconds: there is something to see early
            if now - saved > min(patience, max(saved - began, 1.0)):
                self.files.save(checkpoint)
                yield self._place(checkpoint) | {"saved": True}
                saved = time.monotonic()  # so that a slow disk is not used again at once
            if now - reported > SECONDS_BETWEEN_REPORTS or checkpoint.iteration == 1:
                yield self._report(checkpoint, rows)
                reported = now
        self.files.save(checkpoint)
        yield self._place(checkpoint) | {"saved": True}
        return True

    def _keep_episodes(self, episodes: Sequence[Episodes]) -> None:
        self.episodes = episodes

    def _require_first_start(self, error: SeedError) -> None:
        """A state that was saved cannot be read without its teacher: keep it as it is."""
        saved = self.files.notes()
        if saved is not None and saved["iteration"] > 0:
            raise SelfpacedError(
                f"{error}; it did not in the first {saved['iteration']} iterations, which are kept"
            ) from error

    def _note_failures(self, seeds: tuple[int, ...], error: SeedError) -> None:
        for index, cause in error.causes.items():
            self.failing[seeds[index]] = Failure(self.iteration, cause)

    def _must_leave(self, checkpoint: Checkpoint) -> list[int]:
        """Seeds that fail in the next iteration, or failed earlier when they were here before."""
        return [
            seed
            for seed in checkpoint.seeds
            if seed in self.failing and self.failing[seed].after <= checkpoint.iteration
        ]

    def _set_aside(self, checkpoint: Checkpoint) -> Iterator[Notes]:
        """Keep seeds as they are now, and go on without them."""
        gone = self._must_leave(checkpoint)
        kept = [seed for seed in checkpoint.seeds if seed not in gone]
        for seed in gone:
            failure = self.failing[seed].notes(seed)
            self.files.set_aside(checkpoint.of_seeds([seed], failure=failure))
            yield {"failure": failure}
        self.files.save(checkpoint)  # the rows of all
        self.files.save(checkpoint.of_seeds(kept))
        yield self._place(checkpoint) | {"saved": True, "num_seeds": len(kept)}

    def _iterate(
        self, training: AnyLoop, checkpoint: Checkpoint
    ) -> Generator[Notes, None, list[Metrics]]:
        """Run one iteration with the clock running, and an evaluation if one is due."""
        self.iteration = checkpoint.iteration
        yield from self._advise(training, checkpoint)
        start = time.perf_counter()
        checkpoint.state, rows = training.iterate(checkpoint.state, checkpoint.iteration)
        checkpoint.iteration += 1
        if self.experiment.evaluates_after(checkpoint.iteration):
            yield from self._evaluate(training, checkpoint)
        checkpoint.teacher_seconds = self.stopwatch.seconds
        checkpoint.training_seconds += time.perf_counter() - start
        timing = {
            "time/training_seconds": checkpoint.training_seconds,
            "time/teacher_seconds": checkpoint.teacher_seconds,
        }
        checkpoint.history.record_iteration(checkpoint.iteration, [row | timing for row in rows])
        counts = [row.get("train/unstable", 0) for row in rows]
        yield from self._warn_of_instability(checkpoint.iteration, counts)
        return rows

    def _evaluate(self, training: AnyLoop, checkpoint: Checkpoint) -> Iterator[Notes]:
        """Evaluate on the target, and record the contexts that the next iteration trains on."""
        state, iteration = checkpoint.state, checkpoint.iteration
        contexts = training.sample_contexts(state, iteration)
        batch = training.target_episodes(
            state.learner, iteration, self.experiment.evaluation_episodes
        )
        _require_finite_returns(batch, iteration)
        if batch.unstable is not None:
            yield from self._warn_of_instability(iteration, batch.unstable.sum(axis=(1, 2)))
        checkpoint.history.record_evaluation(
            iteration,
            batch,
            contexts,
            training.gaussians(state),
            training.particles(state),
            self.episodes,
            self._keep_best(training, checkpoint, batch),
        )
        self.evaluated = {
            "target_return": float(batch.discounted_return[:, 0].mean()),
            "target_success": float(batch.success[:, 0].mean()) if batch.reports_success else None,
        }
        yield from self._warn_of_discount(iteration, batch)

    def _keep_best(
        self, training: AnyLoop, checkpoint: Checkpoint, batch: EpisodeBatch
    ) -> dict[str, Array]:
        """Keep the better policies; after the last iteration, return what fresh episodes give."""
        if self.experiment.keep == "last":
            return {}
        iteration, score = checkpoint.iteration, batch.discounted_return[:, 0].mean(axis=1)
        learner = without_replay(self.experiment, checkpoint.state.learner)
        kept = checkpoint.kept = keep_better(checkpoint.kept, learner, score, iteration)
        if iteration < self.experiment.iterations:
            return {}
        num_episodes = self.experiment.evaluation_episodes
        fresh = training.target_episodes(
            kept.learner, iteration, num_episodes, Purpose.EVALUATE_KEPT
        )
        _require_finite_returns(fresh, iteration)
        row = describe_outcome(fresh) | {"iteration": kept.iteration}
        return {PREFIX + name: values for name, values in row.items()}

    def _advise(self, training: AnyLoop, checkpoint: Checkpoint) -> Iterator[Notes]:
        """Pass on advice at the start and after each quarter of the iterations."""
        iterations, iteration = self.experiment.iterations, checkpoint.iteration
        if iteration not in {iterations * quarter // 4 for quarter in range(4)}:
            return
        advice = training.advice(checkpoint.state, iterations - iteration)
        for text, num in advice.items():
            yield {"advice": text, "iteration": iteration, "num_seeds": num}

    def _warn_of_discount(self, iteration: int, batch: EpisodeBatch) -> Iterator[Notes]:
        """Warn if nothing can be gained on the target; the parent shows it once."""
        discount = self.experiment.resolved.discount
        if text := faint_target(discount, batch.discounted_return, batch.length):
            num_seeds = len(batch.discounted_return)
            yield {"advice": text, "iteration": iteration, "num_seeds": num_seeds}

    def _warn_of_instability(self, iteration: int, per_seed: Iterable[float]) -> Iterator[Notes]:
        """Warn once; the tables count every case."""
        num = sum(1 for count in per_seed if count > 0)
        if num and not self.has_warned:
            self.has_warned = True
            text = (
                "a simulation became unstable and its episode was ended (see train/unstable in "
                "metrics.csv, unstable in evaluations.csv)"
            )
            yield {"advice": text, "iteration": iteration, "num_seeds": num}

    def _place(self, checkpoint: Checkpoint) -> Notes:
        return {"iteration": checkpoint.iteration, "num_seeds": len(checkpoint.seeds)}

    def _report(self, checkpoint: Checkpoint, rows: Sequence[Metrics]) -> Notes:
        def mean(name: str) -> float | None:
            values = [row[name] for row in rows if np.isfinite(row.get(name, np.nan))]
            return float(np.mean(values)) if values else None

        names = self.experiment.resolved.contexts.names
        return {
            **self._place(checkpoint),
            "train_return": mean("train/return"),
            "kl_to_target": mean("teacher/kl_to_target"),
            "context_mean": [mean(f"context/{name}_mean") for name in names],
            "context_std": [mean(f"context/{name}_std") for name in names],
            **self.evaluated,
        }


def _require_finite_returns(batch: EpisodeBatch, iteration: int) -> None:
    finite = np.isfinite(batch.discounted_return).all(axis=(1, 2))
    if not finite.all():
        reason = "returns on the target must be finite; check the environment's rewards"
        cause = Cause("environment", f"evaluation after iteration {iteration}: {reason}")
        raise SeedError({int(index): cause for index in np.flatnonzero(~finite)})


if __name__ == "__main__":
    main()
