"""Continue a run with other code, with more iterations, or with seeds that failed once more.

Every step leaves a folder that can be resumed: first the summary stops calling the run finished,
then new checkpoints are written, and `experiment.json` refers to them last.
"""

from __future__ import annotations

from dataclasses import replace

from selfpaced.errors import require
from selfpaced.experiment import Experiment
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.history_log import START
from selfpaced.runs.locks import export_lock
from selfpaced.runs.manifest import write_files
from selfpaced.runs.revision import code_of
from selfpaced.runs.storage import Notes, array_bytes, json_bytes, read_arrays, write_bytes


def note_code(folder: RunFolder) -> None:
    """Add the code of now to the description of a run, unless it is what trained the run so far.

    The training lock must be held.
    """
    codes = folder.description().get("code", [])
    now = code_of(folder.experiment(), folder.iteration())
    if not codes or codes[-1] | {"iteration": 0} != now | {"iteration": 0}:
        _describe(folder, {"code": [*codes, now]})


def extend(folder: RunFolder, iterations: int) -> Experiment:
    """Plan more iterations for a run, finished or not; return its new experiment.

    The training lock must be held.

    Raises:
        SelfpacedError: the run has reached more iterations, or its checkpoints are gone.
    """
    experiment = folder.experiment()
    _require_state(folder, "extended")
    reached = max(folder.saved_iterations())
    require(
        iterations >= reached,
        f"iterations must be at least the {reached} that {folder.path} has reached, got "
        f"{iterations}",
    )
    require(
        experiment.keep == "last"
        or reached < experiment.iterations
        or reached % experiment.evaluate_every == 0,
        f"{folder.path} cannot be extended: the evaluation after its {reached} iterations may have "
        f"chosen the policy to keep, and a longer run has none there; run it anew",
    )
    extended = replace(experiment, iterations=iterations)
    if iterations != experiment.iterations:
        with export_lock(folder.path):
            _reopen(folder)
            _describe(folder, {"experiment": extended.to_dict()})
    return extended


def retry_failed(folder: RunFolder) -> tuple[int, ...]:
    """Make every seed that failed a block of its own, which starts where it failed; return them.

    The training lock must be held.

    Raises:
        SelfpacedError: no seed has failed, or the checkpoints are gone.
    """
    _require_state(folder, "tried again")
    failed = [(files, one) for files in folder.files() for one in files.failures()]
    require(len(failed) > 0, f"{folder.path} has no failed seeds; nothing to try again")
    seeds = tuple(seed for _, one in failed for seed in one.seeds)
    blocks = [tuple(seed for seed in block if seed not in seeds) for block in folder.blocks()]
    with export_lock(folder.path):
        _reopen(folder)
        for place, (files, one) in enumerate(failed):
            (seed,) = one.seeds
            arrays, notes = read_arrays(files.failed(seed))
            new = replace(files, block=len(blocks) + place, seeds=(seed,))
            write_bytes(new.newest, array_bytes(arrays, _without_failure(notes)))
        _describe(folder, {"blocks": [*blocks, *((seed,) for seed in seeds)]})
        for files, one in failed:
            files.failed(one.seeds[0]).unlink()
    return seeds


def _require_state(folder: RunFolder, what: str) -> None:
    saved = [files.newest for files in folder.files()]
    missing = [path for path in saved if not path.exists()]
    require(
        not (folder.is_finished and missing),
        f"{folder.path} cannot be {what}: {', '.join(map(str, missing[:1]))} is missing; runs that "
        "earlier versions finished have kept no checkpoints",
    )


def _reopen(folder: RunFolder) -> None:
    if folder.is_finished:
        summary = folder.summary() | {"finished": False}
        write_files(folder.path, {"summary.json": json_bytes(summary)})


def _describe(folder: RunFolder, changes: Notes) -> None:
    description = folder.description() | changes
    write_files(folder.path, {"experiment.json": json_bytes(description)})


def _without_failure(notes: Notes) -> Notes:
    """The rows up to the failure stay in the record of the former block."""
    return notes | {"failure": None, "log_size": START.size, "log_checksum": START.checksum}
