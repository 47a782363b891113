"""Atomic files, and trees of arrays in them without pickle."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array

Notes = dict[str, Any]  # as JSON has them
KeyPath = tuple[object, ...]  # of a leaf in a tree
T = TypeVar("T")

_DISK_ERRORS = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST, errno.ELOOP,
    errno.ENAMETOOLONG, errno.ESTALE,
)  # fmt: skip


def checksum(*parts: bytes | memoryview) -> str:
    """Return a checksum that changes with every bit of the parts."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def write_bytes(path: Path, content: bytes, previous: Path | None = None) -> None:
    """Write a file atomically: to a temporary file beside it, then moved into place.

    The file that is replaced is moved to `previous`, if that is given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        if previous is not None and path.exists():
            os.replace(path, previous)
        move(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def move(source: Path, destination: Path) -> None:
    """Rename a file or folder within its folder, in place of what was there, for good."""
    os.replace(source, destination)
    sync_folder(destination.parent)


@contextmanager
def reported_disk_errors(folder: Path) -> Iterator[None]:
    """Report errors of the disk in one line; others, as of a closed pipe, are passed on."""
    try:
        yield
    except OSError as error:
        if not is_disk_error(error):
            raise
        raise SelfpacedError(describe_disk_error(folder, error)) from error


def is_disk_error(error: OSError) -> bool:
    """Return whether a file system has refused something."""
    return error.errno in _DISK_ERRORS


def describe_disk_error(folder: Path, error: OSError) -> str:
    """Return one line about a folder that cannot be written: where, what is kept, what to do."""
    name = str(error.filename2 or error.filename)
    place = name if os.sep in name else folder  # the name may be missing, or within a folder
    cause = f"cannot write to {place} ({error.strerror or error})"
    if not folder.is_dir():
        return f"{cause}; {folder} was deleted or renamed during the run: rename it back, resume it"
    if not any(folder.glob("checkpoints/*.safetensors")):
        return f"{cause}; nothing was saved yet: free space or check permissions, then run it again"
    return (
        f"{cause}; the last checkpoint is kept: free space or check permissions, then continue "
        f"with `selfpaced resume {folder}`"
    )


def sync_folder(path: Path) -> None:
    """Make renames in a folder survive a power failure, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_bytes(path: Path, hint: str = "is the run finished?") -> bytes:
    """Read a file; raise `SelfpacedError` if it is missing or cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise SelfpacedError(f"{path} is missing; {hint}") from None
    except OSError as error:
        raise SelfpacedError(
            f"{path} cannot be read ({error.strerror}); check the file and its permissions"
        ) from None


def json_bytes(content: object) -> bytes:
    """Return indented JSON; numbers that are not finite become null."""
    return (json.dumps(plain(content), indent=2) + "\n").encode()


def write_json(path: Path, content: object) -> None:
    """Write indented JSON; numbers that are not finite become null."""
    write_bytes(path, json_bytes(content))


def read_json(path: Path) -> Any:
    """Read JSON; raise `SelfpacedError` if the file is missing or damaged."""
    return parse_json(path, read_bytes(path, f"is {path.parent} a run folder?"))


def parse_json(path: Path, content: bytes) -> Any:
    """Return the content of a JSON file; raise `SelfpacedError` if it is damaged."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:  # no JSON, or no text at all
        raise SelfpacedError(f"{path} is damaged ({error}); restore it or run again") from None


