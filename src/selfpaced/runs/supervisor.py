"""Run and resume experiments: one process per core, each with a block of the seeds."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

from selfpaced.errors import InterruptedRunError, SelfpacedError, require
from selfpaced.experiment import Experiment
from selfpaced.runs.context_advice import context_advice
from selfpaced.runs.cores import usable_cores
from selfpaced.runs.export import export
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.locks import training_lock
from selfpaced.runs.policies import TrainedPolicy
from selfpaced.runs.processes import Listener, listen, notify, started_workers
from selfpaced.runs.replacement import create_run, forget_replaced, withdraw
from selfpaced.runs.warm_start import require_start_fits, save_start


def run(
    experiment: Experiment,
    out: Path | str,
    workers: int | None = None,
    overwrite: bool = False,
    listener: Listener | None = None,
    start: TrainedPolicy | None = None,
) -> RunFolder:
    """Run an experiment into a new folder, with every worker pinned to a core of its own.

    Args:
        experiment: what to run.
        out: the run folder.
        workers: number of processes; None starts one per core.
        overwrite: replace an existing run folder.
        listener: receives progress events.
        start: a policy of `load_policy` from which the learner of every seed starts; the teacher
            starts anew. It is saved in the run folder.

    Returns:
        The finished run.

    Raises:
        SelfpacedError: the folder cannot be used, or training failed.
        InterruptedRunError: Ctrl-C or SIGTERM; `resume` continues.

    Example:
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
    num = len(usable_cores()) if workers is None else workers
    require(num > 0, f"workers must be positive, got {workers}")
    blocks = _split(experiment.seeds, min(num, len(experiment.seeds)))
    folder = RunFolder(Path(out))
    if start is not None:
        require_start_fits(experiment, start)
    advice = context_advice(experiment.resolved)
    with training_lock(folder.path) as lock:
        create_run(folder.path, experiment, blocks, overwrite)
        if start is not None:
            save_start(folder.start_path, start)
        _train_in(folder, experiment, lock, listener or Listener(), is_new=True, advice=advice)
    return folder


def resume(path: Path | str, listener: Listener | None = None) -> RunFolder:
    """Continue a run that was stopped or killed, bit-identically.

    Args:
        path: the run folder.
        listener: receives progress events.

    Returns:
        The finished run.

    Raises:
        SelfpacedError: the folder has nothing to resume, or training failed.
        InterruptedRunError: Ctrl-C or SIGTERM.

    Example:
        >>> from selfpaced import resume
        >>> resume("runs/killed").is_finished
        True
    """
    folder = RunFolder(Path(path))
    experiment = folder.experiment()
    with training_lock(folder.path) as lock:
        require(not folder.is_finished, f"{path} is finished; nothing to resume")
        folder.require_checkpoints()
        _train_in(folder, experiment, lock, listener or Listener(), is_new=False)
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
    listener: Listener,
    is_new: bool,
    advice: str | None = None,
) -> None:
    """Train, and export what the workers have saved, however training ends."""
    began = time.monotonic()
    errors: list[str] = []
    was_interrupted = False
    with _termination_interrupts():
        try:
            listener.started(experiment)
            if advice is not None:
                num_seeds = len(experiment.seeds)
                listener.received(0, {"advice": advice, "iteration": 0, "num_seeds": num_seeds})
            with started_workers(folder, lock, listener) as processes:
                errors = listen(folder, processes, listener)
        except KeyboardInterrupt:
            was_interrupted = True
        finally:
            notify(listener.ended)
            iteration = _export_saved(folder, time.monotonic() - began, is_new)
    if was_interrupted:
        raise interruption(folder.path, iteration, experiment.iterations)
    if errors:
        kept = f"\n{iteration} iterations are kept: continue with `selfpaced resume {folder.path}`"
        raise SelfpacedError(errors[0] + (kept if iteration else ""))


def _export_saved(folder: RunFolder, wall_seconds: float, is_new: bool) -> int:
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
