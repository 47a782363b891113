"""States of teachers as plain data: trees of arrays in JSON, bit-identical after a round trip."""

from __future__ import annotations

import base64
import binascii
from typing import Any, TypeVar

import numpy as np

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array

Plain = Any  # as JSON has it
T = TypeVar("T")


def to_plain(tree: object) -> Plain:
    """Return a tree of tuples, dictionaries and arrays as data that JSON can hold.

    Examples:
        >>> import numpy as np
        >>> from selfpaced.integrations.plain_state import from_plain, to_plain
        >>> plain = to_plain((np.array([0.1, np.nan]), np.int64(3)))
        >>> from_plain((np.zeros(0), np.int64(0)), plain)
        (array([0.1, nan]), array(3))
    """
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {str(key): to_plain(branch) for key, branch in tree.items()}
    if isinstance(tree, tuple | list):
        return [to_plain(branch) for branch in tree]
    return _plain_array(np.asarray(tree))


def from_plain(template: T, plain: Plain) -> T:
    """Return the tree that `to_plain` took apart, like the template in structure.

    Raises:
        SelfpacedError: the data have another structure, or an array is damaged.
    """
    restored: Any
    if template is None:
        require(plain is None, f"state must be null here, got {type(plain).__name__}")
        restored = None
    elif isinstance(template, dict):
        keys = {str(key): key for key in template}
        require(
            isinstance(plain, dict) and plain.keys() == keys.keys(),
            f"state must have the entries {', '.join(keys)}, got {_shown(plain)}",
        )
        restored = {key: from_plain(template[key], plain[name]) for name, key in keys.items()}
    elif isinstance(template, tuple | list):
        require(
            isinstance(plain, list) and len(plain) == len(template),
            f"state must be {len(template)} entries of {type(template).__name__}, got "
            f"{_shown(plain)}; was it saved by another version or another teacher?",
        )
        branches = [from_plain(*pair) for pair in zip(template, plain, strict=True)]
        is_named = hasattr(template, "_fields")
        restored = type(template)(*branches) if is_named else type(template)(branches)
    else:
        restored = _array(plain)
    found: T = restored
    return found


def _plain_array(array: Array) -> dict[str, Plain]:
    require(
        array.dtype.kind in "biuf",
        f"state of a teacher must be arrays of numbers, got {array.dtype}",
    )
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "base64": content}


def _array(plain: Plain) -> Array:
    try:
        dtype = np.dtype(plain["dtype"])
        content = base64.b64decode(plain["base64"], validate=True)
        array: Array = np.frombuffer(content, dtype).reshape(plain["shape"]).copy()
    except (TypeError, KeyError, ValueError, binascii.Error) as error:
        raise SelfpacedError(
            f"array in a saved state is damaged ({type(error).__name__}: {error}); use another save"
        ) from None
    return array


def _shown(plain: Plain) -> str:
    if isinstance(plain, dict):
        return ", ".join(plain)
    return f"{len(plain)} entries" if isinstance(plain, list) else type(plain).__name__
