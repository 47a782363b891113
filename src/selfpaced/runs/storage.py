"""Atomic files, and trees of arrays in them without pickle."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
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


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: to a temporary file beside it, then moved into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, content: object) -> None:
    """Write indented JSON; numbers that are not finite become null."""
    write_bytes(path, (json.dumps(plain(content), indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read JSON; raise `SelfpacedError` if the file is missing or damaged."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise SelfpacedError(f"{path} is missing; is {path.parent} a run folder?") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SelfpacedError(f"{path} is damaged ({error}); restore it or run again") from None


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write comma-separated values, with an empty cell for NaN."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_cell, row) for row in rows)
    write_bytes(path, text.getvalue().encode())


def write_arrays(path: Path, arrays: dict[str, Array], notes: Notes) -> None:
    """Write named arrays and a few notes in the safetensors format."""
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_bytes(path, save(whole, {"notes": json.dumps(notes)}))


def read_arrays(
    path: Path, wanted: Callable[[str], bool] = lambda name: True
) -> tuple[dict[str, Array], Notes]:
    """Read arrays whose names are wanted, and the notes; raise `SelfpacedError` if damaged."""
    with _opened(path) as file:
        names = [name for name in list(file.keys()) if wanted(name)]
        return {name: file.get_tensor(name) for name in names}, _notes(file)


def read_notes(path: Path) -> Notes:
    """Read only the notes of a file of arrays."""
    with _opened(path) as file:
        return _notes(file)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, "numpy") as file:
            yield file
    except FileNotFoundError:
        raise SelfpacedError(f"{path} is missing; is the run finished?") from None
    except (SafetensorError, json.JSONDecodeError) as error:
        raise SelfpacedError(f"{path} is damaged ({error}); delete it and run again") from None


def _notes(file: Any) -> Notes:
    notes: Notes = json.loads((file.metadata() or {}).get("notes", "{}"))
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


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.9g}"
    return str(value)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