def csv_bytes(header: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return comma-separated values, with an empty cell for NaN."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue().encode()


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write comma-separated values, with an empty cell for NaN."""
    write_bytes(path, csv_bytes(header, rows))


def array_bytes(arrays: Mapping[str, Array], notes: Notes) -> bytes:
    """Return named arrays and a few notes in the safetensors format, with their checksum."""
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    signed = notes | {"checksum": _checksum_of(whole, notes)}
    content: bytes = save(whole, {"notes": json.dumps(signed)})  # one entry: they have no order
    return content


def write_arrays(path: Path, arrays: Mapping[str, Array], notes: Notes) -> None:
    """Write named arrays and a few notes in the safetensors format, with their checksum."""
    write_bytes(path, array_bytes(arrays, notes))


def read_arrays(
    path: Path, wanted: Callable[[str], bool] = lambda name: True, is_signed: bool = False
) -> tuple[dict[str, Array], Notes]:
    """Read arrays whose names are wanted, and the notes; raise `SelfpacedError` if damaged.

    The checksum covers all arrays, wanted or not. Files of earlier versions have none, which
    `is_signed` refuses.
    """
    with _opened(path) as file:
        names, notes = list(file.keys()), _notes(file)
        arrays = {name: file.get_tensor(name) for name in names}
        expected = notes.pop("checksum", None)
        found = _checksum_of(arrays, notes) if expected or is_signed else None
        require(
            expected == found,
            f"{path} is damaged (its checksum must be {expected}, got {found}); restore it or run "
            "again",
        )
        return {name: arrays[name] for name in names if wanted(name)}, notes


def _checksum_of(arrays: Mapping[str, Array], notes: Notes) -> str:
    parts: list[bytes | memoryview] = [json.dumps(notes, sort_keys=True).encode()]
    for name in sorted(arrays):
        array = arrays[name]
        parts.append(f"{name} {array.dtype.str} {array.shape}".encode())
        parts.append(array.reshape(-1).view(np.uint8).data)
    return checksum(*parts)


def read_notes(path: Path) -> Notes:
    """Read only the notes of a file of arrays."""
    with _opened(path) as file:
        notes = _notes(file)
        notes.pop("checksum", None)
        return notes


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, "numpy") as file:
            yield file
    except FileNotFoundError:
        raise SelfpacedError(f"{path} is missing; is the run finished?") from None
    except OSError as error:
        raise SelfpacedError(
            f"{path} cannot be read ({error.strerror or error}); check the file and its permissions"
        ) from None
    except SelfpacedError:
        raise
    except (SafetensorError, ValueError, TypeError) as error:
        raise SelfpacedError(f"{path} is damaged ({error}); delete it and run again") from None


def _notes(file: Any) -> Notes:
    notes = json.loads((file.metadata() or {}).get("notes", "null"))
    if not isinstance(notes, dict):
        raise ValueError("its notes are missing or no JSON object")
    return notes


def name_leaves(prefix: str, tree: object) -> dict[str, Array]:
    """Return a tree of arrays as named arrays; a name is the path of a leaf in the tree."""
    import jax  # only where trees are, so that other files are written without it

    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(prefix, place): np.asarray(leaf) for place, leaf in leaves}


def restore_leaves(
    prefix: str, template: T, arrays: dict[str, Array], same_shape: bool = True
) -> T:
    """Return the tree that `name_leaves` took apart, like the template in structure and types."""

    import jax

    def restore(place: KeyPath, leaf: ArrayLike) -> Array:
        name, wanted = _name(prefix, place), np.asarray(leaf)
        require(name in arrays, f"array {name!r} is missing; was this written with other settings?")
        array = arrays[name]
        fits = array.dtype == wanted.dtype and (not same_shape or array.shape == wanted.shape)
        require(
            fits,
            f"array {name!r} must be {wanted.dtype}{list(wanted.shape)}, got "
            f"{array.dtype}{list(array.shape)}; was this written with other settings?",
        )
        return array

    restored: T = jax.tree_util.tree_map_with_path(restore, template)
    return restored


def _name(prefix: str, place: KeyPath) -> str:
    import jax

    return f"{prefix}/" + jax.tree_util.keystr(place, simple=True, separator="/")


def plain(content: object) -> object:
    """Return content as JSON has it: lists, and null for numbers that are not finite."""
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple | np.ndarray):
        return [plain(value) for value in content]
    if isinstance(content, np.generic):
        return plain(content.item())
    if isinstance(content, float) and not np.isfinite(content):
        return None
    return content


def cache_folder() -> Path | None:
    """Return the folder for files that can be made again; None without a home directory."""
    with suppress(RuntimeError):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "selfpaced"
    return None


_FLOATS = (float, np.floating)


def _cell(value: object) -> str:
    if isinstance(value, _FLOATS):
        return "" if value != value else f"{value:.9g}"  # NaN
    return str(value)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
