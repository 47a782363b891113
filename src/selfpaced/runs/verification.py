"""Check every file of a run folder against its checksum, and that its content can be read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from selfpaced.errors import SelfpacedError
from selfpaced.runs.folder import TABLES, RunFolder
from selfpaced.runs.manifest import read_checksums, read_verified
from selfpaced.runs.storage import read_arrays
from selfpaced.runs.tables import read_table

Verdict = Literal["ok", "unverified", "damaged"]


class Finding(NamedTuple):
    """What was found out about one file."""

    file: str  # relative to the run folder
    verdict: Verdict
    details: str = ""


def find_runs(path: Path) -> list[RunFolder]:
    """Return the run folders at and below a path.

    Raises:
        SelfpacedError: there is none.
    """
    runs = [RunFolder(found.parent) for found in sorted(path.rglob("experiment.json"))]
    if not runs:
        raise SelfpacedError(f"{path} has no run folder in it (no experiment.json); is it moved?")
    return runs


def verify(folder: RunFolder) -> list[Finding]:
    """Check all files of a run, without running code of its experiment.

    A file without a checksum is `unverified`: an earlier version of this library has written it.

    Examples:
        >>> from selfpaced import RunFolder
        >>> from selfpaced.runs.verification import verify
        >>> {finding.verdict for finding in verify(RunFolder("runs/point-mass-3d-spdl-ppo"))}
        {'unverified'}
    """
    try:
        sums = read_checksums(folder.path)
    except SelfpacedError as error:
        return [Finding("checksums.json", "damaged", str(error))]
    readers: dict[str, Callable[[], object]] = {
        "experiment.json": folder.description,
        "summary.json": folder.summary,
        **{name: partial(_read_table, folder, name) for name in TABLES},
        "contexts.npz": folder.contexts,
        "policies.safetensors": lambda: read_arrays(folder.path / "policies.safetensors"),
    }
    findings = []
    for name, read in readers.items():
        if name in (sums or ()) or (folder.path / name).exists() or name == "experiment.json":
            findings.append(_judge(name, bool(sums and name in sums), folder.path / name, read))
    return findings + _verify_blocks(folder)


def _judge(name: str, has_checksum: bool, path: Path, read: Callable[[], object]) -> Finding:
    try:
        read_verified(path)
        read()
    except SelfpacedError as error:
        return Finding(name, "damaged", str(error))
    return Finding(name, "ok" if has_checksum else "unverified")


def _verify_blocks(folder: RunFolder) -> list[Finding]:
    """Checkpoints hold their own checksums."""
    if not folder.checkpoints.is_dir():
        return []
    findings = []
    try:
        blocks = folder.files()
    except SelfpacedError:  # reported with experiment.json
        return []
    has_summary = (folder.path / "summary.json").exists()  # it is made from checkpoints
    for files in blocks:
        name = f"{folder.checkpoints.name}/{files.newest.name}"
        if not (files.newest.exists() or files.previous.exists()):
            if has_summary and files.history.exists():
                text = f"{files.newest} is missing; restore it, or its block starts again"
                findings.append(Finding(name, "damaged", text))
            continue
        try:
            warning = files.warning()
            files.failures()
        except SelfpacedError as error:
            warning = str(error)
        findings.append(Finding(name, "damaged" if warning else "ok", warning))
    return findings


def _read_table(folder: RunFolder, name: str) -> None:
    try:
        seeds = [seed for block in folder.blocks() for seed in block]
        may_grow = not folder.is_finished
    except SelfpacedError:  # reported with experiment.json or summary.json
        return
    read_table(folder.path / name, seeds, may_grow)
