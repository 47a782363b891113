"""Checked inputs of vector environments: one entry or row per environment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array

MAX_SEED = 2**64


def check_mask(mask: ArrayLike | None, num: int) -> Array:
    """Return the rows that a mask of booleans selects; without a mask, all rows."""
    if mask is None:
        return np.arange(num)
    array = np.asarray(mask)
    if array.shape != (num,) or array.dtype != bool:
        got = f"{array.dtype} of shape {array.shape}"
        raise SelfpacedError(f"reset_mask must be {num} booleans, got {got}; pass one per row")
    return np.flatnonzero(array)


def check_seeds(seed: int | Sequence[int | None] | None, num: int) -> list[int | None]:
    """Return the seed of each row, or None; an integer seeds row i with seed + i."""
    if seed is None:
        return [None] * num
    if isinstance(seed, int | np.integer):
        seeds: list[int | None] = [int(seed) + row for row in range(num)]
    else:
        seeds = [None if one is None else int(one) for one in seed]
    require(
        len(seeds) == num,
        f"seed must be an integer or one seed for each of {num} rows, got {len(seeds)} seeds",
    )
    bad = [one for one in seeds if one is not None and not 0 <= one < MAX_SEED]
    require(not bad, f"seed must lie in [0, 2**64), got {bad[:1]}")
    return seeds


def check_numbers(name: str, given: ArrayLike, shape: tuple[int, int], note: str = "") -> Array:
    """Return an array of floats of this shape; messages are built only on failure, for speed."""
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise SelfpacedError(f"{name} must have shape {shape}{note}, got {given!r}") from None
    if array.shape != shape:
        raise SelfpacedError(
            f"{name} must have shape {shape}{note}, got an array of shape {array.shape}"
        )
    return array
