"""Damage to the files of run folders: bits, ends, whole files, and types in JSON."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np

from selfpaced import RunFolder
from selfpaced.runs.export import catch_up
from selfpaced.runs.verification import verify
from tests.faults.outcomes import Tally, tally
from tests.reports.invented_runs import invented_run

STRANGE = (None, True, -1, 1e300, "x", [], {}, [[1]], {"name": 3})


def corruptions(num: int, seed: int, place: Path) -> Tally:
    """Damage a finished and an unfinished run in many ways, and read everything."""
    finished = invented_run(place / "finished", seeds=(1, 2))
    unfinished = invented_run(place / "unfinished", seeds=(1, 2), reached=[12, 7])
    rng = np.random.default_rng(seed)
    attempts = []
    for number in range(num):
        whole = (finished, unfinished)[number % 2]
        files = sorted(path for path in whole.path.rglob("*") if path.is_file())
        file = files[rng.integers(len(files))].relative_to(whole.path)
        how = ("flip", "cut", "delete", "rubbish", "retype")[number // 2 % 5]
        call = partial(
            attempt, whole, place / f"copy-{number}", file, how, int(rng.integers(2**31))
        )
        attempts.append((f"{how} {file} of {whole.path.name}", call))
    return tally("corruptions of run folders", attempts)


def attempt(whole: RunFolder, copy: Path, file: Path, how: str, seed: int) -> bool:
    """Damage a copy and read it; return whether what was read is right, or the damage was found."""
    folder = RunFolder(shutil.copytree(whole.path, copy))
    try:
        damage(copy / file, how, np.random.default_rng(seed))
        found = any(finding.verdict == "damaged" for finding in verify(folder))
        same = readable(folder) == readable(whole)
        return same or found
    finally:
        shutil.rmtree(copy)


def damage(path: Path, how: str, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    place = int(rng.integers(len(content)))
    if how == "delete":
        path.unlink()
        return
    if how == "retype" and path.suffix == ".json":
        plain = json.loads(content)
        retype(plain, rng)
        # as a version without checksums would have left it
        (path.parent / "checksums.json").unlink(missing_ok=True)
        content = bytearray(json.dumps(plain).encode())
    elif how == "cut":
        content = content[:place]
    elif how == "rubbish":
        content = bytearray(rng.bytes(len(content)))
    else:
        content[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def retype(plain: dict, rng: np.random.Generator) -> None:
    """Give one value somewhere in a JSON object another type."""
    keys = sorted(plain)
    key = keys[rng.integers(len(keys))]
    if isinstance(plain[key], dict) and plain[key] and rng.random() < 0.7:
        retype(plain[key], rng)
    else:
        plain[key] = STRANGE[rng.integers(len(STRANGE))]


def readable(folder: RunFolder) -> list[object]:
    """Everything that commands read, in a form that can be compared."""
    catch_up(folder)
    tables = (folder.evaluations(), folder.metrics(), folder.contexts())
    summary = {key: value for key, value in folder.summary().items() if "seconds" not in key}
    numbers = [{name: column.tobytes() for name, column in table.items()} for table in tables]
    return [folder.experiment(), summary.get("final_return"), folder.failed_seeds(), *numbers]
