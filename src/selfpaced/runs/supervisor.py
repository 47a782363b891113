"""Run and resume experiments: one process per core, each with a block of the seeds."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

from selfpaced.errors import InterruptedRunError, SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.runs.context_advice import context_advice
from selfpaced.runs.continuation import extend, note_code
from selfpaced.runs.continuation import retry_failed as try_again
from selfpaced.runs.engine import Engine
from selfpaced.runs.export import export
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.locks import training_lock
from selfpaced.runs.logger import Logger
from selfpaced.runs.policies import TrainedPolicy
from selfpaced.runs.preflight import require_trainable
from selfpaced.runs.processes import Listener, LocalProcesses, notify
from selfpaced.runs.replacement import create_run, forget_replaced, restore_replaced, withdraw
from selfpaced.runs.run_log import RunLog
from selfpaced.runs.storage import Notes, describe_disk_error, is_disk_error, reported_disk_errors
from selfpaced.runs.warm_start import save_start


def run(
    experiment: Experiment,
    out: Path | str,
    workers: int | None = None,
    overwrite: bool = False,
    listener: Listener | None = None,
    start: TrainedPolicy | None = None,
    engine: Engine | None = None,
    loggers: Sequence[Logger] = (),
) -> RunFolder:
    """Run an experiment into a new folder, with every worker pinned to a core of its own.

    A seed whose learner, environment or teacher fails is set aside, and the others go on. The
    summary names it under `failed_seeds`, with the reason.

    Args:
        experiment: what to run.
        out: the run folder.
        workers: number of blocks; None makes one per core of the engine.
        overwrite: replace an existing run folder.
        listener: receives progress events.
        start: a policy of `load_policy` from which the learner of every seed starts; the teacher
            starts anew. It is saved in the run folder.
        engine: what trains the blocks of seeds; None starts processes on this computer.
        loggers: receive every row when it is saved, for example `TensorBoard()`.

    Returns:
        The finished run.

    Raises:
        SelfpacedError: the folder cannot be used, or training failed for all seeds.
        InterruptedRunError: Ctrl-C or SIGTERM; `resume` continues.

    Examples:
        >>> from selfpaced import PPO, SPDL, CurriculumLearning, Experiment, run
        >>> experiment = Experiment(
        ...     "point-mass-2d",
        ...     CurriculumLearning(SPDL(), PPO()),
        ...     seeds=(1,),
        ...     iterations=1,
        ...     evaluation_episodes=2,
        ... )
        >>> run(experiment, "runs/mine").summary()["iterations"]
        1
    """
    engine = engine or LocalProcesses()
    num = engine.num_workers if workers is None else workers
    require(num > 0, f"workers must be positive, got {workers}")
    require_trainable(experiment, start)
    blocks = _split(experiment.seeds, min(num, len(experiment.seeds)))
    folder = RunFolder(Path(out))
    advice = context_advice(experiment.resolved)
    with training_lock(folder.path) as lock, reported_disk_errors(folder.path):
        create_run(folder.path, experiment, blocks, overwrite)
        if start is not None:
            save_start(folder.start_path, start)
        _train_in(folder, experiment, lock, listener, engine, loggers, True, advice)
    return folder


def resume(
    path: Path | str,
    listener: Listener | None = None,
    iterations: int | None = None,
    retry_failed: bool = False,
    engine: Engine | None = None,
    loggers: Sequence[Logger] = (),
) -> RunFolder:
    """Continue a run that was stopped or killed, bit-identically.

    Args:
        path: the run folder.
        listener: receives progress events.
        iterations: extend the run to this number of iterations, finished or not. The result is that
            of a run that was planned so from the start.
        retry_failed: try seeds that failed again, from where they failed.
        engine: what trains the blocks of seeds; None starts processes on this computer.
        loggers: receive every row when it is saved, for example `TensorBoard()`.

    Returns:
        The finished run.

    Raises:
        SelfpacedError: the folder has nothing to resume, or training failed.
        InterruptedRunError: Ctrl-C or SIGTERM.

    Examples:
        >>> from selfpaced import resume
        >>> resume("runs/killed").is_finished
        True
    """
    folder = RunFolder(Path(path), trust=True)
    if not folder.path.parent.is_dir():
        folder.description()  # raises; a lock would create the folder
    with training_lock(folder.path) as lock, reported_disk_errors(folder.path):
        restore_replaced(folder.path)
        experiment = folder.experiment()
        if iterations is not None:
            experiment = extend(folder, iterations)
        if retry_failed:
            try_again(folder)
        require(
            not folder.is_finished,
            f"{path} is finished; nothing to resume (--iterations extends it)",
        )
        folder.require_checkpoints()
        note_code(folder)
        _train_in(folder, experiment, lock, listener, engine, loggers, is_new=False)
    return folder


def interruption(folder: Path | str, iteration: int, iterations: int) -> InterruptedRunError:
    """Return the error for a run that was stopped after an iteration."""
    if iteration == iterations:
        text = f"stopped after the last of {iterations} iterations: {folder} is finished"
    elif iteration:
        kept = f"stopped after {iteration} of {iterations} iterations, which are kept"
        text = f"{kept}; continue with `selfpaced resume {folder}`"
    else:
        text = "stopped before the first iteration was saved"
    return InterruptedRunError(text)


def _split(seeds: tuple[int, ...], num: int) -> list[tuple[int, ...]]:
    """Contiguous blocks whose sizes differ by at most one."""
    bounds = [len(seeds) * index // num for index in range(num + 1)]
    return [seeds[low:high] for low, high in pairwise(bounds)]


def _train_in(
    folder: RunFolder,
    experiment: Experiment,
    lock: IO[str],
    listener: Listener | None,
    engine: Engine | None,
    loggers: Sequence[Logger],
    is_new: bool,
    advice: str | None = None,
) -> None:
    """Train, and export what the workers have saved, however training ends."""
    began = time.monotonic()
    engine = engine or LocalProcesses()
    errors: list[str] = []
    was_interrupted = False
    known = _recover(folder)
    with RunLog(folder, listener or Listener(), loggers) as log, _termination_interrupts():
        try:
            log.started(experiment)
            if advice is not None:
                num_seeds = len(experiment.seeds)
                log.received(0, {"advice": advice, "iteration": 0, "num_seeds": num_seeds})
            for block, message in known:
                log.received(block, message)
            errors = engine.train(folder, lock, log)
        except KeyboardInterrupt:
            was_interrupted = True
        except OSError as error:
            if not is_disk_error(error):
                raise
            errors = [describe_disk_error(folder.path, error)]
        finally:
            notify(log.ended)
            total_failure: list[str] = []
            iteration = 0
            if (folder.path / "experiment.json").exists():  # it may have been deleted or renamed
                total_failure = _total_failure(folder)
                if not total_failure:
                    iteration = _export(folder, time.monotonic() - began, is_new)
                elif is_new:
                    log.finish()  # it holds files open there
                    withdraw(folder.path)
    if was_interrupted:
        raise interruption(folder.path, iteration, experiment.iterations)
    if errors := total_failure + errors:
        advice = f"continue with `selfpaced resume {folder.path}`"
        has_advice = not iteration or advice in errors[0]
        kept = "" if has_advice else f"\n{iteration} iterations are kept: {advice}"
        raise SelfpacedError(errors[0] + kept)


def _recover(folder: RunFolder) -> list[tuple[int, Notes]]:
    """Make sure that every block has a whole checkpoint; return messages about single blocks."""
    messages: list[tuple[int, Notes]] = []
    for files in folder.files():
        if warning := files.recover():
            messages.append(
                (files.block, {"advice": warning, "iteration": (files.notes() or {})["iteration"]})
            )
        failures = [failure.notes["failure"] for failure in files.failures()]
        messages += [(files.block, {"failure": failure}) for failure in failures]
    return messages


def _total_failure(folder: RunFolder) -> list[str]:
    """The error of a run in which no seed completes an iteration: a mistake, not an accident."""
    files = folder.files()
    if any(one.active_seeds() for one in files):
        return []
    failures = [failure.notes["failure"] for one in files for failure in one.failures()]
    if any(failure["iteration"] > 1 for failure in failures):
        return []
    return ["\n\n".join(filter(None, (failures[0]["reason"], failures[0]["details"])))]


def _export(folder: RunFolder, wall_seconds: float, is_new: bool) -> int:
    """Export what was saved, or remove a run that saved nothing; return its iteration."""
    saved = folder.saved_iterations()
    if min(saved):
        export(folder, wall_seconds)
        forget_replaced(folder.path)
    elif is_new and not any(saved) and not folder.is_finished:
        withdraw(folder.path)
    return min(saved)


@contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Treat SIGTERM (sent by cluster schedulers) like Ctrl-C: save, then exit."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only it gets signals
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
