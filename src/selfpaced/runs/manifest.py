"""Checksums of the files of a run folder, in `checksums.json`.

The files are written one after the other, and the process can be killed between any two of them.
Before that, the manifest gets the checksums of the new files beside the old ones, and afterwards
the new ones only: a file matches its manifest at every moment, unless it was damaged or edited.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from selfpaced.errors import SelfpacedError, require
from selfpaced.runs.storage import checksum, parse_json, read_bytes, write_bytes, write_json

NAME = "checksums.json"
FORMAT = 1  # of run folders; those without a manifest are older

Checksums = dict[str, list[str]]  # what the content of a file may be

_NUM_TRIES = 5  # of a reader while another process writes


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files and their checksums; each file is replaced atomically, in the given order."""
    before = read_checksums(folder) or {}
    new = {name: [checksum(content)] for name, content in contents.items()}
    both = {name: [*before.get(name, ()), *sums] for name, sums in new.items()}
    _write(folder, before | both)
    for name, content in contents.items():
        write_bytes(folder / name, content)
    _write(folder, before | new)


def forget_checksums(folder: Path, names: Collection[str]) -> None:
    """Stop vouching for files that are about to change; the next `write_files` does so again."""
    sums = read_checksums(folder) or {}
    if any(name in sums for name in names):
        _write(folder, {name: known for name, known in sums.items() if name not in names})


def read_verified(path: Path) -> bytes:
    """Read a file of a run folder, and compare it with its checksum if it has one.

    Raises:
        SelfpacedError: the file is missing, cannot be read, or is not what was written.
    """
    hint = "is the run finished?"
    if path.name == "experiment.json":
        hint = f"is {path.parent} a run folder?"
    for _ in range(_NUM_TRIES):
        sums = (read_checksums(path.parent) or {}).get(path.name, [])
        content = read_bytes(path, hint)
        if not sums or checksum(content) in sums:
            return content
        time.sleep(0.02)  # another process may just have replaced it
    raise SelfpacedError(
        f"{path} is damaged or was edited (its checksum must be {sums[-1]}, got "
        f"{checksum(content)}); restore it, or run again"
    )


def read_checksums(folder: Path) -> Checksums | None:
    """Return the manifest of a run folder; None for folders of earlier versions.

    Raises:
        SelfpacedError: the manifest is damaged, or of a later version.
    """
    path = folder / NAME
    if not path.exists():
        return None
    plain = parse_json(path, read_bytes(path))
    is_manifest = isinstance(plain, dict) and isinstance(plain.get("files"), dict)
    is_whole = is_manifest and plain.get("checksum") == _own_checksum(plain["files"])
    require(
        is_whole,
        f"{path} is damaged; restore it, or delete it to read {folder} without verification",
    )
    require(
        plain.get("format") == FORMAT,
        f"format of {path} must be {FORMAT}, got {plain.get('format')}; read {folder} with the "
        "version of selfpaced that wrote it",
    )
    sums: Checksums = plain["files"]
    return sums


def _write(folder: Path, sums: Checksums) -> None:
    plain = {"format": FORMAT, "files": sums, "checksum": _own_checksum(sums)}
    write_json(folder / NAME, plain)


def _own_checksum(sums: object) -> str:
    return checksum(json.dumps([FORMAT, sums], sort_keys=True).encode())
