"""What users give to many environments at once, checked: one entry or row for each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array

MAX_SEED = 2**64


def check_mask(mask: ArrayLike | None, num: int) -> Array:
    """The rows that a mask of booleans chooses; all without one."""
    if mask is None:
        return np.arange(num)
    array = np.asarray(mask)
    if array.shape != (num,) or array.dtype != bool:
        got = f"{array.dtype} of shape {array.shape}"
        raise SelfpacedError(f"reset_mask wants {num} booleans, got {got}")
    return np.flatnonzero(array)


def check_seeds(seed: int | Sequence[int | None] | None, num: int) -> list[int | None]:
    """A seed for each row, where there is one; an integer seeds row i with seed + i."""
    if seed is None:
        return [None] * num
    if isinstance(seed, int | np.integer):
        seeds: list[int | None] = [int(seed) + row for row in range(num)]
    else:
        seeds = [None if one is None else int(one) for one in seed]
    require(len(seeds) == num, f"reset wants one seed for each of {num} rows, got {len(seeds)}")
    bad = [one for one in seeds if one is not None and not 0 <= one < MAX_SEED]
    require(not bad, f"a seed must lie in [0, 2**64), got {bad[:1]}")
    return seeds


def check_numbers(what: str, given: ArrayLike, shape: tuple[int, int], note: str = "") -> Array:
    """An array of floats of this shape; a message is only put together when it is needed."""
    wanted = "{} want shape {}{}, got {}"
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise SelfpacedError(wanted.format(what, shape, note, repr(given))) from None
    if array.shape != shape:
        got = f"an array of shape {array.shape}"
        raise SelfpacedError(wanted.format(what, shape, note, got))
    return array
