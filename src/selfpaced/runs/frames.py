"""Tables in long form, one row per iteration and seed, and as frames of pandas or polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from selfpaced.records import Array
from selfpaced.validation import require_choice, require_extra

TableName = Literal["metrics", "evaluations", "contexts"]
TABLE_NAMES: tuple[TableName, ...] = ("metrics", "evaluations", "contexts")
LIBRARIES = ("pandas", "polars")


def long_table(columns: Mapping[str, Array], seeds: Sequence[int]) -> dict[str, Array]:
    """Return columns [N] of `iteration` [R] and others [R, S], without rows that have no value."""
    names = [name for name in columns if name not in ("iteration", "seed")]
    values = {name: np.asarray(columns[name], float).reshape(-1) for name in names}
    num_rows = len(columns["iteration"]) * len(seeds)
    exists = np.zeros(num_rows, bool)
    for column in values.values():
        exists |= ~np.isnan(column)
    whole = {
        "iteration": np.repeat(np.asarray(columns["iteration"], int), len(seeds)),
        "seed": np.tile(np.array(seeds, int), len(columns["iteration"])),
        **values,
    }
    return {name: column[exists] for name, column in whole.items()}


def long_contexts(
    arrays: Mapping[str, Array], seeds: Sequence[int], names: Sequence[str]
) -> dict[str, Array]:
    """Return one row per context [N]: iteration, seed, number of the sample, and components."""
    samples = np.asarray(arrays["samples"], float)
    num_samples, size = samples.shape[2:]
    points = samples.reshape(-1, size)
    moments, own, numbers = np.meshgrid(
        np.asarray(arrays["iteration"], int), np.array(seeds, int), np.arange(num_samples),
        indexing="ij",
    )  # fmt: skip
    whole = {"iteration": moments.ravel(), "seed": own.ravel(), "sample": numbers.ravel()}
    names = names or [f"context_{index}" for index in range(size)]
    whole |= {name: points[:, index] for index, name in enumerate(names)}
    exists = np.isfinite(points).all(axis=1)
    return {name: column[exists] for name, column in whole.items()}


def as_frame(columns: Mapping[str, Array], library: str | None = None) -> Any:
    """Return columns [N] as a data frame.

    Args:
        columns: arrays of one length.
        library: "pandas" or "polars"; None takes pandas, or polars if pandas is not installed.

    Raises:
        SelfpacedError: the library is unknown or not installed.
    """
    if library is None:
        library = next((name for name in LIBRARIES if find_spec(name)), LIBRARIES[0])
    require_choice("library", library, LIBRARIES)
    if library == "polars":
        return require_extra("polars", "polars", "a frame of polars").DataFrame(dict(columns))
    return require_extra("data", "pandas", "a frame of pandas").DataFrame(dict(columns))
